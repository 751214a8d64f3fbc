import { readFile } from "node:fs/promises";
import { type Command, InvalidArgumentError } from "commander";
import { z } from "zod";
import { PosternError } from "../core/errors.ts";
import { type PermissionMode, permissionModeSchema } from "../wire/coding.ts";
import { branchPrefixSchema, type FolderProfile, type ProfileProposal } from "../wire/folder-profiles.ts";
import { readAll, withStores } from "./context.ts";
import { absolutePath, type CommonOptions, collect, describe, listOf, oneOf } from "./options.ts";
import { plainLine, plainText, printableJson } from "./plain-text.ts";
import type { CliContext, ReviseProfile } from "./ports.ts";

const clearable = ["setup", "teardown", "agent", "model", "permissionMode", "branchPrefix"] as const;
const clearableSchema = z.enum(clearable);

interface SetOptions extends CommonOptions {
  readonly setup?: string;
  readonly teardown?: string;
  readonly setupTimeout?: number;
  readonly teardownTimeout?: number;
  readonly agent?: string;
  readonly model?: string;
  readonly permissionMode?: PermissionMode;
  readonly branchPrefix?: string;
  readonly variables?: string;
  readonly unset?: readonly string[];
  readonly clear?: readonly (typeof clearable)[number][];
}

// A profile's variables have at most 128 KiB.
const maxFileBytes = 262_144;

/** `postern folder profile show|set|proposals|approve`; with or without a running gateway. */
export function addFolderProfileCommands(parent: Command, context: CliContext): void {
  const group = parent.command("profile").description("set how agents start in a folder");

  describe(group.command("show"), ["postern folder profile show ~/code/app"])
    .description("show a folder's profile; the values of its variables are never shown")
    .argument("<path>", "a registered folder")
    .action(async (path: string, options: CommonOptions) => {
      const profile = await withStores(context, (stores) => stores.profiles.read(absolutePath(path, context.cwd)));
      context.stdout(options.json ? `${printableJson(profile)}\n` : shownProfile(profile));
    });

  describe(group.command("set"), [
    "postern folder profile set . --setup 'npm ci' --branch-prefix agents/",
    "postern folder profile set . --agent codex --permission-mode edits",
    "postern folder profile set . --variables .env.agents",
    "postern folder profile set . --clear teardown,model --unset API_TOKEN",
  ])
    .description("change a folder's profile; settings that you do not give are kept")
    .argument("<path>", "a registered folder")
    .option("--setup <script>", "shell script that runs in a new worktree before its agent starts")
    .option("--setup-timeout <seconds>", "end the setup script after this time (default: 600)", seconds(3_600))
    .option("--teardown <script>", "shell script that runs in a worktree before it is removed")
    .option("--teardown-timeout <seconds>", "end the teardown script after this time (default: 60)", seconds(600))
    .option("--agent <name>", "default agent for new sessions")
    .option("--model <name>", "default model for new sessions")
    .option(
      "--permission-mode <mode>",
      `default permission mode for new sessions: ${permissionModeSchema.options.join(", ")}`,
      oneOf(permissionModeSchema),
    )
    .option(
      "--branch-prefix <prefix>",
      "prefix of the names of new branches (default: postern/)",
      oneOf(branchPrefixSchema),
    )
    .option("--variables <file>", "set variables from NAME=value lines in a file; - for standard input")
    .option("--unset <name>", "remove a variable; can be repeated", collect)
    .option("--clear <list>", `clear settings: ${clearable.join(", ")}`, listOf(clearableSchema))
    .action(async (path: string, options: SetOptions) => {
      const given =
        options.variables === undefined ? {} : parseEnvironment(await readEnvironment(context, options.variables));
      const profile = await withStores(context, (stores) =>
        stores.profiles.change(absolutePath(path, context.cwd), revised(options, given)),
      );
      context.stdout(options.json ? `${printableJson(profile)}\n` : shownProfile(profile));
    });

  describe(group.command("proposals"), ["postern folder profile proposals ~/code"])
    .description(
      "show the profiles that repositories propose in .postern.json, and what changed since you approved them",
    )
    .argument("<path>", "a registered folder")
    .action(async (path: string, options: CommonOptions) => {
      const proposals = await withStores(context, (stores) =>
        stores.profiles.proposals(absolutePath(path, context.cwd)),
      );
      if (options.json) return context.stdout(`${printableJson({ proposals })}\n`);
      if (proposals.length === 0) return context.stderr("No repository in this folder proposes a profile.\n");
      return context.stdout(proposals.map(shownProposal).join("\n"));
    });

  describe(group.command("approve"), ["postern folder profile approve ~/code/app --hash 1f0c…"])
    .description("approve the profile that a repository proposes. Its scripts then run as you in new worktrees")
    .argument("<repository>", "path of the repository")
    .requiredOption("--hash <sha256>", "hash of the content that you have read")
    .option("--folder <path>", "the registered folder (default: the repository)")
    .action(async (path: string, options: CommonOptions & { readonly hash: string; readonly folder?: string }) => {
      const repository = absolutePath(path, context.cwd);
      const folder = absolutePath(options.folder ?? path, context.cwd);
      const approved = await withStores(context, (stores) =>
        stores.profiles.approve(folder, { repository, hash: options.hash }),
      );
      const line = `Approved the profile of ${plainLine(approved.repository)}.`;
      context.stdout(options.json ? `${printableJson(approved)}\n` : `${line}\n`);
    });
}

