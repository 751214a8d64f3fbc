import { randomBytes } from "node:crypto";
import { type Selectable, sql } from "kysely";
import { z } from "zod";
import { isoTime } from "../core/clock.ts";
import type { Tables } from "../storage/schema.ts";
import type { LogEntry } from "../wire/logs.ts";
import { turnSchema } from "../wire/turn.ts";
import { type LogsDatabase, numbersIn } from "./logs-database.ts";
import { logsQuery } from "./logs-query.ts";
import type { LogBody, LogContext } from "./rules.ts";
import { isVisible, type VisibilityFilter } from "./visibility-filter.ts";

/** A row of `log_entries`. */
export type LogRow = Selectable<Tables["log_entries"]>;

const contextSchema = z.object({
  agent: z.string().nullable(),
  repository: z.string().nullable(),
  branch: z.string().nullable(),
  cwd: z.string().nullish(),
  worktree: z.string().nullish(),
});

/** Columns of what a list shows. */
export const entryColumns = [
  ...(["log_id", "source", "session_id", "dir", "title", "status", "failure", "observed_at", "recorded_at"] as const),
] as const;

export type EntryRow = Pick<LogRow, (typeof entryColumns)[number]>;

/** A row as a list shows it. */
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

/** What an entry holds, out of its row. */
export function bodyOfRow({ form, content }: Pick<LogRow, "form" | "content">): LogBody {
  return form === "text" ? { form, text: content } : { form, turns: z.array(turnSchema).parse(JSON.parse(content)) };
}

export function contextOfRow({ context }: Pick<LogRow, "context">): LogContext {
  return contextSchema.parse(JSON.parse(context));
}

/** What a body is in its row. */
export function contentOf(body: LogBody): string {
  return body.form === "text" ? body.text : JSON.stringify(body.turns);
}

/** Ids of entries: they sort as they were made, also in the same millisecond and when the clock is set back. */
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

/** Writes the row of an entry, and which turns of a session it holds. */
export async function insertEntry(on: LogsDatabase, row: LogRow, turns: readonly number[]): Promise<void> {
  await addEntry(on, row);
  const { account_id, session_id, log_id } = row;
  if (turns.length === 0 || session_id === null) return;
  await addTurns(on, { account_id, session_id, log_id, turns: JSON.stringify(turns) });
}

/** An entry that is seen; null when there is none, it is another's or it is hidden: the store is asked the same in all three. */
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
