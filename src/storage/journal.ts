import { once } from "node:events";
import { open, stat } from "node:fs/promises";
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { type Kysely, sql } from "kysely";
import { z } from "zod";
import type { Tables } from "./schema.ts";

/** Pages of 4 KiB are copied back when there are so many, 16 MB: what many transactions wrote into the same page is copied once. */
export const pagesBetweenCheckpoints = 4_096;
/** SQLite's own, of a new store. */
const pageBytes = 4_096;
/** After a large transaction, until it was emptied: enough that its end does not copy, and still a bound. */
const pagesOfLargeTransaction = 16 * pagesBetweenCheckpoints;
/** Copying so much back takes some milliseconds; a thread of its own takes fifty to start. */
const smallBytes = 1024 * 1024;
/** Far longer than it takes to copy the largest. */
const threadTimeoutMs = 60_000;

/**
 * Asked of a connection that is kept for more than a statement, this holds for that connection alone: transactions are not brought to the disk
 * when they end, but with the next one of others. For work that is done again when it is lost.
 */
export const durableLater = "pragma synchronous = normal";

/** SQLite's write-ahead log: what was changed, until it is copied into the store's file. */
export interface Journal {
  /**
   * At the end of a transaction that wrote much: what it wrote so far goes to the disk beside others' work, so that its end has little left
   * to wait for, and it is not copied back by its end but by {@link empty}, which is to be called also when it came to nothing.
   * @returns false when it did not write much: there is nothing to prepare
   */
  prepare(within: Kysely<Tables>): Promise<boolean>;
  /** Whether it is as large as it is to become between two times that it is copied back. */
  isFull(): Promise<boolean>;
  /** Copies it back and cuts it to nothing; what is large in a thread. @returns false when a reader or writer is in the way */
  empty(): Promise<boolean>;
  /** Idempotent. What is being emptied is given up, and nothing is emptied any more. */
  close(): Promise<void>;
}

/** @see Journal */
export function createJournal(db: Kysely<Tables>): Journal {
  let path: string | null = null;
  let thread: Worker | null = null;
  let isPrepared = false;
  const closing = new AbortController();

  async function pathOf(on: Kysely<Tables>): Promise<string> {
    path ??= (await sql<{ name: string; file: string }>`pragma database_list`.execute(on)).rows[0]?.file ?? "";
    return path;
  }

  async function isAbove(bytes: number, on: Kysely<Tables>): Promise<boolean> {
    const file = await pathOf(on);
    if (file === "") return false; // it is in memory
    // Not there before the first write.
    const size = await stat(`${file}-wal`).then(
      (found) => found.size,
      () => 0,
    );
    return size > bytes;
  }
  const isLarge = (on: Kysely<Tables>): Promise<boolean> => isAbove(smallBytes, on);

  async function emptyInThread(): Promise<boolean> {
    const file = await pathOf(db);
    if (closing.signal.aborted) return false;
    thread ??= startThread(file);
    const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(threadTimeoutMs)]);
    const answered = once(thread, "message", { signal });
    thread.ref(); // a command does not end while it waits for this
    thread.postMessage("empty");
    try {
      const [answer] = z.tuple([z.object({ isEmpty: z.boolean() })]).parse(await answered);
      if (answer.isEmpty) await endThread();
      else thread.unref();
      return answer.isEmpty;
    } catch (error) {
      await endThread(); // the next call begins with another
      if (closing.signal.aborted) return false;
      throw error;
    }
  }

  async function emptyHere(): Promise<boolean> {
    const { rows } = await sql<{ busy: number }>`pragma wal_checkpoint(truncate)`.execute(db);
    return rows[0]?.busy === 0;
  }

  async function endThread(): Promise<void> {
    const ended = thread;
    thread = null;
    await ended?.terminate();
  }

  return {
    async prepare(within) {
      if (!(await isLarge(within))) return false;
      isPrepared = true;
      await sql`pragma wal_autocheckpoint = ${sql.lit(pagesOfLargeTransaction)}`.execute(within);
      await bringToDisk(`${await pathOf(within)}-wal`).catch(() => undefined); // its end does it, or tells why it cannot
      return true;
    },

    isFull: () => isAbove(pagesBetweenCheckpoints * pageBytes, db),

    async empty() {
      if (closing.signal.aborted) return false;
      const isEmpty = thread !== null || (await isLarge(db)) ? await emptyInThread() : await emptyHere();
      if (isEmpty && isPrepared) {
        isPrepared = false;
        await sql`pragma wal_autocheckpoint = ${sql.lit(pagesBetweenCheckpoints)}`.execute(db);
      }
      return isEmpty;
    },

    async close() {
      closing.abort();
      await endThread();
    },
  };
}

/** SQLite holds no lock on this file that closing it could drop. */
async function bringToDisk(path: string): Promise<void> {
  const file = await open(path, "r");
  try {
    await file.datasync();
  } finally {
    await file.close();
  }
}

function startThread(path: string): Worker {
  const here = import.meta.url;
  return new Worker(new URL(`./journal-worker${extname(here)}`, here), { workerData: { path } });
}
