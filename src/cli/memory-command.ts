import type { Command } from "commander";
import { PosternError } from "../core/errors.ts";
import {
  type FactPage,
  factPageSchema,
  type ListLogsInput,
  type LogDetail,
  type LogEntry,
  type LogFact,
  type LogHit,
  listLogsInputSchema,
  logDetailSchema,
  logEntrySchema,
  logPageSchema,
  logSearchSchema,
  maxLogCharacters,
  type SearchLogsInput,
  searchLogsInputSchema,
  sessionRecordedSchema,
  submitLogInputSchema,
} from "../wire/logs.ts";
import { listOutputSchema } from "../wire/session-lists.ts";
import { connect, readAll } from "./context.ts";
import { markerOf } from "./list-command.ts";
import { addForgetCommands } from "./memory-forget-command.ts";
import { type CommonOptions, describe, oneOf, wholeNumber } from "./options.ts";
import { count, plainLine, plainText, printableJson, table } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";
import { sessionIdHelp } from "./session-id.ts";
import { turnText } from "./turn-text.ts";

interface ListOptions extends CommonOptions, Pick<ListLogsInput, "source" | "status" | "limit" | "cursor"> {
  readonly session?: string;
}

interface AddOptions extends CommonOptions {
  readonly title?: string;
  readonly session?: string;
}

const tooMuch = { maxBytes: 4 * maxLogCharacters, tooLarge: "The text is too long for one entry." };

/** `postern memory …`: the memory, through the running gateway, as the owner. */
export function addMemoryCommands(program: Command, context: CliContext): void {
  const group = program.command("memory").description("search and manage memory");
  addListCommand(group, context);
  addShowCommand(group, context);
  addQueryCommands(group, context);
  addAddCommands(group, context);
  addForgetCommands(group, context);
}

function addListCommand(group: Command, context: CliContext): void {
  describe(group.command("list"), [
    "postern memory list",
    "postern memory list --session 0b0c… --limit 200",
    "postern memory list --json | jq -r '.logs[].logId'",
  ])
    .description("list memory entries, newest first")
    .option("--session <id>", "only this session")
    .option("--source <source>", "session (recorded) or api (submitted)", oneOf(listLogsInputSchema.shape.source))
    .option("--status <status>", "pending, ready or failed", oneOf(listLogsInputSchema.shape.status))
    .option("--limit <count>", "maximum number of results (default: 50)", wholeNumber(1, 200))
    .option("--cursor <cursor>", "continue after a previous page")
    .action(async ({ json, session: sessionId, source, status, limit, cursor }: ListOptions) => {
      const gateway = await connect(context);
      const page = await gateway.listLogs({ sessionId, source, status, limit, cursor }, { output: logPageSchema });
      if (json) return context.stdout(`${printableJson(page)}\n`);
      if (page.logs.length === 0) return context.stderr(`No entries.${await runningHint(context, sessionId)}\n`);
      context.stdout(`${entryTable(page.logs)}\n`);
      if (page.nextCursor !== null) context.stderr(`More: --cursor ${page.nextCursor}\n`);
    });
}

function addShowCommand(group: Command, context: CliContext): void {
  describe(group.command("show"), ["postern memory show 0198…", "postern memory show 0198… --json"])
    .description("print an entry and its facts")
    .argument("<logId>", "the ID that `postern memory list` shows")
    .action(async (logId: string, { json }: CommonOptions) => {
      const log = await (await connect(context)).readLog({ logId }, { output: logDetailSchema });
      context.stdout(json ? `${printableJson(log)}\n` : `${detailText(log)}\n`);
    });
}

