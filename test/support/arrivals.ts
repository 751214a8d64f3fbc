import { performance } from "node:perf_hooks";
import { systemClock } from "../../src/core/clock.ts";

/** The maximum of simultaneous requests. A request that is due above it starts when another has ended, and the delay counts. */
const maxUnderWay = 1_000;

/**
 * Makes requests at fixed times until `task` has ended, however long those before them take, and measures from the time when each was due:
 * a stall counts for every request that came meanwhile.
 * @returns milliseconds of each
 */
export async function latenciesDuring(
  task: Promise<unknown>,
  request: () => Promise<unknown>,
  everyMs: number,
): Promise<number[]> {
  let isOver = false;
  const over = (): void => void (isOver = true);
  const ended = task.then(over, over);
  const underWay = new Set<Promise<unknown>>();
  const latencies: number[] = [];
  const failures: unknown[] = [];
  for (let due = performance.now(); !isOver; due += everyMs) {
    const early = due - performance.now();
    if (early > 0) await systemClock.sleep(early);
    if (underWay.size >= maxUnderWay) await Promise.race(underWay);
    const made = request()
      .then(() => void latencies.push(performance.now() - due))
      .catch((error: unknown) => void failures.push(error))
      .finally(() => underWay.delete(made));
    underWay.add(made);
  }
  await Promise.all(underWay);
  await ended;
  if (failures.length > 0) throw failures[0];
  return latencies;
}
