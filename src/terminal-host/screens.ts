import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { Clock } from "../core/clock.ts";
import { messageOf, PosternError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { RawLog } from "./raw-log.ts";
import type { FromScreens, ToScreens } from "./screen-messages.ts";
import type { PaintedScreen } from "./screen-model.ts";
import type { SizeChange, SizeHistory } from "./size-history.ts";

/** What the thread has to know of a terminal, and who hears of its screen. */
export interface ScreenSource {
  readonly terminalId: string;
  readonly log: RawLog;
  readonly sizes: SizeHistory;
  /** The screen shows all output before `offset`. */
  onReached(offset: number): void;
  /** The terminal's answer to a query of the program. */
  onAnswer(data: string): void;
}

/** The thread that keeps all screens; it reads their output from the raw logs, so nothing but offsets travels. */
export interface Screens {
  /** Resolves when the thread can answer, or cannot be had: a program that asks at its start gives up within 100 ms. */
  ready(): Promise<void>;
  open(source: ScreenSource): void;
  /** The log reaches to `offset` now; answered by {@link ScreenSource.onReached}. `asks`: a program waits, so this screen comes before others. */
  output(terminalId: string, offset: number, asks?: boolean): void;
  /** Output from `offset` on that the log could not take. */
  direct(terminalId: string, output: { readonly offset: number; readonly data: Uint8Array }): void;
  /** The size with this number, which takes effect at its offset. */
  resize(terminalId: string, change: SizeChange & { readonly sizes: number }): void;
  /** The screen once it shows all output before `offset`; `plain`: without what paints it. */
  paint(terminalId: string, offset: number, plain?: boolean): Promise<Painted>;
  close(terminalId: string): void;
}

/** A screen, the offset that it shows, and the number of the size that it has. */
export interface Painted {
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

/** A thread that dies again within this time did so because of some output: the next one begins behind it. */
const CALM_MS = 60_000;
/** Before the first new thread; each further death within {@link CALM_MS} doubles it. */
const RESTART_MIN_MS = 20;
const RESTART_MAX_MS = 5_000;

/** A program is kept waiting no longer than this for a thread that does not start. */
const READY_WAIT_MS = 2_000;

/** A thread without screens is kept for this long: it takes 25 MB, and 100 ms to start. */
const KEEP_IDLE_MS = 60_000;

/** Starts a thread that keeps screens. */
export function startScreenWorker(): Worker {
  const here = import.meta.url;
  return new Worker(new URL(`./screen-worker${extname(here)}`, here));
}

/** The thread starts with the first screen; should it die, another one paints the screens anew from the raw logs. */
export function createScreens(
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  startWorker = startScreenWorker,
): Screens {
  const sources = new Map<string, ScreenSource>();
  const paints = new Map<number, Paint>();
  let nextRequestId = 1;
  let diedAt = Number.NEGATIVE_INFINITY;
  let restartMs = RESTART_MIN_MS;
  let restarting = false;
  let worker: { readonly thread: Worker; readonly began: PromiseWithResolvers<void> } | undefined;
  let cancelIdle: (() => void) | undefined;

  function start(): typeof worker & object {
    const began = Promise.withResolvers<void>();
    const started = { thread: startWorker(), began };
    let failure: unknown;
    started.thread.on("message", (message: FromScreens) =>
      message.type === "ready" ? began.resolve() : onMessage(message),
    );
    started.thread.on("error", (error) => {
      failure = error;
    });
    started.thread.on("exit", () => {
      began.resolve();
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
      say({ type: "output", terminalId, offset: raw.endOffset, asks: false });
    }
    for (const [requestId, { terminalId, offset, plain }] of paints) {
      say({ type: "paint", terminalId, requestId, offset, plain });
    }
  }

  function open(source: ScreenSource, fromOffset: number, answersFrom: number): void {
    const { terminalId, log: raw, sizes } = source;
    const { dir, segmentBytes } = raw;
    const { size, count } = sizes.atOrAfter(fromOffset);
    const { cols, rows } = size;
    say({ type: "open", terminalId, cols, rows, sizes: count, dir, segmentBytes, fromOffset, answersFrom });
    for (let told = count, next = sizes.after(told); next; next = sizes.after(++told)) {
      say({ type: "resize", terminalId, ...next, sizes: told + 1 });
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

  /** Dropped while the thread is being replaced: the new one is told everything. */
  function say(message: ToScreens): void {
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
    async ready() {
      if (restarting) return;
      worker ??= start();
      if (sources.size === 0) stopWhenIdle();
      const timeout = Promise.withResolvers<void>();
      const cancel = clock.after(READY_WAIT_MS, timeout.resolve);
      await Promise.race([worker.began.promise, timeout.promise]).finally(cancel);
    },
    open(source) {
      sources.set(source.terminalId, source);
      open(source, 0, 0);
    },
    output: (terminalId, offset, asks = false) => say({ type: "output", terminalId, offset, asks }),
    direct: (terminalId, output) => say({ type: "direct", terminalId, ...output }),
    resize: (terminalId, change) => say({ type: "resize", terminalId, ...change }),
    paint(terminalId, offset, plain = false) {
      if (!sources.has(terminalId)) return Promise.reject(noScreen(terminalId));
      const requestId = nextRequestId++;
      return new Promise((resolve, reject) => {
        paints.set(requestId, { terminalId, offset, plain, resolve, reject });
        say({ type: "paint", terminalId, requestId, offset, plain });
      });
    },
    close(terminalId) {
      if (!sources.delete(terminalId)) return;
      for (const [requestId, paint] of paints) {
        if (paint.terminalId !== terminalId) continue;
        paints.delete(requestId);
        paint.reject(noScreen(terminalId));
      }
      say({ type: "close", terminalId });
      if (sources.size === 0) stopWhenIdle();
    },
  };
}

function noScreen(terminalId: string): PosternError {
  return new PosternError("terminal_gone", `Terminal ${terminalId} was forgotten.`);
}
