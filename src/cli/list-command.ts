import type { Command } from "commander";
import { PosternError } from "../core/errors.ts";
import {
  type ListInput,
  type ListOutput,
  listInputSchema,
  listOutputSchema,
  type SearchInput,
  type SearchOutput,
  searchInputSchema,
  searchOutputSchema,
} from "../wire/session-lists.ts";
import { connect } from "./context.ts";
import { absolutePath, type CommonOptions, describe, oneOf, wholeNumber } from "./options.ts";
import { ageText, cutEnd, cutStart, plainLine, printableJson, table, widthOf } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";
import { endWords } from "./turn-text.ts";

/** Filters by labels, pins and archive. */
interface NotedOptions {
  readonly archived?: true;
  readonly pinned?: true;
  readonly label?: string;
}

interface ListOptions extends CommonOptions, NotedOptions {
  readonly all?: true;
  readonly agent?: string;
  readonly since?: string;
  readonly dir?: string;
  readonly status?: NonNullable<ListInput["status"]>;
  readonly limit?: number;
  readonly offset?: number;
}

type Session = ListOutput["sessions"][number];

/** `--json` prints the whole title. */
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
      "only sessions updated at or after this date (UTC) or time",
      oneOf(listInputSchema.shape.since),
    )
    .option("--dir <path>", "only sessions in this folder or below")
    .option("--status <status>", "initializing, running, completed or failed", oneOf(listInputSchema.shape.status))
    .option("--label <label>", "only sessions with this label")
    .option("--pinned", "only pinned sessions")
    .option("--archived", "only archived sessions")
    .option("--all", "include archived sessions")
    .option("--limit <count>", "maximum number of results (default: 20)", wholeNumber(1, 200))
    .option("--offset <count>", "skip this many results", wholeNumber(0, 10_000_000))
    .action((options: ListOptions) => list(options, context));
}

async function list({ json, dir, all, ...filters }: ListOptions, context: CliContext): Promise<void> {
  if (all && filters.archived) throw new PosternError("usage", "Use --all or --archived, not both.");
  const archived = all ? ({ archived: "any" } as const) : {};
  const input: ListInput = {
    ...filters,
    ...archived,
    ...(dir !== undefined && { dir: absolutePath(dir, context.cwd) }),
  };
  const output = await (await connect(context)).codingListSessions(input, { output: listOutputSchema });
  if (json) return context.stdout(`${printableJson(output)}\n`);
  if (output.sessions.length > 0) context.stdout(`${sessionTable(output.sessions, context)}\n`);
  context.stderr(`${footer(output)}\n`);
}

