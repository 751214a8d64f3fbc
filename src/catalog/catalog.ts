import { transcriptFormat } from "../agents/transcript-formats.ts";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { createFolderWatch } from "../platform/folder-watch.ts";
import { type CatalogDatabase, type CatalogPlace, openCatalogReader } from "./catalog-database.ts";
import type { CatalogProgress } from "./catalog-indexer.ts";
import { createForgetting, type ForgottenSession, type ForgottenSessions } from "./forgotten-sessions.ts";
import { createIndexingProcess, type IndexingReport } from "./indexing-process.ts";
import { type CatalogSource, pathKind } from "./transcript-walk.ts";

/**
 * All transcripts of all agents, indexed in the background. If dropped, it is rebuilt from disk. Queries return what is indexed so far;
 * {@link Catalog.indexing} shows whether that is everything.
 */
export interface Catalog {
  /** Opened for reading at the first call. @throws PosternError `store_unavailable` */
  database(): Promise<Omit<CatalogDatabase, "reset">>;
  /** Starts indexing, as the first query does. Idempotent. */
  start(): void;
  /** Indexed and found transcripts; null once all are indexed. */
  indexing(): { readonly done: number; readonly total: number } | null;
  /** Waits for the first page of an empty catalog, at most this long. */
  firstPage(timeoutMs: number): Promise<void>;
  /** A session's transcript file, if indexed. Never throws. */
  find(sessionId: string, agent: string): Promise<string | null>;
  /**
   * Permanently forgets this session's content so far; a remaining transcript is indexed without it. The embedded catalog's file keeps
   * no trace.
   * @returns once recorded in the store: it is then carried out even after a restart
   */
  forget(session: Omit<ForgottenSession, "at">): Promise<ForgetProgress>;
  /** Indexes everything again. Resolves when done. */
  rebuild(): Promise<void>;
  close(): Promise<void>;
}

/** A session being forgotten. */
export interface ForgetProgress {
  /** Never rejects. `pending` after five seconds or a failure; it is retried. */
  readonly finished: Promise<"done" | "pending">;
}

export interface CatalogDeps {
  readonly place: CatalogPlace;
  readonly sources: readonly CatalogSource[];
  readonly forgotten: ForgottenSessions;
  readonly clock: Clock;
  readonly log: Log;
}

/** Waits this long after a change, so that lines written together are read together. */
const settleMs = 200;
/** With more changes at once, everything is checked instead. */
const maxChanges = 2_000;
/** Interval of checks for changes the kernel did not report; 10,000 files take 100 ms in the indexing process. */
const sweepMs = 5 * 60_000;
/** The interval where the kernel does not report everything. */
const frequentSweepMs = 60_000;
/** Keeps the indexing process alive while an agent is writing, instead of starting a new one for each line. */
const keepBusyMs = 20_000;
const keepIdleMs = 200;
const retryMinMs = 1_000;
const retryMaxMs = 60_000;

export function createCatalog(deps: CatalogDeps): Catalog {
  const { place, sources, clock, log } = deps;
  const changes = new Set<string>();
  /** For each source in a database, detects writes to its journal. */
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
  /** Whether everything was checked since the start or a rebuild. */
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
      // Checks again for changes made between the walk and the start of the watch.
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

  /** Carries out due tasks in sequence. */
  function work(): void {
    if (working || closed) return;
    working = true;
    void runDueTasks();
  }

  async function runDueTasks(): Promise<void> {
    for (;;) {
      const kind = due;
      const paths = [...changes];
      const isDue = kind !== null || paths.length > 0;
      if (closed || !(isDue || forgetting.isDue)) break;
      due = null;
      changes.clear();
      try {
        // The tables must exist before the process opens them, and it must know what was forgotten.
        await database();
        await forgetting.load();
        if (forgetting.isDue) await forgetDue();
        if (isDue) await index(kind, paths);
        retryMs = retryMinMs;
      } catch (error) {
        if (closed) break;
        log.error({ reason: messageOf(error) }, "indexing transcripts failed; retrying later");
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
    working = false; // synchronously, so that no task that becomes due now is missed
  }

  /** Never throws, and retries later, so that transcripts are still indexed. */
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
      log.error({ reason: messageOf(error) }, "cannot erase forgotten sessions from the catalog; retrying later");
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
    if (complete && kind === "sweep") log.debug(fields, "checked all transcripts");
    else log.info(fields, "indexed all transcripts");
    complete = true;
    if (kind === "rebuild") for (const { resolve } of rebuilds.splice(0)) resolve();
    wake();
    sweepLater();
  }

  function database(): ReturnType<typeof openCatalogReader> {
    opened ??= openCatalogReader(place, log).catch((error: unknown) => {
      opened = null; // the next query tries again
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
        log.warn({ reason: messageOf(error) }, "cannot query the transcript catalog");
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
      const reader = await opened?.catch(() => null); // the caller got the error
      await reader?.close();
    },
  };
}