function addAddCommands(group: Command, context: CliContext): void {
  describe(group.command("add"), [
    'postern memory add "Decision: timeout = 30 s"',
    "git log -1 | postern memory add --title 'What was released'",
  ])
    .description("add a note, from the argument or standard input; lines `Decision: …` and `Remember: …` become facts")
    .argument("[text...]", "the text of the note")
    .option("--title <title>", "the title of the note")
    .option("--session <id>", "the session that the note belongs to")
    .action(async (words: readonly string[], { json, title, session: sessionId }: AddOptions) => {
      const content = words.length > 0 ? words.join(" ") : await readAll(context.stdin, tooMuch);
      const body = submitLogInputSchema.safeParse({
        content,
        ...(title && { title }),
        ...(sessionId && { sessionId }),
      });
      if (!body.success)
        throw new PosternError("usage", body.error.issues[0]?.message ?? "This note cannot be stored.");
      const log = await (await connect(context)).submitLog(body.data, { output: logEntrySchema });
      context.stdout(json ? `${printableJson(log)}\n` : `${plainLine(log.logId)}\n`);
    });

  describe(group.command("record"), ["postern memory record 0b0c…"])
    .description("save a session to memory now, including turns that were deleted from memory")
    .argument("<sessionId>", sessionIdHelp)
    .action(async (sessionId: string, { json }: CommonOptions) => {
      const recorded = await (await connect(context)).recordSession({ sessionId }, { output: sessionRecordedSchema });
      if (json) return context.stdout(`${printableJson(recorded)}\n`);
      const { logIds, turns } = recorded;
      if (logIds.length === 0) return context.stderr("Everything is already in memory.\n");
      for (const logId of logIds) context.stdout(`${plainLine(logId)}\n`);
      return context.stderr(`Saved ${count(turns, "turn")} to memory.\n`);
    });
}

interface FactsOptions extends CommonOptions {
  readonly subject?: string;
  readonly predicate?: string;
  readonly object?: string;
  readonly asOf?: string;
  readonly knownAt?: string;
  readonly limit?: number;
  readonly cursor?: string;
}

interface SearchOptions extends CommonOptions, Pick<SearchLogsInput, "source" | "status" | "limit"> {
  readonly session?: string;
}

/** `postern memory search|facts`. */
function addQueryCommands(group: Command, context: CliContext): void {
  describe(group.command("search"), [
    "postern memory search timeout",
    "postern memory search '\"flaky mirror\" retr' --json",
    "postern memory search release --session 0b0c…",
  ])
    .description(
      'search entries. All words must occur; "quoted words" match as a phrase, and the last word also matches as a prefix',
    )
    .argument("<query...>", "words to search for")
    .option("--session <id>", "only this session")
    .option("--source <source>", "session (recorded) or api (submitted)", oneOf(searchLogsInputSchema.shape.source))
    .option("--status <status>", "pending, ready or failed", oneOf(searchLogsInputSchema.shape.status))
    .option("--limit <count>", "maximum number of results (default: 20)", wholeNumber(1, 200))
    .action(async (words: readonly string[], options: SearchOptions) => {
      const { json, session: sessionId, source, status, limit } = options;
      const q = words.join(" ");
      const gateway = await connect(context);
      const found = await gateway.searchLogs({ q, sessionId, source, status, limit }, { output: logSearchSchema });
      if (json) return context.stdout(`${printableJson(found)}\n`);
      const mark = context.interactive ? markerOf(q) : (text: string) => text;
      for (const hit of found.hits) context.stdout(`${hitText(hit, mark)}\n`);
      const more = found.hasMore ? " More with --limit." : "";
      const partial = found.partial ? " Only the newest matches were searched." : "";
      if (found.hits.length === 0) return context.stderr(`Nothing found.${await runningHint(context, sessionId)}\n`);
      const shown = `${count(found.hits.length, "entry", "entries")}.`;
      return context.stderr(`${shown}${more}${partial}\n`);
    });

  describe(group.command("facts"), [
    "postern memory facts --predicate status",
    "postern memory facts --subject Decision:timeout",
    "postern memory facts --object File:/code/app/main.ts --predicate edited --as-of 2026-05-01T00:00:00Z",
  ])
    .description("list facts, newest first, with their period of validity")
    .option("--subject <thing>", "Type:key, or an ID")
    .option("--predicate <name>", "decided, status, edited, read, ran, last_exit, current_branch, …")
    .option("--object <thing>", "Type:key, or an ID")
    .option("--as-of <time>", "only facts that were valid at this time (ISO 8601)")
    .option("--known-at <time>", "ignore everything recorded after this time (ISO 8601)")
    .option("--limit <count>", "maximum number of results (default: 100)", wholeNumber(1, 200))
    .option("--cursor <cursor>", "continue after a previous page")
    .action(async ({ json, ...query }: FactsOptions) => {
      const page = await (await connect(context)).findFacts(query, { output: factPageSchema });
      if (json) return context.stdout(`${printableJson(page)}\n`);
      if (page.facts.length === 0) return context.stderr("No facts.\n");
      context.stdout(`${factTable(page)}\n`);
      if (page.nextCursor !== null) context.stderr(`More: --cursor ${page.nextCursor}\n`);
    });
}

