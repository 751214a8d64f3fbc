import { once } from "node:events";
import { open, stat } from "node:fs/promises";
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { type Kysely, sql } from "kysely";
import { z } from "zod";
import type { Tables } from "./schema.ts";

/** 16 MB in pages of 4 KiB. A page that many transactions wrote is then copied back only once. */
export const pagesBetweenCheckpoints = 4_096;
/** SQLite's default. */
const pageBytes = 4_096;
/** Applies from a large transaction until the journal is emptied: the commit need not copy pages, and the journal stays bounded. */
const pagesOfLargeTransaction = 16 * pagesBetweenCheckpoints;
/** Copying this much back takes a few milliseconds; starting a thread takes fifty. */
const smallBytes = 1024 * 1024;
/** Far longer than copying the largest journal takes. */
const threadTimeoutMs = 60_000;

/** Makes a held connection's transactions durable only with the next durable commit. For work that is repeated if lost. */
export const durableLater = "pragma synchronous = normal";

/** SQLite's write-ahead log. */
export function createJournal(db: Kysely<Tables>) {
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
    if (file === "") return false; // in memory
    // Missing before the first write.
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
    thread.ref(); // keeps a command alive while it waits
    thread.postMessage("empty");
    try {
      const [answer] = z.tuple([z.object({ isEmpty: z.boolean() })]).parse(await answered);
      if (answer.isEmpty) await endThread();
      else thread.unref();
      return answer.isEmpty;
    } catch (error) {
      await endThread(); // the next call starts another
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
    /**
     * To be called at the end of a large transaction: syncs its pages to disk so that the commit is short, and leaves copying them back to
     * {@link empty}, which must be called even after a rollback.
     * @returns false if the transaction is small and needs no preparation
     */
    async prepare(within: Kysely<Tables>): Promise<boolean> {
      if (!(await isLarge(within))) return false;
      isPrepared = true;
      await sql`pragma wal_autocheckpoint = ${sql.lit(pagesOfLargeTransaction)}`.execute(within);
      await bringToDisk(`${await pathOf(within)}-wal`).catch(() => undefined); // the commit syncs too, and reports errors
      return true;
    },

    /** Whether the journal has reached the size at which it is copied back. */
    isFull: (): Promise<boolean> => isAbove(pagesBetweenCheckpoints * pageBytes, db),

    /** Copies the journal back and truncates it, in a thread if it is large. @returns false if a reader or writer prevents it */
    async empty(): Promise<boolean> {
      if (closing.signal.aborted) return false;
      const isEmpty = thread !== null || (await isLarge(db)) ? await emptyInThread() : await emptyHere();
      if (isEmpty && isPrepared) {
        isPrepared = false;
        await sql`pragma wal_autocheckpoint = ${sql.lit(pagesBetweenCheckpoints)}`.execute(db);
      }
      return isEmpty;
    },

    /** Idempotent. Cancels emptying. */
    async close(): Promise<void> {
      closing.abort();
      await endThread();
    },
  };
}

export type Journal = ReturnType<typeof createJournal>;

/** SQLite has no lock on this file that closing it could release. */
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
