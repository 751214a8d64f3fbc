/**
 * How long does a search take among 1,000,000 entries with as many statements: common, rare and several words, phrases, prefixes? And facts
 * about one entity, as of a time, including a command that ran 20,000 times?
 *
 * `node bench/logs-search.ts [entries]`
 */
import { performance } from "node:perf_hooks";
import { quantile, sizeOf } from "./measure.ts";
import { busySubject, seedBusySubject, seedEntries, sentence, withLogs, word } from "./rig/logs.ts";

const limitMs = 30;
const rounds = sizeOf({ full: 15, small: 2 });
const runs = 20_000;

await withLogs(async ({ logs, path, caller }) => {
  const entries = sizeOf({ full: 1_000_000, small: 1_000, position: 0 });
  seedEntries(path, { from: 0, to: entries });
  seedBusySubject(path, Math.min(runs, entries));
  const queries = [
    ...[word(0), word(1), word(20), word(300), word(4_000), word(40_000), "nothinglikethis"],
    ...[
      `${word(0)} ${word(1)}`,
      `${word(0)} ${word(300)}`,
      `${word(3_000)} ${word(5)} `,
      `"${word(0)} ${word(1)}"`,
      `"${word(300)} ${word(2)}"`,
    ],
    ...["b", "ce", word(700).slice(0, 4), sentence(3), sentence(3), sentence(2), sentence(2)],
  ];
  const all: number[] = [];
  for (const q of queries) {
    const times: number[] = [];
    let found = 0;
    for (let round = 0; round < rounds; round++) {
      const began = performance.now();
      found = (await logs.search(caller, { q })).hits.length;
      times.push(performance.now() - began);
    }
    all.push(...times);
    console.log(
      `  ${JSON.stringify(q)}: ${found} shown | p50 ${quantile(times, 0.5).toFixed(1)} ms | p99 ${quantile(times, 0.99).toFixed(1)} ms`,
    );
  }
  const p50 = quantile(all, 0.5);
  console.log(
    `search among ${entries}: p50 ${p50.toFixed(1)} ms, ${(p50 / limitMs).toFixed(2)} of the limit | p99 ${quantile(all, 0.99).toFixed(1)} ms`,
  );
  for (const input of [
    { subject: "Url:https://example.com/77" },
    { predicate: "mentioned" },
    { asOf: "1970-01-01T00:05:00Z" },
    {},
    { subject: busySubject },
    { subject: busySubject, asOf: "1970-01-01T00:05:00Z" },
    { predicate: "last_exit" },
    { predicate: "last_exit", asOf: "1970-01-01T00:05:00Z" },
  ]) {
    const began = performance.now();
    const { facts } = await logs.facts(caller, input);
    console.log(
      `  facts ${JSON.stringify(input)}: ${facts.length} shown, ${(performance.now() - began).toFixed(1)} ms`,
    );
  }
});