function seconds(max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= 1 && value <= max) return value * 1_000;
    throw new InvalidArgumentError(`Use a whole number of seconds from 1 to ${max}.`);
  };
}

function revised(options: SetOptions, given: Readonly<Record<string, string>>): ReviseProfile {
  return ({ settings, env }) => {
    const { setup, teardown, agent, model, permissionMode, branchPrefix, setupTimeout, teardownTimeout } = options;
    const unset = new Set(options.unset ?? []);
    const cleared = Object.fromEntries((options.clear ?? []).map((name) => [name, null]));
    return {
      settings: {
        ...settings,
        ...cleared,
        ...(setup !== undefined && { setup }),
        ...(setupTimeout !== undefined && { setupTimeoutMs: setupTimeout }),
        ...(teardown !== undefined && { teardown }),
        ...(teardownTimeout !== undefined && { teardownTimeoutMs: teardownTimeout }),
        ...(agent !== undefined && { agent }),
        ...(model !== undefined && { model }),
        ...(permissionMode !== undefined && { permissionMode }),
        ...(branchPrefix !== undefined && { branchPrefix }),
      },
      env: Object.fromEntries(Object.entries({ ...env, ...given }).filter(([name]) => !unset.has(name))),
    };
  };
}

async function readEnvironment({ stdin, cwd }: CliContext, file: string): Promise<string> {
  if (file === "-") return readAll(stdin, { maxBytes: maxFileBytes, tooLarge: "The variables are too large." });
  try {
    return await readFile(absolutePath(file, cwd), "utf8");
  } catch (error) {
    throw new PosternError("invalid_request", `Cannot read ${file}.`, { cause: error });
  }
}

/** Parses `NAME=value` lines. Skips empty lines and lines that start with `#`, and removes quotes around values. */
export function parseEnvironment(text: string): Readonly<Record<string, string>> {
  const lines = text.split(/\r?\n/).map((line) => line.trim());
  const entries = lines.flatMap((line, index) => {
    if (line === "" || line.startsWith("#")) return [];
    const match = /^(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)$/.exec(line);
    const [, name, value = ""] = match ?? [];
    // The line may contain a secret.
    if (name === undefined) throw new PosternError("usage", `Line ${index + 1} of the variables is not NAME=value.`);
    return [[name, /^(["'])(.*)\1$/.exec(value)?.[2] ?? value] as const];
  });
  return Object.fromEntries(entries);
}

function shownProfile(profile: FolderProfile): string {
  const { setup, setupTimeoutMs, teardown, teardownTimeoutMs, env, ...rest } = profile;
  const limit = (ms: number | null): string => (ms === null ? "" : ` (at most ${ms / 1_000} s)`);
  const rows: readonly (readonly [string, string | null])[] = [
    ["Folder", rest.path],
    ["Agent", rest.agent],
    ["Model", rest.model],
    ["Permission mode", rest.permissionMode],
    ["Branch prefix", rest.branchPrefix],
    ["Variables", env.length === 0 ? null : env.join(", ")],
    ["Setup", setup && `${setup}${limit(setupTimeoutMs)}`],
    ["Teardown", teardown && `${teardown}${limit(teardownTimeoutMs)}`],
  ];
  return rows.map(([label, value]) => `${`${label}:`.padEnd(18)}${plainText(value ?? "-")}\n`).join("");
}

function shownProposal({ repository, state, hash, content, approved, error }: ProfileProposal): string {
  const head = `${plainLine(repository)}: ${state}\nhash ${hash}\n`;
  const problem = error === null ? "" : `cannot be used: ${plainLine(error)}\n`;
  const minus = approved === null || state === "approved" ? [] : approved.split("\n").map((line) => `- ${line}`);
  const sign = state === "changed" ? "+" : " ";
  const lines = [...minus, ...content.split("\n").map((line) => `${sign} ${line}`)];
  return `${head}${problem}${plainText(lines.join("\n"))}\n`;
}
