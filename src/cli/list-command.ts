import type { Command } from "commander";
import { type ListInput, type ListOutput, listInputSchema, listOutputSchema } from "../wire/session-lists.ts";
import { callTool } from "./context.ts";
import { absolutePath, type CommonOptions, describe, oneOf, wholeNumber } from "./options.ts";
import { plainLine, printableJson, table } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";
import { cutEnd, cutStart, widthOf } from "./text-width.ts";

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
const titleColumns = 48;

/** `postern coding list`: the sessions on this machine. */
export function addListCommand(group: Command, context: CliContext): void {
  describe(group.command("list"), [
    "postern coding list",
    "postern coding list --status running",
    "postern coding list --dir . --since 2026-01-31 --limit 50",
    "postern coding list --agent codex --json | jq -r '.sessions[].sessionId'",
  ])
    .description("list all sessions on this machine, most recently updated first")
    .option("--agent <name>", "only sessions of this agent")
    .option(
      "--since <time>",
      "only sessions updated at or after this date (UTC) or date-time",
      oneOf(listInputSchema.shape.since),
    )
    .option("--dir <path>", "only sessions in this folder or below")
    .option("--status <status>", "initializing, running, completed or failed", oneOf(listInputSchema.shape.status))
    .option("--limit <count>", "at most so many (default: 20)", wholeNumber(1, 200))
    .option("--offset <count>", "skip this many", wholeNumber(0, 10_000_000))
    .action((options: ListOptions) => list(options, context));
}

async function list({ json, dir, ...filters }: ListOptions, context: CliContext): Promise<void> {
  const input: ListInput = { ...filters, ...(dir !== undefined && { dir: absolutePath(dir, context.cwd) }) };
  const output = await callTool(context, "coding_list_sessions", { input, output: listOutputSchema });
  if (json) return context.stdout(`${printableJson(output)}\n`);
  if (output.sessions.length > 0) context.stdout(`${sessionTable(output.sessions, context)}\n`);
  context.stderr(`${footer(output)}\n`);
}

function sessionTable(sessions: readonly Session[], { clock, columns }: Pick<CliContext, "clock" | "columns">): string {
  const rows = sessions.map((session) => ({
    age: age(clock.now() - Date.parse(session.updatedAt)),
    agent: session.agent,
    state: state(session),
    title: cutEnd(plainLine(session.title ?? "-"), titleColumns),
    dir: plainLine(session.dir),
    id: session.sessionId,
  }));
  const shown = columns === null ? { title: titleColumns, dir: null } : widthsWithin(columns, rows);
  const withDir = (dir: string): readonly string[] => (shown.dir === 0 ? [] : [dir]);
  return table(
    ["AGE", "AGENT", "STATE", "TITLE", ...withDir("DIR"), "ID"],
    rows.map((row) => [
      row.age,
      row.agent,
      row.state,
      cutEnd(row.title, shown.title),
      ...withDir(shown.dir === null ? row.dir : cutStart(row.dir, shown.dir)),
      row.id,
    ]),
  );
}

/** Less of a title or a folder says nothing. */
const leastColumns = 8;
const gap = 2;

/**
 * How much of the titles and the folders is shown, so that no line is wrapped where that can be had: the titles give way first, the IDs
 * never do, and in a narrow terminal the folders are left out (0).
 */
function widthsWithin(
  columns: number,
  rows: readonly Readonly<Record<"age" | "agent" | "state" | "title" | "dir" | "id", string>>[],
): { readonly title: number; readonly dir: number } {
  const widest = (name: "age" | "agent" | "state" | "title" | "dir" | "id"): number =>
    Math.max(name.length, ...rows.map((row) => widthOf(row[name])));
  const fixed = widest("age") + widest("agent") + widest("state") + widest("id") + 4 * gap;
  const least = (natural: number): number => Math.min(natural, leastColumns);
  const [title, dir] = [widest("title"), widest("dir")];
  const room = columns - fixed - gap;
  if (room < least(title) + least(dir)) return { title: Math.max(columns - fixed, 1), dir: 0 };
  const shownDir = Math.min(dir, room - least(title));
  return { title: room - shownDir, dir: shownDir };
}

/** What it does, while it lives; who runs it, when that is not the gateway. */
function state({ status, activity, owner }: Session): string {
  const words = (activity ?? status).replaceAll("_", " ");
  return owner === "external" ? `${words} (elsewhere)` : words;
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
  const partial = indexing === null ? "" : ` ${indexing.done} of ${indexing.total} transcripts indexed so far.`;
  return `${shown}${more}${partial}`;
}
