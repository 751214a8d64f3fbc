import { type Stats, statSync } from "node:fs";
import { basename, dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { isErrno, PosternError } from "../../core/errors.ts";
import type { FileStamp, LineSource, StoredSession, TranscriptDatabase } from "../../transcripts/index.ts";
import { type LineSink, maxLineBytes } from "../../transcripts/index.ts";

/**
 * OpenCode keeps all sessions in one SQLite file, each as an append-only log of events, numbered from 0. That log is the session's
 * transcript, with an event per line, at the path `<database>/<session id>`. This pattern matches such an id.
 */
export const sessionName = /^ses_[0-9A-Za-z]{1,80}$/;
/** Other release channels have other database names. */
export const databaseName = /^opencode(?:-[\w.-]+)?\.db$/;

/**
 * An event's offset is its number times this value, which is about the size of an event. So no earlier event is read to find an offset, and windows
 * measured in bytes work well enough.
 */
export const eventAddressBytes = 4_096;
/** Events per fetch; events of a busy agent have a few kilobytes each. */
const fetchEvents = 64;
/** Bytes per fetch, except for a single larger event. */
const fetchBytes = 1024 * 1024;
/** OpenCode's transactions are short. */
const busyMs = 2_000;

/** The database and session of a transcript's path; null for a file. */
function databaseOf(path: string): { readonly database: string; readonly sessionId: string } | null {
  const [database, sessionId] = [dirname(path), basename(path)];
  return databaseName.test(basename(database)) && sessionName.test(sessionId) ? { database, sessionId } : null;
}

/** The file to watch: each transaction is written here first. */
export function journalOf(database: string): string {
  return `${database}-wal`;
}

/** Two writes within this time may leave the journal with the same timestamp. */
const stampMs = 250;

/**
 * Returns a function that says whether a journal was written since the last call. As root, even reading changes it: SQLite restores its owner.
 * Watching that change without this check would never end.
 */
export function createJournalNews(): (journal: string) => boolean {
  const stamps = new Map<string, string>();
  return (journal) => {
    const found = statOf(journal);
    const stamp = found === null ? "" : `${found.ino} ${found.size} ${found.mtimeMs}`;
    if (stamps.get(journal) === stamp && Date.now() - (found?.mtimeMs ?? 0) > stampMs) return false;
    if (stamps.size >= maxJournals) stamps.clear();
    stamps.set(journal, stamp);
    return true;
  };
}

// One per release channel.
const maxJournals = 20;

const sessionsQuery = `SELECT session.id AS id, event_sequence.seq AS seq, session.time_updated AS updatedAt
  FROM session JOIN event_sequence ON event_sequence.aggregate_id = session.id`;

/**
 * The sessions of a database that have a log, in any order; sessions of older versions have none. Null if the database does not exist or cannot
 * be read.
 */
export function sessionsIn(database: string): readonly StoredSession[] | null {
  return withDatabase(database, (db) => {
    const sessions: StoredSession[] = [];
    for (const row of db.prepare(sessionsQuery).iterate()) {
      const session = sessionOf(row);
      if (session !== null) sessions.push(session);
    }
    return sessions;
  });
}

/** One session of a database, or null. */
export function sessionIn(database: string, sessionId: string): StoredSession | null {
  return withDatabase(database, (db) => sessionFrom(db, sessionId));
}

function sessionFrom(db: DatabaseSync, sessionId: string): StoredSession | null {
  const row = db.prepare(`${sessionsQuery} WHERE session.id = ?`).get(sessionId);
  return row === undefined ? null : sessionOf(row);
}

function sessionOf({ id, seq, updatedAt }: Readonly<Record<string, unknown>>): StoredSession | null {
  if (typeof id !== "string" || typeof seq !== "number" || typeof updatedAt !== "number") return null;
  return sessionName.test(id) ? { sessionId: id, events: seq + 1, updatedAt } : null;
}

/** Identifies the file without opening it: closing a file drops SQLite's locks on it in this process. */
function databaseFile(database: string): { readonly dev: number; readonly ino: number } | null {
  return statOf(database);
}

function statOf(path: string): Stats | null {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    return found?.isFile() === true ? found : null;
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR", "EACCES", "ELOOP", "ENAMETOOLONG")) return null;
    throw error;
  }
}

function open(database: string): DatabaseSync | null {
  if (databaseFile(database) === null) return null;
  try {
    return new DatabaseSync(database, { readOnly: true, timeout: busyMs });
  } catch {
    return null; // gone or unreadable: no sessions
  }
}

