import type { Clock } from "../core/clock.ts";

/** Decides how much one terminal may read at a time, so that a flood in one does not delay the others. */
export type ReadScheduler = ReturnType<typeof createReadScheduler>;

/** If it is the only one, a terminal reads this much at a time: larger amounts were no faster (measured). */
const ALONE_BYTES = 64 * 1024;
/** If other terminals also read: four kernel reads, about 0.2 ms. Larger amounts delayed the echo in the others. */
const SHARED_BYTES = 16 * 1024;
/** For this long after another terminal has read, a reader counts as one of several. */
const SHARED_FOR_MS = 50;
/** How long an answer is awaited after a key or a query: longer than the time between two keystrokes, or two queries of a starting program. */
const AWAITED_MS = 1_000;
/** The pause between reads of another program's flood during that time: about 6 MB/s, which leaves a processor free for the next key. */
const REST_MS = 2;

/** Creates the scheduler for all terminals of a host. */
export function createReadScheduler(clock: Clock) {
  let lastReader = 0;
  let sharedUntil = 0;
  let awaitedReader = 0;
  let awaitedUntil = 0;

  function awaitsOther(reader: number, now: number): boolean {
    return now < awaitedUntil && reader !== awaitedReader;
  }

  return {
    /** `reader` reads now. @returns how many bytes it may read before others have their turn */
    budget(reader: number): number {
      const now = clock.now();
      if (reader !== lastReader && lastReader !== 0) sharedUntil = now + SHARED_FOR_MS;
      lastReader = reader;
      return now < sharedUntil || awaitsOther(reader, now) ? SHARED_BYTES : ALONE_BYTES;
    },
    /** How long `reader` pauses after using all of its budget: 0 unless another program's answer is awaited. */
    restMs: (reader: number): number => (awaitsOther(reader, clock.now()) ? REST_MS : 0),
    /** The program of `reader` received a key, or queried its terminal, so floods in other terminals must not delay its answer. */
    awaited(reader: number): void {
      awaitedReader = reader;
      awaitedUntil = clock.now() + AWAITED_MS;
    },
  };
}
