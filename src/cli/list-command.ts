import type { Command } from "commander";
import { type ListInput, type ListOutput, listInputSchema, listOutputSchema } from "../wire/session-lists.ts";
import { createGatewayClient } from "./gateway-client.ts";
import { absolutePath, type CommonOptions, describe, oneOf, wholeNumber } from "./options.ts";
import { plainLine, printableJson, table } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";

interface ListOptions extends CommonOptions {
  readonly agent?: string;
  readonly since?: string;
  readonly dir?: string;
  readonly status?: NonNullable<ListInput["status"]>;
  readonly limit?: number;
  readonly offset?: number;
}

type Session = ListOutput["sessions"][number];

/** Of a title so much is shown: what comes after is in `--json`. */
const titleCharacters = 48;

/** `postern coding list`: the sessions on this machine. */
export function addListCommand(group: Command, context: CliContext): void {
  describe(group.command("list"), [
    "postern coding list",
    "postern coding list --status running",
    "postern coding list --dir . --since 2026-01-31 --limit 50",
    "postern coding list --agent codex --json | jq -r '.sessions[].sessionId'",
  ])
    .description("list the sessions that any agent ever wrote on this machine, the most recently updated first")
    .option("--agent <name>", "only sessions of this agent")
    .option(
      "--since <time>",
      "only sessions updated at or after this date (UTC) or date-time",
      oneOf(listInputSchema.shape.since),
    )
    .option("--dir <path>", "only sessions that worked in this folder or below it")
    .option("--status <status>", "initializing, running, completed or failed", oneOf(listInputSchema.shape.status))
    .option("--limit <count>", "at most so many (default: 20)", wholeNumber(1, 200))
    .option("--offset <count>", "leave out so many first", wholeNumber(0, 10_000_000))
    .action((options: ListOptions) => list(options, context));
}

async function list({ json, dir, ...filters }: ListOptions, context: CliContext): Promise<void> {
  const input: ListInput = { ...filters, ...(dir !== undefined && { dir: absolutePath(dir, context.cwd) }) };
  const gateway = createGatewayClient(await context.ports.socketPath());
  const output = await gateway.call("coding_list_sessions", { input, output: listOutputSchema });
  if (json) return context.stdout(`${printableJson(output)}\n`);
  if (output.sessions.length > 0) context.stdout(`${sessionTable(output.sessions, context.clock.now())}\n`);
  context.stderr(`${footer(output)}\n`);
}

function sessionTable(sessions: readonly Session[], now: number): string {
  return table(
    ["AGE", "AGENT", "STATE", "TITLE", "DIR", "ID"],
    sessions.map((session) => [
      age(now - Date.parse(session.updatedAt)),
      session.agent,
      state(session),
      title(session),
      session.dir,
      session.sessionId,
    ]),
  );
}

/** What it does, while it lives; who runs it, when that is not the gateway. */
function state({ status, activity, owner }: Session): string {
  const words = (activity ?? status).replaceAll("_", " ");
  return owner === "external" ? `${words} (elsewhere)` : words;
}

function title(session: Session): string {
  const line = plainLine(session.title ?? "-");
  return line.length <= titleCharacters ? line : `${line.slice(0, titleCharacters - 1).toWellFormed()}…`;
}

const steps = [
  { unit: "d", ms: 86_400_000 },
  { unit: "h", ms: 3_600_000 },
  { unit: "m", ms: 60_000 },
] as const;

function age(ms: number): string {
  const step = steps.find((one) => ms >= one.ms);
  return step === undefined ? "now" : `${Math.floor(ms / step.ms)}${step.unit}`;
}

function footer({ sessions, total, offset, hasMore, indexing }: ListOutput): string {
  const none = total === 0 ? "No sessions." : `${total} sessions, none on this page.`;
  const shown = sessions.length === 0 ? none : `${offset + 1} to ${offset + sessions.length} of ${total}.`;
  const more = hasMore ? ` More: --offset ${offset + sessions.length}.` : "";
  const partial = indexing === null ? "" : ` ${indexing.done} of ${indexing.total} transcripts are indexed so far.`;
  return `${shown}${more}${partial}`;
}
