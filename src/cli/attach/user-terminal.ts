import type { ReadStream, WriteStream } from "node:tty";

/** The terminal in which the command runs. */
export interface UserTerminal {
  size(): { readonly cols: number; readonly rows: number };
  /** Written when it returns. */
  write(text: string): void;
  /** Takes every key as it is, and tells of them and of new sizes until {@link UserTerminal.end}. */
  begin(listeners: { onInput(data: Buffer): void; onResize(): void }): void;
  /** The keys are the shell's again, as they were. Idempotent, and done when it returns. */
  end(): void;
}

/** What a terminal is without a size: that of the first ones. */
const unknownSize = { cols: 80, rows: 24 };

/** The terminal behind a process's own streams. */
export function openUserTerminal(input: ReadStream, output: WriteStream): UserTerminal {
  let ending: (() => void) | undefined;
  return {
    size: () => ({ cols: output.columns || unknownSize.cols, rows: output.rows || unknownSize.rows }),
    write: (text) => void output.write(text), // Node writes to a terminal before it returns
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