/** Suggests a running session, this one or the newest, because memory does not contain it yet. */
async function runningHint(context: CliContext, sessionId: string | undefined): Promise<string> {
  const input = { status: "running", limit: 1, ...(sessionId !== undefined && { idPrefix: sessionId }) } as const;
  const { sessions, total } = await (await connect(context)).codingListSessions(input, { output: listOutputSchema });
  const [newest] = sessions;
  if (newest === undefined) return "";
  const running = total === 1 ? "1 session is" : `${total} sessions are`;
  return ` By default, sessions are saved to memory when they end, and ${running} running. To save one now: \`postern memory record ${plainLine(newest.sessionId)}\`.`;
}

export function entryTable(logs: readonly LogEntry[]): string {
  const rows = logs.map(({ logId, observedAt, source, status, sessionId, title }) => [
    observedAt,
    logId,
    status === "ready" ? source : `${source}, ${status}`,
    sessionId ?? "-",
    title ?? "(no title)",
  ]);
  return table(["TIME", "ENTRY", "SOURCE", "SESSION", "TITLE"], rows);
}

export function hitText({ log, snippet }: LogHit, mark: (text: string) => string): string {
  const facts = [log.logId, log.observedAt, ...(log.sessionId === null ? [log.source] : [log.sessionId])];
  return [
    mark(plainLine(log.title ?? "(no title)")),
    `  ${facts.map(plainLine).join(" · ")}`,
    `  ${mark(plainLine(snippet))}`,
  ].join("\n");
}

export function factTable({ facts }: Pick<FactPage, "facts">): string {
  const rows = facts.map((fact) => [
    fact.validFrom,
    fact.validTo ?? "now",
    thing(fact.subject),
    fact.predicate,
    objectText(fact),
    fact.logId,
  ]);
  return table(["SINCE", "UNTIL", "SUBJECT", "PREDICATE", "OBJECT", "ENTRY"], rows);
}

/** An entry with the facts extracted from it. */
export function detailText(log: LogDetail): string {
  const head = [
    plainLine(log.title ?? "(no title)"),
    `Entry: ${plainLine(log.logId)} · ${log.source} · ${log.status}${log.failure === null ? "" : ` (${plainLine(log.failure)})`}`,
    ...(log.sessionId === null ? [] : [`Session: ${plainLine(log.sessionId)}`]),
    ...(log.dir === null ? [] : [`Directory: ${plainLine(log.dir)}`]),
    `Happened: ${log.observedAt} · Recorded: ${log.recordedAt}`,
  ].join("\n");
  const body = log.turns === null ? plainText(log.content ?? "") : log.turns.map(turnText).join("\n\n");
  return [head, body, ...(log.facts.length === 0 ? [] : [factTable(log)])].join("\n\n");
}

function objectText({ object, value }: LogFact): string {
  return object === null ? (value ?? "") : thing(object);
}

function thing({ type, key }: LogFact["subject"]): string {
  return `${type}:${key}`;
}
