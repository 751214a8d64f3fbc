import type { LogsDatabase } from "./logs-database.ts";
import type { TurnOwner } from "./recorded-turns.ts";

/** How far the recorder came. */
export interface RecordingMark {
  /** The last event that it is done with. */
  readonly eventId: string;
  /** When that was written down, milliseconds since the epoch. */
  readonly at: number;
}

const name = "recorder";

/** Null when nothing was ever recorded by itself, or that was switched off since. */
export async function recordingMark({ db }: LogsDatabase): Promise<RecordingMark | null> {
  const row = await db.selectFrom("log_marks").selectAll().where("name", "=", name).executeTakeFirst();
  return row === undefined ? null : { eventId: row.event_id, at: row.at };
}

/** @see recordingMark */
export async function saveRecordingMark({ db }: LogsDatabase, mark: RecordingMark | null): Promise<void> {
  if (mark === null) {
    await db.deleteFrom("log_marks").where("name", "=", name).execute();
    return;
  }
  const { eventId: event_id, at } = mark;
  await db
    .insertInto("log_marks")
    .values({ name, event_id, at })
    .onConflict((conflict) => conflict.column("name").doUpdateSet({ event_id, at }))
    .execute();
}

/** The turn behind the last one that was recorded, or deleted and shall not come back. */
export async function nextTurn({ db }: LogsDatabase, { accountId, names }: TurnOwner): Promise<number> {
  const recorded = await db
    .selectFrom("log_turns")
    .select("turn_index")
    .where("account_id", "=", accountId)
    .where("session_id", "in", names)
    .orderBy("turn_index", "desc")
    .limit(1)
    .executeTakeFirst();
  const suppressed = await db
    .selectFrom("log_suppressions")
    .select("last_turn")
    .where("account_id", "=", accountId)
    .where("session_id", "in", names)
    .orderBy("last_turn", "desc")
    .limit(1)
    .executeTakeFirst();
  return Math.max(recorded?.turn_index ?? -1, suppressed?.last_turn ?? -1) + 1;
}
