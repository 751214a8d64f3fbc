import type { ReadStream, WriteStream } from "node:tty";

/** The terminal that the command runs in. */
export interface UserTerminal {
  size(): { readonly cols: number; readonly rows: number };
  /** The text is written when this returns. */
  write(text: string): void;
  /** Switches to raw mode, and reports keys and new sizes until {@link UserTerminal.end}. */
  begin(listeners: { onInput(data: Buffer): void; onResize(): void }): void;
  /** Restores the previous mode, synchronously. Idempotent. */
  end(): void;
}

/** For a terminal without a size: the traditional 80 by 24. */
const unknownSize = { cols: 80, rows: 24 };

/** The terminal behind a process's own streams. */
export function openUserTerminal(input: ReadStream, output: WriteStream): UserTerminal {
  let ending: (() => void) | undefined;
  let afterReturn = false;

  /**
   * In Node's raw mode, the kernel still adds a return before each line feed. Programs without this setting (vim) use a line feed to move
   * down in the same column. A vertical tab does that in every terminal, and the kernel does not change it.
   */
  function withoutReturns(text: string): string {
    const first = afterReturn && text.startsWith("\n") ? 1 : 0;
    afterReturn = text.endsWith("\r");
    return text.slice(0, first) + text.slice(first).replace(/(?<!\r)\n/g, "\v");
  }

  return {
    size: () => ({ cols: output.columns || unknownSize.cols, rows: output.rows || unknownSize.rows }),
    write: (text) => void output.write(withoutReturns(text)), // Node writes to a terminal before it returns
    begin({ onInput, onResize }) {
      input.setRawMode(true);
      input.on("data", onInput).resume();
      output.on("resize", onResize);
      ending = () => {
        input.off("data", onInput).pause();
        output.off("resize", onResize);
        input.setRawMode(false);
      };
    },
    end() {
      const end = ending;
      ending = undefined;
      end?.();
    },
  };
}

const signals = ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM"] as const;

/**
 * Calls `restore`, possibly more than once, when this process ends in any detectable way: a signal (which then ends it as usual), an
 * uncaught error, an exit. Returns a function that stops this.
 */
export function onEveryWayOut(restore: () => void): () => void {
  const onSignal = (signal: NodeJS.Signals): void => {
    restore();
    stop();
    process.kill(process.pid, signal);
  };
  function stop(): void {
    process.off("exit", restore);
    process.off("uncaughtExceptionMonitor", restore);
    for (const signal of signals) process.off(signal, onSignal);
  }
  process.on("exit", restore);
  process.on("uncaughtExceptionMonitor", restore);
  for (const signal of signals) process.on(signal, onSignal);
  return stop;
}
