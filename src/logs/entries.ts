import { randomBytes } from "node:crypto";
import { type Selectable, sql } from "kysely";
import { z } from "zod";
import { isoTime } from "../core/clock.ts";
import type { Tables } from "../storage/schema.ts";
import type { ListLogsInput, LogDetail, LogEntity, LogEntry, LogPage } from "../wire/logs.ts";
import { turnSchema } from "../wire/turn.ts";
import { cursorText, pageOf, readCursor } from "./cursor.ts";
import { logNotFound } from "./errors.ts";
import { findFacts } from "./facts.ts";
import { type LogsDatabase, logsQuery, numbersIn } from "./logs-database.ts";
import type { NamesOf } from "./ports.ts";
import type { LogBody, LogContext } from "./rules.ts";
import { entryFilterFor, isVisible, matchesEntry, type VisibilityFilter } from "./visibility-filter.ts";

export type LogRow = Selectable<Tables["log_entries"]>;

const contextSchema = z.object({
  agent: z.string().nullable(),
  repository: z.string().nullable(),
  branch: z.string().nullable(),
  cwd: z.string().nullish(),
  worktree: z.string().nullish(),
});

/** Columns shown in lists. */
export const entryColumns = [
  ...(["log_id", "source", "session_id", "dir", "title", "status", "failure", "observed_at", "recorded_at"] as const),
] as const;

export type EntryRow = Pick<LogRow, (typeof entryColumns)[number]>;

export function toEntry(row: EntryRow): LogEntry {
  return {
    logId: row.log_id,
    source: row.source,
    sessionId: row.session_id,
    dir: row.dir,
    title: row.title,
    status: row.status,
    failure: row.failure,
    observedAt: isoTime(row.observed_at),
    recordedAt: isoTime(row.recorded_at),
  };
}

export function bodyOfRow({ form, content }: Pick<LogRow, "form" | "content">): LogBody {
  return form === "text" ? { form, text: content } : { form, turns: z.array(turnSchema).parse(JSON.parse(content)) };
}

export function contextOfRow({ context }: Pick<LogRow, "context">): LogContext {
  return contextSchema.parse(JSON.parse(context));
}

/** The body as stored in its row. */
export function contentOf(body: LogBody): string {
  return body.form === "text" ? body.text : JSON.stringify(body.turns);
}

/** Makes entry ids that sort by creation, even within a millisecond and when the clock is set back. */
export function createLogIds(): (epochMs: number) => string {
  let last = 0;
  let count = 0;
  return (epochMs) => {
    count = epochMs > last ? 0 : count + 1;
    last = Math.max(last, epochMs);
    return `${last.toString(16).padStart(12, "0")}${count.toString(16).padStart(6, "0")}${randomBytes(7).toString("hex")}`;
  };
}

const columns = [
  ...(["log_id", "account_id", "source", "session_id", "dir", "title", "form", "content", "context"] as const),
  ...(["observed_at", "recorded_at", "status", "failure", "key_hash", "request_hash"] as const),
] as const;
const addEntry = logsQuery<LogRow>(
  (_dialect, slot) => sql`insert into log_entries (${sql.join(columns.map((column) => sql.ref(column)))})
    values (${sql.join(columns.map((column) => slot(column)))})`,
);
const addTurns = logsQuery<{ account_id: string; session_id: string; log_id: string; turns: string }>(
  (dialect, slot) => sql`insert into log_turns (account_id, session_id, turn_index, log_id)
    select ${slot("account_id")}, ${slot("session_id")}, item.value, ${slot("log_id")} from ${numbersIn(dialect, slot("turns"))} as item`,
);

/** Writes an entry's row and the session turns it holds. */
export async function insertEntry(on: LogsDatabase, row: LogRow, turns: readonly number[]): Promise<void> {
  await addEntry(on, row);
  const { account_id, session_id, log_id } = row;
  if (turns.length === 0 || session_id === null) return;
  await addTurns(on, { account_id, session_id, log_id, turns: JSON.stringify(turns) });
}

/** Finds a visible entry. The query is the same whether the entry is missing, hidden or belongs to another account. */
export async function findRow(on: LogsDatabase, visibility: VisibilityFilter, logId: string): Promise<LogRow | null> {
  const row = await on.db
    .selectFrom("log_entries")
    .selectAll()
    .where("log_id", "=", logId)
    .where("account_id", "=", visibility.accountId)
    .where(isVisible(on, visibility))
    .executeTakeFirst();
  return row ?? null;
}

const defaultLimit = 50;
/** The last entry's time and id. */
const placeSchema = z.tuple([z.int(), cursorText]);

/** Visible entries, newest first. @throws PosternError `invalid_request` for a bad cursor */
export async function listLogs(
  on: LogsDatabase & { readonly namesOf: NamesOf },
  visibility: VisibilityFilter,
  { limit = defaultLimit, cursor, ...filter }: ListLogsInput,
): Promise<LogPage> {
  const entries = await entryFilterFor(on, visibility, filter);
  const before = cursor === undefined ? null : readCursor(cursor, placeSchema);
  const rows = await on.db
    .selectFrom("log_entries")
    .select(entryColumns)
    .where("account_id", "=", visibility.accountId)
    .where(matchesEntry(on, entries))
    .$if(before !== null, (query) =>
      query.where(sql<boolean>`(observed_at, log_id) < (cast(${before?.[0]} as bigint), ${before?.[1]})`),
    )
    .orderBy("observed_at", "desc")
    .orderBy("log_id", "desc")
    .limit(limit + 1)
    .execute();
  const { page, nextCursor } = pageOf(rows, limit, (last) => [last.observed_at, last.log_id]);
  return { logs: page.map(toEntry), nextCursor };
}

const maxFacts = 1_000;

/** An entry with its derived facts and entities. @throws PosternError `log_not_found` */
export async function readLog(on: LogsDatabase, visibility: VisibilityFilter, logId: string): Promise<LogDetail> {
  const row = await findRow(on, visibility, logId);
  if (row === null) throw logNotFound();
  const episode = await on.db
    .selectFrom("episodes")
    .select(({ selectFrom }) => [
      "characters",
      selectFrom("log_chunks")
        .select(({ fn }) => fn.countAll<number>().as("chunks"))
        .whereRef("log_chunks.log_id", "=", "episodes.log_id")
        .as("chunks"),
    ])
    .where("log_id", "=", logId)
    .where("account_id", "=", visibility.accountId)
    .executeTakeFirst();
  const { facts } = await findFacts(on, visibility, { logId, limit: maxFacts });
  const entities = new Map<string, LogEntity>();
  for (const { subject, object } of facts) {
    for (const entity of object === null ? [subject] : [subject, object]) entities.set(entity.entityId, entity);
  }
  const body = bodyOfRow(row);
  return {
    ...toEntry(row),
    content: body.form === "text" ? body.text : null,
    turns: body.form === "turns" ? [...body.turns] : null,
    episode: episode === undefined ? null : { characters: episode.characters, chunks: episode.chunks ?? 0 },
    facts,
    entities: [...entities.values()],
  };
}