function sessionTable(sessions: readonly Session[], { clock, columns }: Pick<CliContext, "clock" | "columns">): string {
  const rows = sessions.map((session) => ({
    age: ageText(clock.now() - Date.parse(session.updatedAt)),
    agent: session.agent,
    state: state(session),
    title: cutEnd(plainLine(titleText(session)), titleColumns),
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

/** The fewest columns for a legible title or folder. */
const leastColumns = 8;
const gap = 2;

/**
 * Widths of titles and folders with which lines do not wrap. Titles are cut first and IDs never; in a narrow terminal, the
 * folders are omitted (width 0).
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

function titleText({ title, pinned, labels }: Session): string {
  return [...(pinned ? ["*"] : []), title ?? "-", ...labels.map((label) => `[${label}]`)].join(" ");
}

function state(session: Session): string {
  const { activity, owner } = session;
  const words = activity?.replaceAll("_", " ") ?? endWords(session);
  return owner === "external" ? `${words} (elsewhere)` : words;
}

function footer({ sessions, total, offset, hasMore, indexing }: ListOutput): string {
  const none = total === 0 ? "No sessions." : `${total} sessions, none on this page.`;
  const shown = sessions.length === 0 ? none : `${offset + 1} to ${offset + sessions.length} of ${total}.`;
  const more = hasMore ? ` More: --offset ${offset + sessions.length}.` : "";
  const partial = indexing === null ? "" : ` ${indexing.done} of ${indexing.total} transcripts indexed so far.`;
  return `${shown}${more}${partial}`;
}

interface SearchOptions extends CommonOptions, NotedOptions {
  readonly status?: NonNullable<SearchInput["status"]>;
  readonly in?: NonNullable<SearchInput["in"]>;
  readonly agent?: string;
  readonly dir?: string;
  readonly limit?: number;
  readonly offset?: number;
}

/** `postern coding search`: sessions by words of their title, first message or turns. */
export function addSearchCommand(group: Command, context: CliContext): void {
  describe(group.command("search"), [
    "postern coding search login redirect",
    "postern coding search --in all '\"cannot find module\"'",
    "postern coding search --in all --dir . --agent codex flaky te",
    "postern coding search --json 登录 | jq -r '.sessions[].sessionId'",
  ])
    .description(
      'search all sessions on this machine. All words must occur; "quoted words" match as a phrase, and the last word also matches as a prefix',
    )
    .argument("<query...>", "words to search for")
    .option(
      "--in <where>",
      "title (titles and first messages) or all (every turn) (default: title)",
      oneOf(searchInputSchema.shape.in),
    )
    .option("--agent <name>", "only sessions of this agent")
    .option("--dir <path>", "only sessions in this folder or below")
    .option("--status <status>", "initializing, running, completed or failed", oneOf(searchInputSchema.shape.status))
    .option("--label <label>", "only sessions with this label")
    .option("--pinned", "only pinned sessions")
    .option("--archived", "only archived sessions (default: all sessions)")
    .option("--limit <count>", "maximum number of results (default: 10)", wholeNumber(1, 200))
    .option("--offset <count>", "skip this many results", wholeNumber(0, 10_000_000))
    .action((query: readonly string[], options: SearchOptions) => search(query.join(" "), { options, context }));
}

async function search(
  query: string,
  { options, context }: { readonly options: SearchOptions; readonly context: CliContext },
): Promise<void> {
  const { json, dir, ...filters } = options;
  const input: SearchInput = { query, ...filters, ...(dir !== undefined && { dir: absolutePath(dir, context.cwd) }) };
  const output = await (await connect(context)).codingSearchSessions(input, { output: searchOutputSchema });
  if (json) return context.stdout(`${printableJson(output)}\n`);
  const mark = context.interactive ? markerOf(query) : (text: string) => text;
  for (const session of output.sessions) context.stdout(`${foundText(session, mark)}\n`);
  context.stderr(`${searchFooter(output)}\n`);
}

function foundText(session: SearchOutput["sessions"][number], mark: (text: string) => string): string {
  const { match } = session;
  const facts = [session.sessionId, session.agent, session.status, session.updatedAt, session.dir];
  const lines = [plainLine(session.title ?? "(no title)"), `  ${facts.map(plainLine).join(" · ")}`];
  if (match.field === "title") return [mark(lines[0] ?? ""), ...lines.slice(1)].join("\n");
  const where = match.field === "turn" ? `turn ${match.turnIndex ?? "?"}` : "first message";
  return [...lines, `  ${where}: ${mark(plainLine(match.snippet))}`].join("\n");
}

function searchFooter({ sessions, total, offset, hasMore, indexing }: SearchOutput): string {
  const shown = total === 0 ? "No matching sessions." : `${offset + 1} to ${offset + sessions.length} of ${total}.`;
  const found = sessions.length === 0 && total > 0 ? `${total} found, none on this page.` : shown;
  const more = hasMore ? ` More: --offset ${offset + sessions.length}.` : "";
  const partial = indexing === null ? "" : ` ${indexing.done} of ${indexing.total} transcripts indexed so far.`;
  return `${found}${more}${partial}`;
}

/** Shows the query's words in bold, except for matches that differ in accents. */
export function markerOf(query: string): (text: string) => string {
  const words = query.match(/[\p{L}\p{N}\p{M}]+/gu) ?? [];
  if (words.length === 0) return (text) => text;
  const longestFirst = words.toSorted((one, other) => other.length - one.length);
  // In scripts that separate words by spaces, a word cannot start after a letter.
  const pattern = new RegExp(`(?<![a-z0-9])(?:${longestFirst.join("|")})`, "giu");
  return (text) => text.replace(pattern, (found) => `\u001b[1m${found}\u001b[22m`);
}
