import { readdir, readlink } from "node:fs/promises";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { z } from "zod";
import { isErrno } from "../../core/errors.ts";
import { descendantsOf } from "../../platform/processes.ts";
import { agentError } from "../errors.ts";
import { isFile } from "../find-transcript.ts";
import { parsePayload, sharedEvent } from "../hook-payload.ts";
import type { AgentTemplate, Environment, LaunchRequest, TranscriptPlace } from "../template.ts";

const argumentSchema = z.string().max(4096);
const argumentsSchema = z
  .array(z.union([argumentSchema, z.array(argumentSchema).min(1)]))
  .max(200)
  .describe(
    "Arguments with the placeholders {sessionId}, {prompt}, {dir}, {model} and {systemPrompt}. An inner list is left out if one of its placeholders has no value.",
  );
const patternSchema = z
  .string()
  .max(4096)
  .refine((text) => text.startsWith("/") || text.startsWith("~/"), "must begin with / or ~/")
  .refine((text) => text.split("{sessionId}").length === 2, "must contain {sessionId} once");
const nameSchema = z
  .string()
  .regex(/^[a-z][a-z0-9_-]{0,49}$/, "must be lowercase letters, digits, - and _, starting with a letter");

/** An agent defined in the config file, in `agents`. */
export const customAgentSchema = z
  .strictObject({
    name: nameSchema.describe("The agent's name in requests."),
    aliases: z.array(nameSchema).max(10).default([]).describe("Other names."),
    displayName: z.string().min(1).max(100).optional().describe("Display name. Default: `name`."),
    binary: z
      .string()
      .min(1)
      .max(4096)
      .refine((text) => isAbsolute(text) || !text.includes("/"), "must be a name on PATH or an absolute path")
      .describe("The agent's program: a name on PATH or an absolute path."),
    startArgs: argumentsSchema,
    resumeArgs: argumentsSchema.nullable().default(null).describe("Null if sessions of this agent cannot be resumed."),
    idRegime: z
      .enum(["assigned", "discovered"])
      .default("assigned")
      .describe("Whether the agent uses the session id it is given or chooses its own."),
    discovery: z
      .strictObject({
        openFile: patternSchema.describe("The file's path, with {sessionId}; `~/` is the home directory."),
      })
      .optional()
      .describe("For `discovered`: a file that the agent keeps open, with {sessionId} in its path (Linux)."),
    transcript: z
      .strictObject({
        format: z.enum(["claude", "codex"]).describe("The agent whose JSON Lines format it uses."),
        path: patternSchema.describe(
          "The transcript's path, with {sessionId}; `*` matches any folder name, `~/` is the home directory.",
        ),
      })
      .nullable()
      .default(null)
      .describe("Where the agent writes its transcript; without it, sessions have no turns."),
    keyVariables: z
      .array(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/))
      .max(20)
      .default([])
      .describe("Variables with its API key: kept for this agent, removed for all others."),
    commandPrefixes: z
      .array(z.string().min(1).max(10))
      .max(10)
      .default(["/", "!"])
      .describe("First characters that make a prompt a command. Such prompts are refused."),
    commandWords: z
      .array(z.string().min(1).max(100))
      .max(100)
      .default([])
      .describe("Whole prompts that are commands, such as `exit`."),
    paste: z
      .strictObject({
        bracketed: z
          .boolean()
          .default(true)
          .describe("Whether to send the prompt as a bracketed paste, so that line breaks do not submit it."),
        enterDelayMs: z.int().min(0).max(5000).default(150).describe("Delay before Enter, in milliseconds."),
      })
      .default({ bracketed: true, enterDelayMs: 150 })
      .describe("How Postern types a prompt."),
    readyPattern: z
      .string()
      .max(1000)
      .refine(isRegularExpression, "must be a regular expression")
      .optional()
      .describe("The agent accepts input once a line on its screen matches; by default, once there is any output."),
    interruptKeys: z.string().min(1).max(20).default("\x1b").describe("Keys that stop a turn; Escape by default."),
    loginArgs: z
      .array(argumentSchema)
      .max(50)
      .default([])
      .describe("Arguments that start its login. Empty: it has no login."),
  })
  .refine((agent) => agent.idRegime === "assigned" || agent.discovery !== undefined, {
    message: 'is required with `idRegime: "discovered"`',
    path: ["discovery"],
  })
  .refine(
    (agent) => agent.idRegime === "discovered" || agent.transcript === null || uses(agent.startArgs, "{sessionId}"),
    { message: "must contain {sessionId}, or the transcript cannot be found", path: ["startArgs"] },
  );

