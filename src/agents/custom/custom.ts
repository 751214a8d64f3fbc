import { homedir } from "node:os";
import { isAbsolute } from "node:path";
import { z } from "zod";
import { agentError } from "../errors.ts";
import { findByPattern, openFileId, patternPlace, patternRoot } from "../file-pattern.ts";
import { parsePayload, sharedEvent } from "../hook-payload.ts";
import type { AgentTemplate, Environment, LaunchRequest } from "../template.ts";

const argumentSchema = z.string().max(4096);
const argumentsSchema = z
  .array(z.union([argumentSchema, z.array(argumentSchema).min(1)]))
  .max(200)
  .describe(
    "Arguments with the placeholders {sessionId}, {prompt}, {dir}, {model} and {systemPrompt}. An inner list is a group: it is left out when a placeholder in it has no value.",
  );
const patternSchema = z
  .string()
  .max(4096)
  .refine((text) => text.startsWith("/") || text.startsWith("~/"), "must begin with / or ~/")
  .refine((text) => text.split("{sessionId}").length === 2, "must hold {sessionId} once");
const nameSchema = z.string().regex(/^[a-z][a-z0-9_-]{0,49}$/, "small letters, digits, - and _, a letter first");

/** An agent by configuration only: an entry of `agents` in the config file. */
export const customAgentSchema = z
  .strictObject({
    name: nameSchema.describe("As requests name it."),
    aliases: z.array(nameSchema).max(10).default([]).describe("Other names for it."),
    displayName: z.string().min(1).max(100).optional().describe("As people read it; its name when left out."),
    binary: z
      .string()
      .min(1)
      .max(4096)
      .refine((text) => isAbsolute(text) || !text.includes("/"), "a name on PATH, or an absolute path")
      .describe("Its program: a name on PATH, or an absolute path."),
    startArgs: argumentsSchema,
    resumeArgs: argumentsSchema.nullable().default(null).describe("Null: sessions of this agent cannot be resumed."),
    idRegime: z
      .enum(["assigned", "discovered"])
      .default("assigned")
      .describe("Whether the agent takes the session id that it is given, or chooses its own."),
    discovery: z
      .strictObject({ openFile: patternSchema.describe("Its path, with {sessionId}; `~/` is the home directory.") })
      .optional()
      .describe("For `discovered`: a file that the agent keeps open, with {sessionId} in its path (Linux)."),
    transcript: z
      .strictObject({
        format: z.enum(["claude", "codex"]).describe("JSON lines as these agents write them."),
        path: patternSchema.describe(
          "Its path, with {sessionId}; a folder named * is any folder, `~/` is the home directory.",
        ),
      })
      .nullable()
      .default(null)
      .describe("Where the agent writes what was said; without it, sessions have no turns."),
    keyVariables: z
      .array(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/))
      .max(20)
      .default([])
      .describe("Variables of its key: kept for it, and taken away from all others."),
    commandPrefixes: z
      .array(z.string().min(1).max(10))
      .max(10)
      .default(["/", "!"])
      .describe("First characters that make a prompt a command; such prompts are refused."),
    commandWords: z
      .array(z.string().min(1).max(100))
      .max(100)
      .default([])
      .describe("Prompts that are commands as a whole, such as `exit`."),
    paste: z
      .strictObject({
        bracketed: z.boolean().default(true).describe("As one paste, so that line ends do not send it."),
        enterDelayMs: z.int().min(0).max(5000).default(150).describe("Milliseconds."),
      })
      .default({ bracketed: true, enterDelayMs: 150 })
      .describe("How a prompt is typed: whether as a bracketed paste, and how long before Enter."),
    readyPattern: z
      .string()
      .max(1000)
      .refine(isRegularExpression, "must be a regular expression")
      .optional()
      .describe("A visible line that matches tells that the agent takes input; without it, any output does."),
    interruptKeys: z.string().min(1).max(20).default("\x1b").describe("What is typed to stop a turn; Escape."),
    loginArgs: z.array(argumentSchema).max(50).default([]).describe("Arguments of its log-in; none when left out."),
  })
  .refine((agent) => agent.idRegime === "assigned" || agent.discovery !== undefined, {
    message: "`discovered` needs `discovery`",
    path: ["discovery"],
  })
  .refine(
    (agent) => agent.idRegime === "discovered" || agent.transcript === null || uses(agent.startArgs, "{sessionId}"),
    { message: "must hold {sessionId}, or the transcript is never found", path: ["startArgs"] },
  );

/** @see customAgentSchema */
export type CustomAgent = z.infer<typeof customAgentSchema>;

/** The template of an agent that exists only in the config file. */
export function createCustomTemplate(agent: CustomAgent): AgentTemplate {
  const ready = agent.readyPattern === undefined ? /\S/ : new RegExp(agent.readyPattern);
  return {
    name: agent.name,
    aliases: agent.aliases,
    displayName: agent.displayName ?? agent.name,
    binaryName: agent.binary,
    npmPackage: null,
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
    // An agent may be taught to report in the common form; nobody has to.
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
    return false; // the schema says so
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
    throw agentError("agent_start_failed", `Cannot resume ${agent.name}: its configuration has no resumeArgs.`);
  }
  if (request.permissionMode !== "ask") {
    throw agentError("invalid_request", `${agent.name} knows no permission modes. Leave permissionMode out.`);
  }
  const values: Readonly<Record<string, string | null>> = {
    sessionId: request.sessionId,
    prompt: request.prompt,
    dir: request.dir,
    model: request.model,
    systemPrompt: request.systemPrompt,
  };
  for (const name of ["prompt", "model", "systemPrompt"]) {
    if (values[name] !== null && !uses(args, `{${name}}`)) throw notTaken(agent, name, request.kind);
  }
  return args.flatMap((entry) => {
    const group = typeof entry === "string" ? [entry] : entry;
    const names = group.flatMap((argument) => [...argument.matchAll(placeholders)].map((match) => match[1] ?? ""));
    if (names.some((name) => values[name] === null)) return [];
    // In one pass: braces in a value are text.
    return group.map((argument) => argument.replace(placeholders, (_all, name: string) => values[name] ?? ""));
  });
}

const placeholders = /\{(sessionId|prompt|dir|model|systemPrompt)\}/g;

function notTaken(agent: CustomAgent, name: string, kind: "start" | "resume"): Error {
  const code = name === "model" ? "model_not_supported" : "invalid_request";
  return agentError(code, `${agent.name} takes no ${name}: its ${kind}Args have no {${name}}.`);
}
