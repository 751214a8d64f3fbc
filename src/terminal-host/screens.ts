import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { Clock } from "../core/clock.ts";
import { messageOf, PosternError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { RawLog } from "./raw-log.ts";
import type { FromScreens, ToScreens } from "./screen-messages.ts";
import type { PaintedScreen } from "./screen-model.ts";

/** What the thread has to know of a terminal, and who hears of its screen. */
export interface ScreenSource {
  readonly terminalId: string;
  readonly log: RawLog;
  size(): { readonly cols: number; readonly rows: number };
  /** The screen shows all output before `offset`. */
  onReached(offset: number): void;
  /** The terminal's answer to a query of the program. */
  onAnswer(data: string): void;
}

/** The thread that keeps all screens; it reads their output from the raw logs, so nothing but offsets travels. */
export interface Screens {
  open(source: ScreenSource): void;
  /** The log reaches to `offset` now; answered by {@link ScreenSource.onReached}. */
  output(terminalId: string, offset: number): void;
  /** The log lost everything before `offset`. */
  skip(terminalId: string, offset: number): void;
  resize(terminalId: string, at: { readonly offset: number; readonly cols: number; readonly rows: number }): void;
  /** The screen once it shows all output before `offset`, and the offset it shows by then. */
  paint(terminalId: string, offset: number): Promise<{ readonly screen: PaintedScreen; readonly offset: number }>;
  close(terminalId: string): void;
}

interface Paint {
  readonly terminalId: string;
  readonly offset: number;
  resolve(painted: { readonly screen: PaintedScreen; readonly offset: number }): void;
  reject(error: Error): void;
}

/** A thread that dies again within this time did so because of some output: the next one begins behind it. */
const CALM_MS = 60_000;

/** Starts the thread; should it die, another one paints the screens anew from the raw logs. */
export function createScreens({ clock, log }: { readonly clock: Clock; readonly log: Log }): Screens {
  const sources = new Map<string, ScreenSource>();
  const paints = new Map<number, Paint>();
  let nextRequestId = 1;
  let diedAt = Number.NEGATIVE_INFINITY;
  let worker = start();

  function start(): Worker {
    const here = import.meta.url;
    const started = new Worker(new URL(`./screen-worker${extname(here)}`, here));
    let failure: unknown;
    started.on("message", onMessage);
    started.on("error", (error) => {
      failure = error;
    });
    started.on("exit", () => replace(failure));
    started.unref();
    return started;
  }

  function replace(failure: unknown): void {
    log.error({ error: messageOf(failure), terminals: sources.size }, "the screen thread died; starting another");
    const now = clock.now();
    const again = now - diedAt < CALM_MS;
    diedAt = now;
    worker = start();
    for (const source of sources.values()) {
      const { terminalId, log: raw } = source;
      open(source, again ? raw.endOffset : raw.startOffset, raw.endOffset);
      say({ type: "output", terminalId, offset: raw.endOffset });
    }
    for (const [requestId, { terminalId, offset }] of paints) say({ type: "paint", terminalId, requestId, offset });
  }

  function open(source: ScreenSource, fromOffset: number, answersFrom: number): void {
    const { terminalId, log: raw } = source;
    const { dir, segmentBytes } = raw;
    say({ type: "open", terminalId, ...source.size(), dir, segmentBytes, fromOffset, answersFrom });
  }

  function onMessage(message: FromScreens): void {
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
        paint?.resolve({ screen: message.screen, offset: message.offset });
      }
    }
  }

  function say(message: ToScreens): void {
    worker.postMessage(message);
  }

  return {
    open(source) {
      sources.set(source.terminalId, source);
      open(source, 0, 0);
    },
    output: (terminalId, offset) => say({ type: "output", terminalId, offset }),
    skip: (terminalId, offset) => say({ type: "skip", terminalId, offset }),
    resize: (terminalId, at) => say({ type: "resize", terminalId, ...at }),
    paint(terminalId, offset) {
      if (!sources.has(terminalId)) return Promise.reject(noScreen(terminalId));
      const requestId = nextRequestId++;
      return new Promise((resolve, reject) => {
        paints.set(requestId, { terminalId, offset, resolve, reject });
        say({ type: "paint", terminalId, requestId, offset });
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
    },
  };
}

function noScreen(terminalId: string): PosternError {
  return new PosternError("terminal_gone", `Terminal ${terminalId} was forgotten.`);
}
