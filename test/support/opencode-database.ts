import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** An event of a session's log, as OpenCode's database has it. */
export interface OpenCodeEvent {
  readonly id: string;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The log of a session that OpenCode 1.18.33 wrote: see `test/opencode`. */
export const recordedEvents: readonly OpenCodeEvent[] = readFileSync(
  join(import.meta.dirname, "../opencode/session-1.18.33.jsonl"),
  "utf8",
)
  .trimEnd()
  .split("\n")
  .map((line) => JSON.parse(line));

/** The id of {@link recordedEvents}' session. */
export const recordedSession = "ses_dfdeae7bffferW1Zx1jAq0nMyr";

/** A database as OpenCode 1.18 makes it, as far as it is read; stays open, as OpenCode's does. */
export interface OpenCodeDatabase {
  readonly path: string;
  /** Appends events to the log of a session, which appears with the first. */
  append(sessionId: string, events: readonly OpenCodeEvent[]): void;
  remove(sessionId: string): void;
  close(): void;
}

/** Makes an empty one in `folder`. */
export function createOpenCodeDatabase(folder: string): OpenCodeDatabase {
  const path = join(folder, "opencode.db");
  const db = new DatabaseSync(path);
  db.exec(`PRAGMA journal_mode = WAL;
    CREATE TABLE session (id TEXT PRIMARY KEY, time_updated INTEGER NOT NULL);
    CREATE TABLE event_sequence (aggregate_id TEXT PRIMARY KEY, seq INTEGER NOT NULL);
    CREATE TABLE event (id TEXT PRIMARY KEY, aggregate_id TEXT NOT NULL, seq INTEGER NOT NULL, type TEXT NOT NULL, data TEXT NOT NULL);
    CREATE UNIQUE INDEX event_aggregate_seq_idx ON event (aggregate_id, seq);`);
  return {
    path,
    append(sessionId, events) {
      const known = db.prepare("SELECT seq FROM event_sequence WHERE aggregate_id = ?").get(sessionId);
      let seq = Number(known?.["seq"] ?? -1);
      const insert = db.prepare("INSERT INTO event VALUES (?, ?, ?, ?, ?)");
      db.exec("BEGIN");
      for (const { id, type, data } of events) {
        seq += 1;
        insert.run(`${id}-${sessionId}`, sessionId, seq, type, JSON.stringify(data));
      }
      db.prepare("INSERT OR REPLACE INTO event_sequence VALUES (?, ?)").run(sessionId, seq);
      db.prepare("INSERT OR REPLACE INTO session VALUES (?, ?)").run(sessionId, Date.now() + seq);
      db.exec("COMMIT");
    },
    remove(sessionId) {
      for (const [table, column] of [
        ["event", "aggregate_id"],
        ["event_sequence", "aggregate_id"],
        ["session", "id"],
      ]) {
        db.prepare(`DELETE FROM ${table} WHERE ${column} = ?`).run(sessionId);
      }
    },
    close: () => db.close(),
  };
}
