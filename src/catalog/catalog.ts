import { transcriptFormat } from "../agents/transcript-formats.ts";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { createFolderWatch } from "../platform/folder-watch.ts";
import { type CatalogDatabase, type CatalogPlace, openCatalogReader } from "./catalog-database.ts";
import type { CatalogProgress } from "./catalog-indexer.ts";
import { createForgetting } from "./forgetting.ts";
import type { ForgottenSession, ForgottenSessions } from "./forgotten-sessions.ts";
import { createIndexingProcess, type IndexingReport } from "./indexing-process.ts";
import { type CatalogSource, pathKind } from "./transcript-walk.ts";

/**
 * All transcripts of all agents, indexed in the background. It belongs to what is on disk: dropped, it is built again. Questions are
 * answered from what is there, and {@link Catalog.indexing} says whether that is all.
 */
export interface Catalog {
  /** For reading; opened at the first call. @throws PosternError `store_unavailable` */
  database(): Promise<Omit<CatalogDatabase, "reset">>;
  /** Begins to index, and goes on while it is open. Idempotent; the first question does the same. */
  start(): void;
  /** Transcripts indexed of those found, until all are; then null. */
  indexing(): { readonly done: number; readonly total: number } | null;
  /** A moment of patience for a catalog that has nothing yet: until the first page of it, or this long. */
  firstPage(timeoutMs: number): Promise<void>;
  /** The file of a session's transcript, if it is indexed. Never throws: without a catalog nothing is. */
  find(sessionId: string, agent: string): Promise<string | null>;
  /**
   * Forgets what was said in this session until now, for good: a transcript that is still there is read without it. In the file of the
   * embedded store no trace is left.
   * @returns when it is noted in the store: from then on it is done by itself, also by the next gateway
   */
  forget(session: Omit<ForgottenSession, "at">): Promise<UnderWay>;
  /** Forgets everything and indexes again. Resolves when all is there. */
  rebuild(): Promise<void>;
  close(): Promise<void>;
}

/** A session that is being forgotten. */
export interface UnderWay {
  /** Never rejects. `pending` after five seconds, while a reader is in the way, or when there is no room: it is tried again. */
  readonly finished: Promise<"done" | "pending">;
}

/** What {@link createCatalog} needs. */
export interface CatalogDeps {
  readonly place: CatalogPlace;
  readonly sources: readonly CatalogSource[];
  readonly forgotten: ForgottenSessions;
  readonly clock: Clock;
  readonly log: Log;
}

/** Lines that are written together are read together. */
const settleMs = 200;
/** More changes than this at once, and everything is looked at instead. */
const maxChanges = 2_000;
/** So often every file is looked at, for what the kernel did not tell; 10,000 take a tenth of a second of another processor. */
const sweepMs = 5 * 60_000;
/** The same where the kernel does not tell everything. */
const frequentSweepMs = 60_000;
/** An agent that writes goes on writing: until it is quiet for this long, no new process for each line. */
const keepBusyMs = 20_000;
const keepIdleMs = 200;
const retryMinMs = 1_000;
const retryMaxMs = 60_000;

