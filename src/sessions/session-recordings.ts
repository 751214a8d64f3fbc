import type { Kysely } from "kysely";
import { newUuid } from "../core/ids.ts";
import type { Tables } from "../storage/schema.ts";

/** A time that a terminal showed a session. */
export interface SessionRecording {
  readonly recordingId: string;
  readonly terminalId: string;
  readonly startedAt: number;
  /** When the terminal continued with another session; null if it shows this session until its end. */
  readonly endedAt: number | null;
}

/** A terminal shows the session from `at` on. */
export async function beginRecording(
  on: Kysely<Tables>,
  { sessionId, terminalId, at }: { readonly sessionId: string; readonly terminalId: string; readonly at: number },
): Promise<void> {
  await on
    .insertInto("recordings")
    .values({ recording_id: newUuid(), terminal_id: terminalId, session_id: sessionId, started_at: at, ended_at: null })
    .execute();
}

/** A terminal continues with another session. */
export async function endRecording(
  on: Kysely<Tables>,
  { terminalId, at }: { readonly terminalId: string; readonly at: number },
): Promise<void> {
  await on
    .updateTable("recordings")
    .set({ ended_at: at })
    .where("terminal_id", "=", terminalId)
    .where("ended_at", "is", null)
    .execute();
}

/** Every time that a terminal showed the session, oldest first. */
export async function recordingsOf(on: Kysely<Tables>, sessionId: string): Promise<readonly SessionRecording[]> {
  const rows = await on
    .selectFrom("recordings")
    .selectAll()
    .where("session_id", "=", sessionId)
    .orderBy("started_at")
    .orderBy("recording_id")
    .execute();
  return rows.map((row) => ({
    recordingId: row.recording_id,
    terminalId: row.terminal_id,
    startedAt: row.started_at,
    endedAt: row.ended_at,
  }));
}

/** The terminals that showed this session and no other. */
export async function terminalsOfOnly(on: Kysely<Tables>, sessionId: string): Promise<readonly string[]> {
  const rows = await on
    .selectFrom("recordings")
    .select("terminal_id")
    .groupBy("terminal_id")
    .having((having) =>
      having.and([
        having(having.fn.min("session_id"), "=", sessionId),
        having(having.fn.max("session_id"), "=", sessionId),
      ]),
    )
    .where("terminal_id", "in", (from) =>
      from.selectFrom("recordings").select("terminal_id").where("session_id", "=", sessionId),
    )
    .execute();
  return rows.map(({ terminal_id }) => terminal_id);
}

/** Forgets that terminals showed the session. */
export async function dropRecordings(on: Kysely<Tables>, sessionId: string): Promise<void> {
  await on.deleteFrom("recordings").where("session_id", "=", sessionId).execute();
}
