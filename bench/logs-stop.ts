/**
 * How long does deleting a huge session block the process? Forty entries of 64 KB of random words: the longest block during the deletion,
 * and the longest of the last part, which makes it durable and empties the journal.
 *
 * `node bench/logs-stop.ts [rounds]`
 */
import { performance } from "node:perf_hooks";
import { tester } from "../test/support/logs.ts";
import { median, sizeOf } from "./measure.ts";
import { type BenchLogs, sentence, withLogs } from "./rig/logs.ts";

const entries = sizeOf({ full: 40, small: 2 });
const entryCharacters = 64 * 1024;
/** So long before its end the last part of a deletion is looked at. */
const lastPartMs = 1_500;
const rounds = sizeOf({ full: 5, small: 1, position: 0 });

interface Stop {
  readonly at: number;
  readonly ms: number;
}

await withLogs(async (bench) => {
  const longest: number[] = [];
  for (let round = 0; round < rounds; round++) {
    await fill(bench, `session-${round}`);
    const [stops, tookMs] = await watch(() => bench.logs.deleteSession(bench.caller, `session-${round}`, tester));
    const ended = performance.now();
    const [all, last] = [stops, stops.filter(({ at }) => ended - at < lastPartMs)].map((some) =>
      Math.max(0, ...some.map(({ ms }) => ms)),
    );
    longest.push(all ?? Number.NaN);
    console.log(
      `deleted in ${(tookMs / 1_000).toFixed(1)} s, longest stop ${all?.toFixed(0)} ms, in the last part ${last?.toFixed(0)} ms`,
    );
  }
  console.log(`longest stop, median of ${rounds}: ${median(longest).toFixed(0)} ms`);
});

async function fill({ logs, caller }: BenchLogs, sessionId: string): Promise<void> {
  for (let n = 0; n < entries; n++) {
    const content = sentence(entryCharacters / 5).slice(0, entryCharacters);
    await logs.submit(caller, { sessionId, content });
  }
}

/** What the event loop's turns took meanwhile. */
async function watch(task: () => Promise<unknown>): Promise<readonly [readonly Stop[], number]> {
  const stops: Stop[] = [];
  let turnedAt = performance.now();
  let timer = setImmediate(function turn() {
    const now = performance.now();
    if (now - turnedAt > 5) stops.push({ at: now, ms: now - turnedAt });
    turnedAt = now;
    timer = setImmediate(turn);
  });
  const began = performance.now();
  await task();
  const tookMs = performance.now() - began;
  clearImmediate(timer);
  stops.push({ at: performance.now(), ms: performance.now() - turnedAt });
  return [stops, tookMs];
}
