import type { Command } from "commander";
import { PosternError } from "../core/errors.ts";
import { type PermissionMode, permissionModeSchema } from "../wire/coding.ts";
import {
  type ComparedSession,
  comparedSchema,
  comparisonListSchema,
  comparisonReadSchema,
  keptSessionSchema,
} from "../wire/comparisons.ts";
import { connect } from "./context.ts";
import { absolutePath, type CommonOptions, describe, oneOf } from "./options.ts";
import { plainLine, printableJson, table } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";
import { sessionIdHelp } from "./session-id.ts";

/** Setup scripts run before the agents start, and teardown scripts before worktrees are removed. */
const timeoutMs = 300_000;

interface CompareOptions extends CommonOptions {
  readonly agents: string;
  readonly model?: string;
  readonly dir?: string;
  readonly base?: string;
  readonly permissionMode?: PermissionMode;
}

interface KeepOptions extends CommonOptions {
  readonly whileWorking?: true;
}

/** `postern coding compare …`: one prompt for several agents. */
export function addCompareCommands(coding: Command, context: CliContext): void {
  const group = coding.command("compare").description("give one prompt to several agents, and keep one result");
  addStartCommand(group, context);
  addListCommand(group, context);
  addShowCommand(group, context);
  addKeepCommand(group, context);
}

function addStartCommand(group: Command, context: CliContext): void {
  describe(group.command("start", { isDefault: true }), [
    'postern coding compare --agents claude-code,codex "Fix the failing test."',
    'postern coding compare --agents claude-code,claude-code --model opus,sonnet --base main "Add a cache."',
  ])
    .description("start several agents on the same prompt, each in its own worktree from the same commit")
    .argument("<prompt>", "what every agent should do")
    .requiredOption("--agents <names>", "two to eight agents, separated by commas; an agent can be named again")
    .option("--model <names>", "their models in the same order, separated by commas; leave one empty for its default")
    .option("--dir <path>", "directory in a Git repository (default: the current one)")
    .option("--base <name>", "the branch, tag or commit to start from (default: the repository's default branch)")
    .option("--permission-mode <mode>", "ask, edits or all (default: ask)", oneOf(permissionModeSchema))
    .action(async (prompt: string, { json, agents, model, dir, base, permissionMode }: CompareOptions) => {
      const input = {
        dir: absolutePath(dir ?? ".", context.cwd),
        prompt,
        contenders: contendersOf(agents, model),
        ...(base !== undefined && { baseBranch: base }),
        ...(permissionMode !== undefined && { permissionMode }),
      };
      const compared = await (await connect(context)).startComparison(input, { output: comparedSchema, timeoutMs });
      if (json) return context.stdout(`${printableJson(compared)}\n`);
      const rows = compared.sessions.map(({ agent, model: used, sessionId, error }) => [
        plainLine(agent),
        plainLine(used ?? ""),
        sessionId === null ? "not started" : plainLine(sessionId),
        plainLine(error?.detail ?? ""),
      ]);
      context.stdout(`${table(["AGENT", "MODEL", "SESSION", "ERROR"], rows)}\n`);
      return context.stderr(`See the results with \`postern coding compare show ${compared.comparisonId}\`.\n`);
    });
}

function contendersOf(agents: string, model: string | undefined) {
  const names = agents.split(",").map((name) => name.trim());
  const models = model?.split(",").map((name) => name.trim()) ?? [];
  if (models.length > names.length) {
    throw new PosternError("invalid_request", "There are more models than agents. Name one model for each agent.");
  }
  return names.map((agent, index) => {
    const own = models[index] ?? "";
    return { agent, ...(own !== "" && { model: own }) };
  });
}

function addListCommand(group: Command, context: CliContext): void {
  describe(group.command("list"), ["postern coding compare list", "postern coding compare list --json"])
    .description("list your comparisons")
    .action(async ({ json }: CommonOptions) => {
      const listed = await (await connect(context)).listComparisons({}, { output: comparisonListSchema });
      if (json) return context.stdout(`${printableJson(listed)}\n`);
      if (listed.comparisons.length === 0) return context.stderr("No comparisons.\n");
      const rows = listed.comparisons.map(({ comparisonId, title, agents, keptSessionId }) => [
        comparisonId,
        plainLine(agents.join(", ")),
        keptSessionId === null ? "open" : "decided",
        plainLine(title ?? ""),
      ]);
      return context.stdout(`${table(["ID", "AGENTS", "STATE", "PROMPT"], rows)}\n`);
    });
}

const comparisonIdHelp = "comparison ID, from `postern coding compare list`";

function addShowCommand(group: Command, context: CliContext): void {
  describe(group.command("show"), ["postern coding compare show 5f1c…", "postern coding compare show 5f1c… --json"])
    .description("print the state, time, changes and tokens of every session in a comparison")
    .argument("<comparisonId>", comparisonIdHelp)
    .action(async (comparisonId: string, { json }: CommonOptions) => {
      const read = await (await connect(context)).getComparison({ comparisonId }, { output: comparisonReadSchema });
      if (json) return context.stdout(`${printableJson(read)}\n`);
      const header = ["AGENT", "MODEL", "STATE", "TIME", "FILES", "LINES", "TOKENS", "SESSION"];
      return context.stdout(`${table(header, read.sessions.map(sessionRow))}\n`);
    });
}

function sessionRow({
  agent,
  model,
  kept,
  activity,
  status,
  error,
  workedMs,
  changes,
  usage,
  sessionId,
}: ComparedSession) {
  const state = kept ? "kept" : (activity ?? status ?? error?.code ?? "unknown");
  return [
    plainLine(agent),
    plainLine(model ?? ""),
    plainLine(state),
    workedMs === null ? "" : `${Math.round(workedMs / 1_000)} s`,
    changes === null ? "" : String(changes.files),
    changes === null || changes.added === null ? "" : `+${changes.added} -${changes.removed ?? 0}`,
    usage === undefined ? "" : String(usage.inputTokens + usage.outputTokens),
    plainLine(sessionId ?? ""),
  ];
}

function addKeepCommand(group: Command, context: CliContext): void {
  describe(group.command("keep"), ["postern coding compare keep 5f1c… 0b0c…"])
    .description("keep one session; close the others, and remove their worktrees after saving uncommitted work")
    .argument("<comparisonId>", comparisonIdHelp)
    .argument("<sessionId>", sessionIdHelp)
    .option("--while-working", "also stop agents that are working")
    .action(async (comparisonId: string, sessionId: string, { json, whileWorking }: KeepOptions) => {
      const input = { comparisonId, sessionId, ...(whileWorking && { whileWorking }) };
      const kept = await (await connect(context)).keepOfComparison(input, { output: keptSessionSchema, timeoutMs });
      if (json) return context.stdout(`${printableJson(kept)}\n`);
      for (const { agent, sessionId: closed, worktree, error } of kept.closed) {
        const name = `${plainLine(agent)} ${plainLine(closed)}`;
        const problem = error?.detail ?? worktree?.reason ?? null;
        if (problem !== null) context.stderr(`${name} was not removed: ${plainLine(problem)}\n`);
        else {
          const saved =
            worktree?.rescue == null ? "" : ` Restore its work with \`postern rescue restore ${plainLine(closed)}\`.`;
          context.stdout(`Closed ${name}.${saved}\n`);
        }
      }
      return context.stdout(`Kept ${plainLine(kept.keptSessionId)}.\n`);
    });
}
