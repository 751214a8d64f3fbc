import type { Clock } from "../core/clock.ts";

/** Decides how much one terminal may read at a time, so that a flood in one does not delay the others. */
export interface ReadScheduler {
  /** Says that `reader` reads now; returns how many bytes it may take before it lets others have their turn. */
  budget(reader: number): number;
  /** How long `reader` leaves off after a turn that took all of its budget: 0 unless another program is awaited. */
  restMs(reader: number): number;
  /** A key for the program of `reader` came, or it asked its terminal something: the answer should not wait behind a flood of another program. */
  awaited(reader: number): void;
}

/** Alone, a terminal reads this much at a time: larger amounts measured no faster. */
const ALONE_BYTES = 64 * 1024;
/** Beside others: four kernel reads, about 0.2 ms; larger amounts delayed the others' echo. */
const SHARED_BYTES = 16 * 1024;
/** For so long after another terminal's turn a reader counts as one of several. */
const SHARED_FOR_MS = 50;
/** For so long after a key or a query: longer than between the keys of a person, or the queries of a program that starts. */
const AWAITED_MS = 1_000;
/** Meanwhile a flood of another program is read at some 6 MB/s, so that a processor is free when the next one comes. */
const REST_MS = 2;

/** One for all terminals of a host. */
export function createReadScheduler(clock: Clock): ReadScheduler {
  let lastReader = 0;
  let sharedUntil = 0;
  let awaitedReader = 0;
  let awaitedUntil = 0;

  function awaitsOther(reader: number, now: number): boolean {
    return now < awaitedUntil && reader !== awaitedReader;
  }

  return {
    budget(reader) {
      const now = clock.now();
      if (reader !== lastReader && lastReader !== 0) sharedUntil = now + SHARED_FOR_MS;
      lastReader = reader;
      return now < sharedUntil || awaitsOther(reader, now) ? SHARED_BYTES : ALONE_BYTES;
    },
    restMs: (reader) => (awaitsOther(reader, clock.now()) ? REST_MS : 0),
    awaited(reader) {
      awaitedReader = reader;
      awaitedUntil = clock.now() + AWAITED_MS;
    },
  };
}
