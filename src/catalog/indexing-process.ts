import { type ChildProcess, fork } from "node:child_process";
import { getCompileCacheDir } from "node:module";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import { signalChild } from "../platform/processes.ts";
import type { CatalogPlace } from "./catalog-database.ts";
import type { CatalogProgress } from "./catalog-indexer.ts";
import type { ForgottenSession } from "./forgotten-sessions.ts";
import type { CatalogSource } from "./transcript-walk.ts";

/** The result of a task. */
export interface IndexingReport extends CatalogProgress {
  /** Since the process started. */
  readonly peakRssBytes: number;
  /** Since the process started. */
  readonly cpuMs: number;
  /** A reader kept the journal from being emptied. */
  readonly isHeldUp: boolean;
}

interface IndexingProcessDeps {
  /** Called for each process. */
  readonly order: () => IndexingOrder;
  readonly clock: Clock;
  readonly log: Log;
  onProgress(progress: CatalogProgress): void;
  onFolders(paths: readonly string[]): void;
}

/** A process that takes longer to stop is killed. */
const stopMs = 2_000;
/** A leak ends this process, not the gateway. */
const maxHeapMb = 512;

interface Running {
  readonly child: ChildProcess;
  task: { resolve(report: IndexingReport): void; reject(error: Error): void } | null;
}

/** Module loaders of this process, for its child. */
function ownImports(): readonly string[] {
  const given = process.execArgv;
  return given.flatMap((argument, at) => (argument === "--import" ? [argument, given[at + 1] ?? ""] : []));
}

/**
 * A process that indexes while there is work. A thread would leave its memory to the gateway: 130 MB after a gigabyte of transcripts
 * (measured).
 */
export function createIndexingProcess(deps: IndexingProcessDeps) {
  const { clock, log } = deps;
  let running: Running | null = null;
  let cancelRest: (() => void) | null = null;
  let ending: Promise<void> = Promise.resolve();
  let closed = false;

  function start(): Running {
    const here = import.meta.url;
    const cache = getCompileCacheDir();
    const child = fork(fileURLToPath(new URL(`./catalog-worker${extname(here)}`, here)), [], {
      // Nothing of the gateway's environment: the store's URL comes by message.
      env: { MALLOC_ARENA_MAX: "2", ...(cache !== undefined && { NODE_COMPILE_CACHE: cache }) },
      execArgv: [...ownImports(), `--max-old-space-size=${maxHeapMb}`, "--max-semi-space-size=8"],
      serialization: "advanced", // keeps regular expressions
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    const started: Running = { child, task: null };
    const fail = (error: Error): void => {
      if (running === started) running = null;
      started.task?.reject(error);
      started.task = null;
    };
    child.on("message", (news: IndexingNews) => onNews(started, news));
    child.on("error", fail);
    child.on("exit", () => fail(new Error("The indexing process exited.")));
    send(child, deps.order());
    child.unref();
    child.channel?.unref();
    return started;
  }

  function onNews(from: Running, news: IndexingNews): void {
    switch (news.kind) {
      case "progress":
        return deps.onProgress(news.progress);
      case "folders":
        return deps.onFolders(news.paths);
      case "log":
        return log[news.level](news.fields, news.message);
      case "done":
        from.task?.resolve({
          ...news.progress,
          peakRssBytes: news.peakRssBytes,
          cpuMs: news.cpuMs,
          isHeldUp: news.isHeldUp,
        });
        from.task = null;
        return undefined;
      case "failed":
        from.task?.reject(new Error(news.reason));
        from.task = null;
        return undefined;
    }
  }

  function end(): void {
    cancelRest?.();
    cancelRest = null;
    const { child, task } = running ?? {};
    running = null;
    if (child === undefined) return;
    ending = new Promise((resolve) => {
      const cancel = clock.after(stopMs, () => void signalChild(child, "SIGKILL"));
      const gone = (): void => {
        cancel();
        resolve();
      };
      child.on("exit", gone);
      child.on("error", gone); // without a start there is no exit event
      // Stored data is consistent, so a running task can be killed.
      if (task === null || task === undefined) send(child, { kind: "stop" });
      else signalChild(child, "SIGKILL");
    });
  }

  return {
    /**
     * Runs one task at a time.
     * @throws if it fails or the process dies
     */
    async run(task: Exclude<IndexingTask, { kind: "stop" }>): Promise<IndexingReport> {
      cancelRest?.();
      cancelRest = null;
      await ending; // two processes must not write at once
      if (closed) throw new Error("The catalog is closed.");
      running ??= start();
      const mine = running;
      return new Promise((resolve, reject) => {
        mine.task = { resolve, reject };
        send(mine.child, task);
      });
    },
    /** Ends the process after `keepMs` without a task; the next task starts another. */
    rest({ keepMs }: { readonly keepMs: number }): void {
      cancelRest?.();
      cancelRest = clock.after(keepMs, end);
    },
    /** Idempotent. */
    async close(): Promise<void> {
      closed = true;
      end();
      await ending;
    },
  };
}

/** A message to a process that is gone is dropped: its exit is reported. */
function send(child: ChildProcess, message: IndexingOrder | IndexingTask): void {
  if (child.connected) child.send(message, () => undefined);
}

/** The indexing process's configuration. */
export interface IndexingOrder {
  readonly place: CatalogPlace;
  readonly sources: readonly CatalogSource[];
  readonly forgotten: readonly ForgottenSession[];
}

/** A task for the process, answered with `done` or `failed`. */
export type IndexingTask =
  | { readonly kind: "sweep" | "rebuild" | "stop" }
  | { readonly kind: "look"; readonly paths: readonly string[] }
  | { readonly kind: "forget"; readonly sessions: readonly ForgottenSession[] }
  /** Empties the journal. */
  | { readonly kind: "empty" };

/** A message from the process. */
export type IndexingNews =
  | { readonly kind: "progress"; readonly progress: CatalogProgress }
  | { readonly kind: "folders"; readonly paths: readonly string[] }
  | {
      readonly kind: "log";
      readonly level: "debug" | "info" | "warn" | "error";
      readonly fields: Readonly<Record<string, unknown>>;
      readonly message: string;
    }
  | {
      readonly kind: "done";
      readonly progress: CatalogProgress;
      readonly peakRssBytes: number;
      readonly cpuMs: number;
      readonly isHeldUp: boolean;
    }
  | { readonly kind: "failed"; readonly reason: string };