function withDatabase<T>(database: string, use: (db: DatabaseSync) => T): T | null {
  const db = open(database);
  if (db === null) return null;
  try {
    return use(db);
  } catch {
    return null; // another program's database, or another schema
  } finally {
    db.close();
  }
}

/** Leaves room in a line for everything except the event's data. */
const maxDataBytes = maxLineBytes - 1_024;

const eventsQuery = `SELECT seq, type, CASE WHEN octet_length(data) <= ${maxDataBytes} THEN data END AS data,
    coalesce(json_extract(data, '$.time'), json_extract(data, '$.info.time.completed'),
      json_extract(data, '$.info.time.created')) AS at
  FROM event WHERE aggregate_id = ? AND seq >= ? AND seq < ? ORDER BY seq LIMIT ${fetchEvents}`;

/**
 * A session's log as lines. The database stays open until `close`.
 * @returns null if there is no such session
 * @throws PosternError `transcript_unreadable`
 */
export async function openEventSource(path: string): Promise<LineSource | null> {
  const place = databaseOf(path);
  const file = place === null ? null : databaseFile(place.database);
  const db = place === null ? null : open(place.database);
  if (place === null || file === null || db === null) {
    db?.close();
    return null;
  }
  try {
    const session = sessionFrom(db, place.sessionId);
    if (session !== null) return sourceOf(db, session, stampOf(file, session));
  } catch (error) {
    db.close();
    throw new PosternError("transcript_unreadable", `Cannot read the transcript ${path}.`, { cause: error });
  }
  db.close();
  return null;
}

/** The session's stamp, in the form of a file's stamp. */
export function stampOf(
  file: { readonly dev: number; readonly ino: number },
  { events, updatedAt }: StoredSession,
): FileStamp {
  return { ...file, sizeBytes: events * eventAddressBytes, modifiedMs: updatedAt };
}

function sourceOf(db: DatabaseSync, { sessionId, events }: StoredSession, stamp: FileStamp): LineSource {
  const select = db.prepare(eventsQuery);
  const identity = db.prepare("SELECT id FROM event WHERE aggregate_id = ? AND seq = ?");
  let isOpen = true;

  /** Passes on the events of one fetch. @returns the number of the next event, or null */
  function fetch(from: number, to: number, sink: LineSink): number | null {
    let next: number | null = null;
    let bytes = 0;
    for (const { seq, type, data, at } of select.iterate(sessionId, from, to)) {
      if (typeof seq !== "number") continue;
      const offset = seq * eventAddressBytes;
      if (typeof type !== "string" || typeof data !== "string") sink.skipped(offset);
      else sink.line(lineOf(type, at, data), offset);
      next = seq + 1;
      bytes += typeof data === "string" ? data.length : 0;
      if (bytes > fetchBytes) break;
    }
    sink.pause();
    return next;
  }

  return {
    stamp,
    seekable: true,
    async lines(from, to, sink) {
      const end = Math.min(events, Math.ceil((to ?? stamp.sizeBytes) / eventAddressBytes));
      let next = Math.ceil(from.offset / eventAddressBytes);
      while (next < end) {
        const reached = fetch(next, end, sink);
        if (reached === null)
          next = end; // the session was deleted in the meantime
        else next = reached;
        if (next < end) await setImmediate(); // the database calls are synchronous
      }
      return { offset: Math.max(from.offset, next * eventAddressBytes), insideTooLong: false };
    },
    // An event is recognized by its id.
    async bytes(start, length) {
      const row = identity.get(sessionId, Math.floor(start / eventAddressBytes));
      const id = row?.["id"];
      return Buffer.from(typeof id === "string" ? id : "").subarray(0, length);
    },
    async close() {
      if (isOpen) db.close();
      isOpen = false;
    },
  };
}

/** `timestamp` is the first field: it determines which lines were written before a session was forgotten. */
function lineOf(type: string, at: unknown, data: string): Buffer {
  const time = typeof at === "number" && Math.abs(at) < 8.64e15 ? new Date(at).toISOString() : null;
  return Buffer.from(`{"type":${JSON.stringify(type)},"timestamp":${JSON.stringify(time)},"data":${data}}`);
}

/** OpenCode's database, for the catalog and the readers. */
export const openCodeDatabase: TranscriptDatabase = {
  sessionAt: databaseOf,
  fileOf: databaseFile,
  sessionsIn,
  sessionIn,
  stampOf,
  open: openEventSource,
  journalOf,
  createJournalNews,
};
