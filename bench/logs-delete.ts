/**
 * The cost of permanently deleting a memory entry with 100 derived rows (33 facts, 33 statements, 34 entities), compared with a bare
 * `DELETE` with 100 `ON DELETE CASCADE` children in the same file with the same durability; with and without erasing the journal; with
 * ever more other entries; and with URLs that have nothing in common, whose rows are spread over their indexes. Each figure is also given
 * as a ratio within the run.
 *
 * `node bench/logs-delete.ts [entries]`
 */
import { performance } from "node:perf_hooks";
import { sql } from "kysely";
import { systemClock } from "../src/core/clock.ts";
import { createDeletion } from "../src/logs/deletion.ts";
import { everythingOf } from "../src/logs/visibility-filter.ts";
import { auditDeletions, tester } from "../test/support/logs.ts";
import { quantile, sizeOf } from "./measure.ts";
import { type BenchLogs, seedEntries, withLogs, word } from "./rig/logs.ts";

const children = 100;
/** Each is a fact, a statement and an entity. */
const addresses = 33;
const rounds = sizeOf({ full: 60, small: 3 });
const most = sizeOf({ full: 1_000_000, small: 1_000, position: 0 });
const sizes = [1_000, 10_000, 100_000].filter((size) => size < most).concat(most);

await withLogs(async (bench) => {
  const { db } = bench.database;
  await sql`create table bench_parents (id integer primary key, content text)`.execute(db);
  await sql`create table bench_children (id integer primary key,
    parent_id integer references bench_parents (id) on delete cascade, content text)`.execute(db);
  await sql`create index bench_children_by_parent on bench_children (parent_id)`.execute(db);
  const withoutErasure = createDeletion({
    ...bench.database,
    clock: systemClock,
    namesOf: async (sessionId) => [sessionId],
    noteDeletion: auditDeletions(bench.database),
    erasure: { prepare: async () => {}, relieve: async () => {}, finish: async () => "done" },
    extraction: { wake: async () => {}, cancel: () => {}, close: async () => {} },
  });
  let seeded = 0;
  let first = Number.NaN;
  for (const size of sizes) {
    seedEntries(bench.path, { from: seeded, to: size });
    seeded = size;
    const bare: number[] = [];
    const plain: number[] = [];
    const erased: number[] = [];
    const scattered: number[] = [];
    for (let round = 0; round < rounds; round++) {
      bare.push(await bareDelete(bench, round));
      const ofOneSite = (n: number) => `https://example.com/${round}/${n}`;
      plain.push(await timed(bench, ofOneSite, (id) => withoutErasure.one(everythingOf("bench"), id, tester)));
      const remove = (id: string) => bench.logs.delete(bench.caller, id, tester);
      erased.push(await timed(bench, ofOneSite, remove));
      scattered.push(await timed(bench, (n) => `https://${word(round * addresses + n)}.example/x`, remove));
    }
    const [a, b, c, d] = [bare, plain, erased, scattered].map((times) => quantile(times, 0.5));
    if (a === undefined || b === undefined || c === undefined || d === undefined)
      throw new Error("nothing was measured");
    if (Number.isNaN(first)) first = c;
    const [quietBare, quietDelete] = [quantile(bare, 0.1), quantile(erased, 0.1)];
    console.log(
      `${size} entries: bare cascade p50 ${a.toFixed(2)} ms | delete p50 ${c.toFixed(2)} ms (p99 ${quantile(erased, 0.99).toFixed(2)}), ` +
        `${(a / c).toFixed(2)} of the bare rate (of the best tenth ${(quietBare / quietDelete).toFixed(2)}, ${quietDelete.toFixed(2)} ms) | without erasure ${b.toFixed(2)} ms, ${(a / b).toFixed(2)} of the bare rate | ` +
        `erasure costs ${((c - b) / b).toFixed(2)} of the plain delete | ${(c / first).toFixed(2)} of the first size | ` +
        `addresses of ${addresses} sites ${d.toFixed(2)} ms, ${(a / d).toFixed(2)} of the bare rate`,
    );
  }
});

/** One parent with its children, of the size of a fact with its statement. */
async function bareDelete({ database: { db } }: BenchLogs, round: number): Promise<number> {
  await db.transaction().execute(async (tx) => {
    await sql`insert into bench_parents values (${round}, ${"x".repeat(2_000)})`.execute(tx);
    for (let n = 0; n < children; n++) {
      await sql`insert into bench_children (parent_id, content) values (${round}, ${`https://example.com/${round}/${n}`})`.execute(
        tx,
      );
    }
  });
  await sql`pragma wal_checkpoint(truncate)`.execute(db);
  const began = performance.now();
  await sql`delete from bench_parents where id = ${round}`.execute(db);
  return performance.now() - began;
}

async function timed(
  { logs, caller }: BenchLogs,
  addressOf: (n: number) => string,
  remove: (id: string) => Promise<unknown>,
): Promise<number> {
  const content = Array.from({ length: addresses }, (_, n) => addressOf(n)).join(" ");
  const { log } = await logs.submit(caller, { content });
  // What was recorded lately is in the journal: it is emptied so that the deletion pays for itself alone.
  await logs.delete(caller, (await logs.submit(caller, { content: "x" })).log.logId, tester);
  const began = performance.now();
  await remove(log.logId);
  return performance.now() - began;
}
