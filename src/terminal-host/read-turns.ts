import type { Clock } from "../core/clock.ts";

/** Decides how much one terminal may read at a time, so that a flood in one does not delay the others. */
export interface ReadTurns {
  /** Says that `reader` reads now; returns how many bytes it may take before it lets others have their turn. */
  budget(reader: number): number;
  /** Somebody typed to the program of `reader`: its answer should not wait behind a flood of another one. */
  typed(reader: number): void;
}

/** Alone, a terminal reads this much at a time: larger amounts measured no faster. */
const ALONE_BYTES = 64 * 1024;
/** Beside others: four kernel reads, about 0.2 ms; larger amounts delayed the others' echo. */
const SHARED_BYTES = 16 * 1024;
/** For so long after another terminal's turn a reader counts as one of several. */
const SHARED_FOR_MS = 50;

/** One for all terminals of a host. */
export function createReadTurns(clock: Clock): ReadTurns {
  let lastReader = 0;
  let sharedUntil = 0;
  let typedTo = 0;
  let typedUntil = 0;
  return {
    budget(reader) {
      const now = clock.now();
      if (reader !== lastReader && lastReader !== 0) sharedUntil = now + SHARED_FOR_MS;
      lastReader = reader;
      const delaysAnother = now < sharedUntil || (now < typedUntil && reader !== typedTo);
      return delaysAnother ? SHARED_BYTES : ALONE_BYTES;
    },
    typed(reader) {
      typedTo = reader;
      typedUntil = clock.now() + SHARED_FOR_MS;
    },
  };
}
