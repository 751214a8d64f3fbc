import type { ReadStream, WriteStream } from "node:tty";

/** The terminal that the command runs in. */
export interface UserTerminal {
  size(): { readonly cols: number; readonly rows: number };
  /** Written when it returns. */
  write(text: string): void;
  /** Takes every key as it is, and reports them and new sizes until {@link UserTerminal.end}. */
  begin(listeners: { onInput(data: Buffer): void; onResize(): void }): void;
  /** The keys are the shell's again, as they were. Idempotent, and done when it returns. */
  end(): void;
}

/** For a terminal without a size: that of the first video terminals. */
const unknownSize = { cols: 80, rows: 24 };

/** The terminal behind a process's own streams. */
export function openUserTerminal(input: ReadStream, output: WriteStream): UserTerminal {
  let ending: (() => void) | undefined;
  let afterReturn = false;

  /**
   * Node's raw mode leaves it to the kernel to put a return before each line feed. A program whose own terminal does not (vim) moves
   * down with it, in the same column; that is what a vertical tab does in every terminal, and the kernel leaves it alone.
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
 * Calls `restore`, once or more often, when this process ends in any way that it can notice: a signal (which then ends it as it would
 * have), an uncaught error, an exit. Returns the function that stops this.
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