/** A catalog at rest: nothing is opened, started or watched yet. */
export function createCatalog(deps: CatalogDeps): Catalog {
  const { place, sources, clock, log } = deps;
  const changes = new Set<string>();
  /** For each source in a database, whether its journal was written. */
  const journals = new Map(
    sources.flatMap((source) => {
      const { database: stored } = transcriptFormat(source.format);
      return source.inDatabase === true && stored !== undefined ? [[source, stored.createJournalNews()]] : [];
    }),
  );
  /** The next full task, if one is due. */
  let due: "sweep" | "rebuild" | null = null;
  let working = false;
  let started = false;
  let closed = false;
  /** Whether everything was looked at since the start, or since a rebuild began. */
  let complete = false;
  let progress: CatalogProgress = { done: 0, total: 0, unreadable: 0, readBytes: 0 };
  let retryMs = retryMinMs;
  let opened: ReturnType<typeof openCatalogReader> | null = null;
  let cancelSettle: (() => void) | null = null;
  let cancelSweep: (() => void) | null = null;
  let waiters: (() => void)[] = [];
  const rebuilds: { resolve(): void; reject(error: unknown): void }[] = [];

  const watch = createFolderWatch({ log, onChange });
  const forgetting = createForgetting({ store: deps.forgotten, clock, log, wake: work });
  const worker = createIndexingProcess({
    order: () => ({ place, sources, forgotten: forgetting.all() }),
    clock,
    log,
    onProgress(news) {
      progress = news;
      if (news.done > 0) wake();
    },
    onFolders: (paths) => {
      // What was written after a folder was looked at and before it is watched shows in another look.
      for (const path of paths) if (watch.add(path)) onChange(path);
    },
  });

  function wake(): void {
    const woken = waiters;
    waiters = [];
    for (const waiter of woken) waiter();
  }

  function onChange(path: string): void {
    const source = sources.find((one) => pathKind(one, path) !== null);
    if (source === undefined || (path.endsWith("-wal") && journals.get(source)?.(path) === false)) return;
    if (changes.size >= maxChanges) due ??= "sweep";
    else changes.add(path);
    cancelSettle ??= clock.after(settleMs, () => {
      cancelSettle = null;
      work();
    });
  }

  function sweepLater(): void {
    cancelSweep?.();
    cancelSweep = clock.after(watch.isComplete() ? sweepMs : frequentSweepMs, () => {
      due ??= "sweep";
      work();
    });
  }

  /** Does what is due, one thing after another. */
  function work(): void {
    if (working || closed) return;
    working = true;
    void workOff();
  }

  async function workOff(): Promise<void> {
    for (;;) {
      const kind = due;
      const paths = [...changes];
      const isDue = kind !== null || paths.length > 0;
      if (closed || !(isDue || forgetting.isDue)) break;
      due = null;
      changes.clear();
      try {
        // Another connection must not find the catalog half made, and the process must know what was forgotten.
        await database();
        await forgetting.load();
        if (forgetting.isDue) await forgetDue();
        if (isDue) await index(kind, paths);
        retryMs = retryMinMs;
      } catch (error) {
        if (closed) break;
        log.error({ reason: messageOf(error) }, "indexing transcripts failed and begins again later");
        due = kind ?? "sweep";
        cancelSettle?.();
        cancelSettle = clock.after(retryMs, () => {
          cancelSettle = null;
          work();
        });
        retryMs = Math.min(retryMaxMs, retryMs * 2);
        break;
      }
      worker.rest({ keepMs: kind === null ? keepBusyMs : keepIdleMs });
    }
    working = false; // at once, so that nothing that comes due now is overlooked
  }

  /** Never throws, and tries again by itself: where there is no room for it, transcripts are still looked at. */
  async function forgetDue(): Promise<void> {
    const gone = forgetting.take();
    try {
      if (gone.length > 0) {
        progress = await worker.run({ kind: "forget", sessions: gone });
        forgetting.rewritten(gone);
      }
      if (!forgetting.isJournalDue) return;
      const { isHeldUp } = await worker.run({ kind: "empty" });
      if (isHeldUp) forgetting.heldUp();
      else await forgetting.emptied();
    } catch (error) {
      if (closed) return;
      log.error(
        { reason: messageOf(error) },
        "what was forgotten could not be erased from the catalog and is tried again later",
      );
      forgetting.failed(gone);
    }
  }

  async function index(kind: "sweep" | "rebuild" | null, paths: readonly string[]): Promise<void> {
    const startedAt = performance.now();
    const report = await worker.run(kind === null ? { kind: "look", paths } : { kind });
    progress = report;
    if (kind !== null) onIndexed(kind, report, performance.now() - startedAt);
  }

  function onIndexed(kind: "sweep" | "rebuild", report: IndexingReport, durationMs: number): void {
    const fields = { ...report, durationMs: Math.round(durationMs) };
    if (complete && kind === "sweep") log.debug(fields, "looked at all transcripts");
    else log.info(fields, "all transcripts are indexed");
    complete = true;
    if (kind === "rebuild") for (const { resolve } of rebuilds.splice(0)) resolve();
    wake();
    sweepLater();
  }

  function database(): ReturnType<typeof openCatalogReader> {
    opened ??= openCatalogReader(place, log).catch((error: unknown) => {
      opened = null; // the next question tries again
      throw error;
    });
    return opened;
  }

  function start(): void {
    if (started || closed) return;
    started = true;
    for (const { root } of sources) watch.add(root);
    due = "sweep";
    work();
  }

  return {
    database,
    start,
    indexing() {
      start();
      return complete ? null : { done: progress.done, total: progress.total };
    },
    async firstPage(timeoutMs) {
      start();
      if (complete || progress.done > 0) return;
      const { db } = await database();
      const row = await db.selectFrom("transcripts").select("transcript_id").limit(1).executeTakeFirst();
      if (row !== undefined) return;
      await new Promise<void>((resolve) => {
        const cancel = clock.after(timeoutMs, resolve);
        waiters.push(() => {
          cancel();
          resolve();
        });
      });
    },
    async find(sessionId, agent) {
      try {
        const { db } = await database();
        const row = await db
          .selectFrom("transcripts")
          .select("path")
          .where("session_id", "=", sessionId)
          .where("agent", "=", agent)
          .where("listed", "=", 1)
          .executeTakeFirst();
        return row?.path ?? null;
      } catch (error) {
        log.warn({ reason: messageOf(error) }, "the catalog of transcripts cannot be asked");
        return null;
      }
    },
    async forget(session) {
      const forgotten = await forgetting.add(session);
      const finished = forgetting.finished(forgotten);
      work();
      return { finished };
    },
    rebuild() {
      started = true;
      complete = false;
      due = "rebuild";
      const done = new Promise<void>((resolve, reject) => rebuilds.push({ resolve, reject }));
      work();
      return done;
    },
    async close() {
      closed = true;
      cancelSettle?.();
      cancelSweep?.();
      forgetting.close();
      watch.close();
      wake();
      await worker.close();
      for (const { reject } of rebuilds.splice(0)) reject(new Error("The catalog was closed."));
      const reader = await opened?.catch(() => null); // who asked for it was told
      await reader?.close();
    },
  };
}
