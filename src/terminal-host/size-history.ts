import type { TerminalSize } from "./terminal-info.ts";

/** A size and the number of output bytes before it took effect. */
export interface SizeChange extends TerminalSize {
  readonly offset: number;
}

/**
 * The sizes that a terminal had, each with its offset in the output; the first is at offset 0. They are numbered from 1, so that a reader or
 * a screen model that has the first n continues with the next size, even if several took effect at the same offset.
 */
export type SizeHistory = ReturnType<typeof createSizeHistory>;

/** Older sizes are dropped. A reader that needs them receives a new screen. */
const MAX_SIZES = 1_024;

export function createSizeHistory(first: TerminalSize) {
  let oldest: SizeChange = { offset: 0, cols: first.cols, rows: first.rows };
  let kept = [oldest];
  let current = oldest;
  let dropped = 0;

  /** The size that applies after `offset` bytes, and its number; undefined when it was dropped. */
  function at(offset: number): { readonly size: SizeChange; readonly count: number } | undefined {
    const index = kept.findLastIndex((change) => change.offset <= offset);
    const size = kept[index];
    return size === undefined ? undefined : { size, count: dropped + index + 1 };
  }

  return {
    get current(): TerminalSize {
      return current;
    },
    get count(): number {
      return dropped + kept.length;
    },
    add({ offset, cols, rows }: SizeChange): void {
      current = { offset, cols, rows };
      kept.push(current);
      if (kept.length <= MAX_SIZES) return;
      dropped += kept.length - MAX_SIZES / 2;
      kept = kept.slice(-MAX_SIZES / 2);
      oldest = kept[0] ?? current;
    },
    /** The size after the first `count`: undefined when there is none yet, null when it was dropped. */
    after: (count: number): SizeChange | null | undefined => (count < dropped ? null : kept[count - dropped]),
    at,
    /** Like {@link at}, but returns the oldest remaining size if that one was dropped. */
    atOrAfter: (offset: number) => at(offset) ?? { size: oldest, count: dropped + 1 },
  };
}