export type CustomAgent = z.infer<typeof customAgentSchema>;

export function createCustomTemplate(agent: CustomAgent): AgentTemplate {
  const ready = agent.readyPattern === undefined ? /\S/ : new RegExp(agent.readyPattern);
  return {
    name: agent.name,
    aliases: agent.aliases,
    displayName: agent.displayName ?? agent.name,
    binaryName: agent.binary,
    releases: null,
    keyVariables: agent.keyVariables,
    nestingVariables: [],
    idRegime: agent.idRegime,
    transcriptFormat: agent.transcript?.format ?? null,
    hasHooks: false,
    readyBy: "composer",
    commandPrefixes: agent.commandPrefixes,
    commandWords: agent.commandWords,
    readsMentions: false,
    accepts: {
      model: uses(agent.startArgs, "{model}"),
      systemPrompt: uses(agent.startArgs, "{systemPrompt}") && "argument",
      prompt: uses(agent.startArgs, "{prompt}") && uses(agent.resumeArgs ?? agent.startArgs, "{prompt}"),
    },
    paste: { ...agent.paste, suffix: "", isExact: () => true, editorKey: null },
    interruptKeys: agent.interruptKeys,
    loginArgs: agent.loginArgs,
    plan: async (request) => ({ argv: [request.binary, ...argumentsOf(agent, request)], env: {} }),
    // Agents can use the common form of hook reports, but do not have to.
    parseHook: (payload) => parsePayload(payload, sharedEvent),
    composerPainted: (lines) => lines.some((line) => ready.test(line)),
    transcriptRoots: (env) => (agent.transcript === null ? [] : [patternRoot(inHome(agent.transcript.path, env))]),
    transcriptPlaces: (env) => (agent.transcript === null ? [] : [patternPlace(inHome(agent.transcript.path, env))]),
    findTranscript: async (agentSessionId, env) =>
      agent.transcript === null ? null : findByPattern(inHome(agent.transcript.path, env), agentSessionId),
    discoverSessionId: async ({ pid, env }) =>
      agent.discovery === undefined ? null : openFileId(inHome(agent.discovery.openFile, env), pid),
    externalHolder: async () => null,
    externalSessions: async () => new Map(),
    liveState: async () => null,
    liveStatePath: () => null,
    loginState: async (_binary, env) =>
      agent.keyVariables.some((name) => Boolean(env[name])) ? "key_variable" : "unknown",
  };
}

function isRegularExpression(text: string): boolean {
  try {
    new RegExp(text);
    return true;
  } catch {
    return false; // the schema reports it
  }
}

function inHome(pattern: string, env: Environment): string {
  return pattern.startsWith("~/") ? `${env["HOME"] || homedir()}${pattern.slice(1)}` : pattern;
}

type Arguments = z.infer<typeof argumentsSchema>;

function uses(args: Arguments, placeholder: string): boolean {
  return args.flat().some((argument) => argument.includes(placeholder));
}

function argumentsOf(agent: CustomAgent, request: LaunchRequest): readonly string[] {
  const args = request.kind === "start" ? agent.startArgs : agent.resumeArgs;
  if (args === null) {
    throw agentError(
      "agent_start_failed",
      `Cannot resume ${agent.name}: its configuration has no resumeArgs. Add them to the agent in the config file.`,
    );
  }
  if (request.permissionMode !== "ask") {
    throw agentError("invalid_request", `${agent.name} has no permission modes. Omit permissionMode.`);
  }
  const values: Readonly<Record<string, string | null>> = {
    sessionId: request.sessionId,
    prompt: request.prompt,
    dir: request.dir,
    model: request.model,
    systemPrompt: request.systemPrompt,
  };
  for (const name of ["prompt", "model", "systemPrompt"]) {
    if (values[name] !== null && !uses(args, `{${name}}`)) throw notAccepted(agent, name, request.kind);
  }
  return args.flatMap((entry) => {
    const group = typeof entry === "string" ? [entry] : entry;
    const names = group.flatMap((argument) => [...argument.matchAll(placeholders)].map((match) => match[1] ?? ""));
    if (names.some((name) => values[name] === null)) return [];
    // All placeholders are replaced in one pass, so that braces in a value stay text.
    return group.map((argument) => argument.replace(placeholders, (_all, name: string) => values[name] ?? ""));
  });
}

