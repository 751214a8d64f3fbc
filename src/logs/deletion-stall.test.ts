import { expect, test } from "vitest";
import { quantile } from "../../bench/measure.ts";
import { latenciesDuring } from "../../test/support/arrivals.ts";
import { describeOnBothStores } from "../../test/support/database.ts";
import { addAccount, openTestLogs, tester, whole } from "../../test/support/logs.ts";
import { seedSession } from "../../test/support/seed-logs.ts";
import { createAccounts } from "../accounts/index.ts";
import { systemClock } from "../core/clock.ts";

const entries = 3_000;
/** The limit for a request's 90th percentile while entries are deleted. `bench/deletion-stall.ts` measures the 99th on a quiet machine. */
const limitMs = 50;
/** On a slow machine, the limit as a multiple of the 90th percentile while nothing is deleted. */
const maxRatio = 5;
const quietMs = 1_000;
const everyMs = 20;
/** Minimum writes during the deletion. With one batch for everything there are about ten. */
const minWrites = 25;
const pauseMs = 20;

describeOnBothStores(`while ${entries} entries are deleted`, (openStore) => {
  test("a request is authenticated and reads, and others write, without waiting for the end", {
    timeout: 120_000,
  }, async () => {
    const store = await openStore();
    const [me, other] = [await addAccount(store), await addAccount(store)];
    await seedSession(store, { accountId: me, sessionId: "s", entries });
    const logs = await openTestLogs(store);
    const accounts = createAccounts({ db: store.db, clock: systemClock });
    const wanted = { name: "t", scopes: ["coding:read"] as const, expiresAt: null, folders: null };
    const { token } = await accounts.tokens.create(other, wanted);
    const request = async (): Promise<void> => {
      await accounts.authenticate({ kind: "header", authorization: `Bearer ${token}` });
      await store.db.selectFrom("accounts").select("name").where("account_id", "=", other).execute();
    };
    const quiet = await latenciesDuring(systemClock.sleep(quietMs), request, everyMs);
    const deletion = logs.deleteSession(whole(me), "s", tester);
    const submit = () => logs.submit(whole(me), { content: "another", sessionId: "other" });
    const [during, written, { deleted }] = await Promise.all([
      latenciesDuring(deletion, request, everyMs),
      countDuring(deletion, submit),
      deletion,
    ]);
    expect(deleted).toMatchObject({ logs: entries, facts: 3 * entries });
    expect(written).toBeGreaterThan(minWrites);
    const [quietP90, p90] = [quantile(quiet, 0.9), quantile(during, 0.9)];
    expect(p90).toBeLessThan(Math.max(limitMs, maxRatio * quietP90));
  });
});

/** Counts the sequential requests that are answered before a task ends. */
async function countDuring(task: Promise<unknown>, request: () => Promise<unknown>): Promise<number> {
  let isOver = false;
  const over = (): void => void (isOver = true);
  task.then(over, over);
  let answered = 0;
  while (!isOver) {
    await request();
    if (!isOver) answered += 1;
    await systemClock.sleep(pauseMs);
  }
  return answered;
}
