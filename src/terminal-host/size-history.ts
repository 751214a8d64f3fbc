import type { TerminalSize } from "./terminal-info.ts";

/** A size and the number of output bytes before it took effect. */
export interface SizeChange extends TerminalSize {
  readonly offset: number;
}

/**
 * The sizes that a terminal had, each at its place in the output, the first one at offset 0. They are numbered from 1, so that a reader
 * (or the screen model) that had n of them goes on with the next, also where several took effect at the same offset.
 */
export interface SizeHistory {
  /** The size now. */
  readonly current: TerminalSize;
  /** Sizes since the start. */
  readonly count: number;
  add(change: SizeChange): void;
  /** What follows the first `count`: undefined when nothing does yet, null when it is not kept any more. */
  after(count: number): SizeChange | null | undefined;
  /** The size in force behind `offset` bytes, and its number. Undefined when it is not kept any more. */
  at(offset: number): { readonly size: SizeChange; readonly count: number } | undefined;
  /** The same, or the oldest that is kept. */
  atOrAfter(offset: number): { readonly size: SizeChange; readonly count: number };
}

/** More than a person drags in the time that a reader may be behind; older ones are dropped, and who needs them gets a new screen. */
const MAX_SIZES = 1_024;

/** Begins with `first` at offset 0. */
export function createSizeHistory(first: TerminalSize): SizeHistory {
  let oldest: SizeChange = { offset: 0, cols: first.cols, rows: first.rows };
  let kept = [oldest];
  let current = oldest;
  let dropped = 0;

  function at(offset: number): { readonly size: SizeChange; readonly count: number } | undefined {
    const index = kept.findLastIndex((change) => change.offset <= offset);
    const size = kept[index];
    return size === undefined ? undefined : { size, count: dropped + index + 1 };
  }

  return {
    get current() {
      return current;
    },
    get count() {
      return dropped + kept.length;
    },
    add({ offset, cols, rows }) {
      current = { offset, cols, rows };
      kept.push(current);
      if (kept.length <= MAX_SIZES) return;
      dropped += kept.length - MAX_SIZES / 2;
      kept = kept.slice(-MAX_SIZES / 2);
      oldest = kept[0] ?? current;
    },
    after: (count) => (count < dropped ? null : kept[count - dropped]),
    at,
    atOrAfter: (offset) => at(offset) ?? { size: oldest, count: dropped + 1 },
  };
}
