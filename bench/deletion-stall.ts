/**
 * Do requests wait while thousands of memory entries are deleted? On both stores: a request that authenticates a token and reads a row,
 * due every 10 ms (a stall counts for each one due meanwhile), and one that writes a row, due every 50 ms. First on an idle store, then
 * during the deletion of a session. Target: the first's p99 under 50 ms.
 *
 * `node bench/deletion-stall.ts [entries]`
 */
import { performance } from "node:perf_hooks";
import { createAccounts } from "../src/accounts/index.ts";
import { systemClock } from "../src/core/clock.ts";
import { latenciesDuring } from "../test/support/arrivals.ts";
import { tester } from "../test/support/logs.ts";
import { startPostgres } from "../test/support/postgres-server.ts";
import { seedSession } from "../test/support/seed-logs.ts";
import { median, quantile, sizeOf, small } from "./measure.ts";
import { type BenchLogs, withLogs } from "./rig/logs.ts";

const targetMs = 50;
const entries = sizeOf({ full: 3_000, small: 100, position: 0 });
const quietMs = sizeOf({ full: 3_000, small: 300 });
const readEveryMs = 10;
const writeEveryMs = 50;

async function measure({ logs, database, caller }: BenchLogs): Promise<void> {
  const { db, dialect } = database;
  await seedSession(database, { accountId: caller.accountId, sessionId: "s", entries });
  const accounts = createAccounts({ db, clock: systemClock });
  const other = await accounts.directory.add({ name: "other", scopes: ["coding:read"] });
  const wanted = { name: "bench", scopes: ["coding:read"] as const, expiresAt: null, folders: null };
  const { token } = await accounts.tokens.create(other.accountId, wanted);
  const read = async (): Promise<void> => {
    await accounts.authenticate({ kind: "header", authorization: `Bearer ${token}` });
    await db.selectFrom("accounts").select("name").where("account_id", "=", other.accountId).execute();
  };
  const write = () => db.updateTable("accounts").set({ created_at: Date.now() }).where("name", "=", "other").execute();
  const both = (task: Promise<unknown>) =>
    Promise.all([latenciesDuring(task, read, readEveryMs), latenciesDuring(task, write, writeEveryMs)]);

  await both(systemClock.sleep(quietMs / 3));
  const quiet = await both(systemClock.sleep(quietMs));
  const began = performance.now();
  const deletion = logs.deleteSession(caller, "s", tester).then(({ deleted }) => {
    if (deleted.logs !== entries) throw new Error(`${deleted.logs} of ${entries} entries were deleted.`);
    return performance.now() - began;
  });
  const during = await both(deletion);
  console.log(`${dialect}: ${entries} entries deleted in ${((await deletion) / 1_000).toFixed(1)} s`);
  for (const [at, name] of ["authenticate and read", "write"].entries()) {
    const [calm, busy] = [quiet[at] ?? [], during[at] ?? []];
    const [calmP99, busyP99] = [quantile(calm, 0.99), quantile(busy, 0.99)];
    console.log(
      `  ${name}: quiet p50 ${median(calm).toFixed(1)} ms, p99 ${calmP99.toFixed(1)} ms (${calm.length}); ` +
        `meanwhile p50 ${median(busy).toFixed(1)} ms, p99 ${busyP99.toFixed(1)} ms, longest ${Math.max(...busy).toFixed(1)} ms (${busy.length}); ` +
        `p99 ${(busyP99 / calmP99).toFixed(1)} times the quiet one${at === 0 ? `, target ${targetMs} ms` : ""}`,
    );
    if (at === 0 && busyP99 > targetMs && !small) process.exitCode = 1;
  }
}

await withLogs(measure);
const postgres = await startPostgres();
try {
  await withLogs(measure, await postgres.createDatabase());
} finally {
  await postgres.close();
}
