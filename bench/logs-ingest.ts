/**
 * Memory entries stored per second, each durable in its own transaction, including extraction and words: turns as agents write them (a
 * prompt, an answer, five calls: about 130 words and 13 facts), and notes (about 30 words and 3 facts). In an empty store and in one with
 * many entries, compared with a bare durable insert of the same content in the same file.
 *
 * `node bench/logs-ingest.ts [existing entries]`
 */
import { performance } from "node:perf_hooks";
import { sql } from "kysely";
import { callOf, turnOf } from "../test/support/logs.ts";
import { sizeOf } from "./measure.ts";
import { type BenchLogs, seedEntries, sentence, withLogs } from "./rig/logs.ts";

const entries = sizeOf({ full: 1_500, small: 20 });
const goal = 300;

await withLogs(async (bench) => {
  await sql`create table bench_plain (id integer primary key, content text)`.execute(bench.database.db);
  const there = sizeOf({ full: 1_000_000, small: 1_000, position: 0 });
  for (const where of ["an empty store", `${there} entries`]) {
    if (where !== "an empty store") seedEntries(bench.path, { from: 0, to: there });
    for (const together of [1, 8, 16]) {
      await ingest(bench, where, together);
      await notes(bench, where, together);
    }
  }
});

/** So many under way at any time. */
async function inTurns<T>(all: readonly T[], together: number, task: (one: T) => Promise<unknown>): Promise<void> {
  const left = all.values();
  const worker = async (): Promise<void> => {
    for (const one of left) await task(one);
  };
  await Promise.all(Array.from({ length: together }, worker));
}

async function notes({ logs, caller }: BenchLogs, where: string, together: number): Promise<void> {
  const contents = Array.from(
    { length: entries },
    (_, n) => `${sentence(20)} https://example.com/${n}\nDecision: ${sentence(2)} = ${sentence(3)}`,
  );
  const cpu = process.cpuUsage();
  const began = performance.now();
  await inTurns(contents, together, (content) => logs.submit(caller, { content }));
  const rate = entries / ((performance.now() - began) / 1_000);
  const { user, system } = process.cpuUsage(cpu);
  console.log(
    `${where}, ${together} at a time: ${rate.toFixed(0)} notes a second, ${(rate / goal).toFixed(2)} of the goal | ${((user + system) / 1_000 / entries).toFixed(2)} ms of CPU each`,
  );
}

async function ingest({ logs, database: { db } }: BenchLogs, where: string, together: number): Promise<void> {
  const recordings = Array.from({ length: entries }, (_, n) => {
    const calls = [
      callOf("Read", { file_path: `/w/src/${n % 500}.ts` }, { text: sentence(100) }),
      callOf("Edit", { file_path: `/w/src/${n % 500}.ts`, old_string: sentence(8), new_string: sentence(8) }),
      callOf("Bash", { command: "npm test" }, { ok: n % 3 > 0, text: "Exit code 1" }),
      callOf(
        "Bash",
        { command: `git commit -m '${sentence(5)}'` },
        { text: `[main ${(n + 1_000_000).toString(16)}0] x` },
      ),
      callOf("Grep", { pattern: sentence(1) }),
    ];
    return {
      sessionId: `${where}-${together}-${n % 50}`.replaceAll(" ", "-"),
      title: sentence(4),
      dir: null,
      context: { agent: "claude-code", repository: "/w", branch: "main" },
      onPurpose: false,
      turns: [
        turnOf(2 * n, [sentence(25)]),
        turnOf(2 * n + 1, [`${sentence(50)}\nDecision: ${sentence(2)} = ${n}`, ...calls]),
      ],
    };
  });
  const bareBegan = performance.now();
  for (const recording of recordings) {
    await sql`insert into bench_plain (content) values (${JSON.stringify(recording.turns)})`.execute(db);
  }
  const bare = entries / ((performance.now() - bareBegan) / 1_000);
  const cpu = process.cpuUsage();
  const began = performance.now();
  await inTurns(recordings, together, (recording) => logs.record("bench", recording));
  const rate = entries / ((performance.now() - began) / 1_000);
  const { user, system } = process.cpuUsage(cpu);
  console.log(
    `${where}, ${together} at a time: ${rate.toFixed(0)} turns a second, ${(rate / goal).toFixed(2)} of the goal, ${(rate / bare).toFixed(2)} of ${bare.toFixed(0)} bare inserts a second | ` +
      `${((user + system) / 1_000 / entries).toFixed(2)} ms of CPU each`,
  );
}
