import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { PosternError } from "../core/errors.ts";
import type { FromScreens, ToScreens } from "./screen-messages.ts";
import type { PaintedScreen } from "./screen-model.ts";

/** Gets what one terminal's screen has to say. */
export interface ScreenListener {
  /** The screen shows all output before `offset`. */
  onReached(offset: number): void;
  /** The terminal's answer to a query of the program. */
  onAnswer(data: string): void;
}

/** The thread that keeps all screens; it reads their output from the raw logs, so nothing but offsets travels. */
export interface Screens {
  open(terminal: Omit<Extract<ToScreens, { type: "open" }>, "type">, listener: ScreenListener): void;
  output(terminalId: string, offset: number): void;
  resize(terminalId: string, at: { readonly offset: number; readonly cols: number; readonly rows: number }): void;
  /** The screen once it shows all output before `offset`, and the offset it shows by then. */
  paint(terminalId: string, offset: number): Promise<{ readonly screen: PaintedScreen; readonly offset: number }>;
  close(terminalId: string): void;
}

/** Starts the thread. `onFailure` is called when it ended by itself: then no screen answers any more. */
export function createScreens(onFailure: (error: Error) => void): Screens {
  const here = import.meta.url;
  const worker = new Worker(new URL(`./screen-worker${extname(here)}`, here));
  const listeners = new Map<string, ScreenListener>();
  const paints = new Map<
    number,
    {
      terminalId: string;
      resolve(painted: { screen: PaintedScreen; offset: number }): void;
      reject(error: Error): void;
    }
  >();
  let nextRequestId = 1;

  worker.on("message", (message: FromScreens) => {
    switch (message.type) {
      case "reached":
        listeners.get(message.terminalId)?.onReached(message.offset);
        break;
      case "answer":
        listeners.get(message.terminalId)?.onAnswer(message.data);
        break;
      case "painted": {
        const paint = paints.get(message.requestId);
        paints.delete(message.requestId);
        paint?.resolve({ screen: message.screen, offset: message.offset });
      }
    }
  });
  worker.on("error", onFailure);
  worker.unref();
  const say = (message: ToScreens): void => worker.postMessage(message);

  return {
    open(terminal, listener) {
      listeners.set(terminal.terminalId, listener);
      say({ type: "open", ...terminal });
    },
    output: (terminalId, offset) => say({ type: "output", terminalId, offset }),
    resize: (terminalId, at) => say({ type: "resize", terminalId, ...at }),
    paint(terminalId, offset) {
      const requestId = nextRequestId++;
      return new Promise((resolve, reject) => {
        paints.set(requestId, { terminalId, resolve, reject });
        say({ type: "paint", terminalId, requestId, offset });
      });
    },
    close(terminalId) {
      listeners.delete(terminalId);
      for (const [requestId, paint] of paints) {
        if (paint.terminalId !== terminalId) continue;
        paints.delete(requestId);
        paint.reject(new PosternError("terminal_gone", `Terminal ${terminalId} was forgotten.`));
      }
      say({ type: "close", terminalId });
    },
  };
}