const placeholders = /\{(sessionId|prompt|dir|model|systemPrompt)\}/g;

function notAccepted(agent: CustomAgent, name: string, kind: "start" | "resume"): Error {
  const code = name === "model" ? "model_not_supported" : "invalid_request";
  return agentError(code, `${agent.name} does not accept ${name}: its ${kind}Args do not contain {${name}}.`);
}

// An id becomes part of a path: no separator, no leading dot, no pattern characters.
const idCharacters = "[A-Za-z0-9_][A-Za-z0-9._-]{0,199}";
const idForm = new RegExp(`^${idCharacters}$`);
const maxFolders = 20_000;

/** The leading folders of a pattern that have no placeholder. */
function patternRoot(pattern: string): string {
  const segments = pattern.split("/");
  const first = segments.findIndex((segment) => segment === "*" || segment.includes("{sessionId}"));
  return segments.slice(0, first).join("/") || "/";
}

/** All files that `pattern` can match. @see findByPattern */
function patternPlace(pattern: string): TranscriptPlace {
  const root = patternRoot(pattern);
  const segments = pattern.split("/").slice(root.split("/").filter(Boolean).length + 1);
  const [first = /^$/, ...others] = segments.map((segment) => {
    if (segment === "*") return /./;
    const [before = "", after] = segment.split("{sessionId}");
    if (after === undefined) return new RegExp(`^${escaped(segment)}$`);
    return new RegExp(`^${escaped(before)}(?<id>${idCharacters})${escaped(after)}$`);
  });
  return { root, names: [first, ...others] };
}

/**
 * The file that `pattern` (absolute, with `{sessionId}`, and `*` for one folder) matches for this id; null if there is none, or the id is
 * not safe in a path.
 */
async function findByPattern(pattern: string, sessionId: string): Promise<string | null> {
  if (!idForm.test(sessionId)) return null;
  let places = [patternRoot(pattern)];
  const open = pattern.split("/").slice(patternRoot(pattern).split("/").filter(Boolean).length + 1);
  for (const segment of open) {
    if (segment === "*") {
      places = (await Promise.all(places.map(subFolders))).flat().slice(0, maxFolders);
    } else {
      places = places.map((place) => join(place, segment.replace("{sessionId}", sessionId)));
    }
  }
  for (const place of places) if (await isFile(place)) return place;
  return null;
}

/** The id in the path of the file matching `pattern` that `pid` or a child has open (Linux); null unless there is exactly one. */
async function openFileId(pattern: string, pid: number): Promise<string | null> {
  const [before = "", after = ""] = pattern.split("{sessionId}");
  const matcher = new RegExp(`^${escaped(before)}([^/]+)${escaped(after)}$`);
  const ids = new Set<string>();
  for (const one of [pid, ...descendantsOf(pid).map((row) => row.pid)]) {
    for (const path of await openFiles(one)) {
      const id = matcher.exec(path)?.[1];
      if (id !== undefined && idForm.test(id)) ids.add(id);
    }
  }
  const [only] = ids;
  return ids.size === 1 && only !== undefined ? only : null;
}

async function openFiles(pid: number): Promise<readonly string[]> {
  const folder = `/proc/${pid}/fd`;
  const descriptors = await readdir(folder).catch(() => []); // gone, another user's, or no /proc
  return Promise.all(descriptors.map((descriptor) => readlink(join(folder, descriptor)).catch(() => ""))); // the file was closed since then
}

function escaped(text: string): string {
  return text
    .split("/")
    .map((segment) => (segment === "*" ? "[^/]+" : segment.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")))
    .join("/");
}

async function subFolders(folder: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map((entry) => join(folder, entry.name));
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR", "EACCES", "ELOOP")) return [];
    throw error;
  }
}
