import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { Clock } from "../core/clock.ts";
import { messageOf, PosternError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { RawLog } from "./raw-log.ts";
import type { PaintedScreen } from "./screen-model.ts";
import type { SizeChange, SizeHistory } from "./size-history.ts";
import type { TerminalSize } from "./terminal-info.ts";

/** The terminal's data for the thread, and its callbacks. */
export interface ScreenSource {
  readonly terminalId: string;
  readonly log: RawLog;
  readonly sizes: SizeHistory;
  /** The screen shows all output before `offset`. */
  onReached(offset: number): void;
  /** The terminal's answer to a query of the program. */
  onAnswer(data: string): void;
}

/** A screen, the offset up to which it shows output, and the number of its size. */
interface Painted {
  readonly screen: PaintedScreen;
  readonly offset: number;
  readonly sizes: number;
}

interface Paint {
  readonly terminalId: string;
  readonly offset: number;
  readonly plain: boolean;
  resolve(painted: Painted): void;
  reject(error: Error): void;
}

/** If a thread dies again within this time, it failed on some output: the next thread starts after that output. */
const CALM_MS = 60_000;
/** The pause before a new thread starts, doubled with each further death within {@link CALM_MS}. */
const RESTART_MIN_MS = 20;
const RESTART_MAX_MS = 5_000;

/** A spawn waits at most this long for a thread that does not start. */
const READY_WAIT_MS = 2_000;

/** A thread without screens is kept this long: it takes 25 MB, and 100 ms to start. */
const KEEP_IDLE_MS = 60_000;

/** Starts a thread that keeps screens. */
export function startScreenWorker(): Worker {
  const here = import.meta.url;
  return new Worker(new URL(`./screen-worker${extname(here)}`, here));
}

/** The thread that keeps all screens and reads their output from the raw logs, so that only offsets are sent to it. */
export type Screens = ReturnType<typeof createScreens>;

/** The thread starts with the first screen; if it dies, a new one repaints the screens from the raw logs. */
export function createScreens(
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  startWorker = startScreenWorker,
) {
  const sources = new Map<string, ScreenSource>();
  const paints = new Map<number, Paint>();
  let nextRequestId = 1;
  let diedAt = Number.NEGATIVE_INFINITY;
  let restartMs = RESTART_MIN_MS;
  let restarting = false;
  let worker: { readonly thread: Worker; readonly loaded: PromiseWithResolvers<void> } | undefined;
  let cancelIdle: (() => void) | undefined;

  function start(): typeof worker & object {
    const loaded = Promise.withResolvers<void>();
    const started = { thread: startWorker(), loaded };
    let failure: unknown;
    started.thread.on("message", (message: FromScreens) =>
      message.type === "ready" ? loaded.resolve() : onMessage(message),
    );
    started.thread.on("error", (error) => {
      failure = error;
    });
    started.thread.on("exit", () => {
      loaded.resolve();
      if (worker === started) replaceLater(failure);
    });
    started.thread.unref();
    return started;
  }

  function replaceLater(failure: unknown): void {
    log.error({ error: messageOf(failure), terminals: sources.size }, "the screen thread died; starting another");
    const again = clock.now() - diedAt < CALM_MS;
    diedAt = clock.now();
    restartMs = again ? Math.min(restartMs * 2, RESTART_MAX_MS) : RESTART_MIN_MS;
    worker = undefined;
    restarting = true;
    clock.after(restartMs, () => replace(again));
  }

  function replace(again: boolean): void {
    restarting = false;
    for (const source of sources.values()) {
      const { terminalId, log: raw } = source;
      open(source, again ? raw.endOffset : raw.startOffset, raw.endOffset);
      post({ type: "output", terminalId, offset: raw.endOffset, asks: false });
    }
    for (const [requestId, { terminalId, offset, plain }] of paints) {
      post({ type: "paint", terminalId, requestId, offset, plain });
    }
  }

  function open(source: ScreenSource, fromOffset: number, answersFrom: number): void {
    const { terminalId, log: raw, sizes } = source;
    const { dir, segmentBytes } = raw;
    const { size, count } = sizes.atOrAfter(fromOffset);
    const { cols, rows } = size;
    post({ type: "open", terminalId, cols, rows, sizes: count, dir, segmentBytes, fromOffset, answersFrom });
    for (let sent = count, next = sizes.after(sent); next; next = sizes.after(++sent)) {
      post({ type: "resize", terminalId, ...next, sizes: sent + 1 });
    }
  }

  function onMessage(message: Exclude<FromScreens, { type: "ready" }>): void {
    switch (message.type) {
      case "reached":
        sources.get(message.terminalId)?.onReached(message.offset);
        break;
      case "answer":
        sources.get(message.terminalId)?.onAnswer(message.data);
        break;
      case "failed":
        log.error({ terminalId: message.terminalId, error: message.error }, "a screen failed and was emptied");
        break;
      case "painted": {
        const paint = paints.get(message.requestId);
        paints.delete(message.requestId);
        paint?.resolve(message);
      }
    }
  }

  /** Messages are dropped while the thread is being replaced, because the new thread receives the whole state. */
  function post(message: ToScreens): void {
    if (restarting) return;
    worker ??= start();
    worker.thread.postMessage(message);
  }

  function stopWhenIdle(): void {
    cancelIdle?.();
    cancelIdle = clock.after(KEEP_IDLE_MS, () => {
      if (sources.size > 0) return;
      const idle = worker;
      worker = undefined;
      void idle?.thread.terminate();
    });
  }

  return {
    /** Resolves when the thread can answer, or cannot be started. Programs wait for that, since their first queries time out after 100 ms. */
    async ready(): Promise<void> {
      if (restarting) return;
      worker ??= start();
      if (sources.size === 0) stopWhenIdle();
      const timeout = Promise.withResolvers<void>();
      const cancel = clock.after(READY_WAIT_MS, timeout.resolve);
      await Promise.race([worker.loaded.promise, timeout.promise]).finally(cancel);
    },
    open(source: ScreenSource): void {
      sources.set(source.terminalId, source);
      open(source, 0, 0);
    },
    /** The log reaches to `offset`; answered by {@link ScreenSource.onReached}. `asks`: the program waits, so this screen takes precedence. */
    output: (terminalId: string, offset: number, asks = false): void =>
      post({ type: "output", terminalId, offset, asks }),
    /** Passes output from `offset` on that the log could not store. */
    direct: (terminalId: string, output: { readonly offset: number; readonly data: Uint8Array }): void =>
      post({ type: "direct", terminalId, ...output }),
    /** Sets the size with this number, which takes effect at its offset. */
    resize: (terminalId: string, change: SizeChange & { readonly sizes: number }): void =>
      post({ type: "resize", terminalId, ...change }),
    /** The screen once it shows all output before `offset`; `plain`: with an empty `ansi`. */
    paint(terminalId: string, offset: number, plain = false): Promise<Painted> {
      if (!sources.has(terminalId)) return Promise.reject(noScreen(terminalId));
      const requestId = nextRequestId++;
      return new Promise((resolve, reject) => {
        paints.set(requestId, { terminalId, offset, plain, resolve, reject });
        post({ type: "paint", terminalId, requestId, offset, plain });
      });
    },
    close(terminalId: string): void {
      if (!sources.delete(terminalId)) return;
      for (const [requestId, paint] of paints) {
        if (paint.terminalId !== terminalId) continue;
        paints.delete(requestId);
        paint.reject(noScreen(terminalId));
      }
      post({ type: "close", terminalId });
      if (sources.size === 0) stopWhenIdle();
    },
  };
}

function noScreen(terminalId: string): PosternError {
  return new PosternError("terminal_gone", `Terminal ${terminalId} was removed.`);
}

/** Messages to the thread. */
export type ToScreens =
  | ({
      readonly type: "open";
      readonly terminalId: string;
      readonly dir: string;
      readonly segmentBytes: number;
      readonly fromOffset: number;
      /** The number of its size: see `size-history`. */
      readonly sizes: number;
      /** Queries in the output before this offset have already been answered. */
      readonly answersFrom: number;
    } & TerminalSize)
  /** The log reaches to `offset`; answered by `reached` when the screen does too. `asks`: the program may wait for an answer. */
  | { readonly type: "output"; readonly terminalId: string; readonly offset: number; readonly asks: boolean }
  /** Output from `offset` on that the log could not store; earlier output in the log is lost. */
  | { readonly type: "direct"; readonly terminalId: string; readonly offset: number; readonly data: Uint8Array }
  /** The size with the number `sizes`, which takes effect after the output before `offset`. */
  | ({ readonly type: "resize"; readonly terminalId: string; readonly sizes: number } & SizeChange)
  /** The screen, not before it shows `offset`; `plain`: with an empty `ansi`. */
  | {
      readonly type: "paint";
      readonly terminalId: string;
      readonly requestId: number;
      readonly offset: number;
      readonly plain: boolean;
    }
  | { readonly type: "close"; readonly terminalId: string };

/** Messages from the thread. */
export type FromScreens =
  /** The thread has loaded. */
  | { readonly type: "ready" }
  | { readonly type: "reached"; readonly terminalId: string; readonly offset: number }
  /** The model failed on some output and was replaced by an empty one. */
  | { readonly type: "failed"; readonly terminalId: string; readonly error: string }
  | { readonly type: "answer"; readonly terminalId: string; readonly data: string }
  | ({ readonly type: "painted"; readonly requestId: number } & Painted);
