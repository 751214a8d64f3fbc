import { type SqlBool, sql } from "kysely";
import { expect, test } from "vitest";
import { describeOnBothStores, type OpenTestStore, type TestStore } from "../../test/support/database.ts";
import { errorCode } from "../../test/support/error-code.ts";
import { countsOf } from "../../test/support/log-oracle.ts";
import { addAccount, openTestErasure, openTestLogs, tester, turnOf, whole } from "../../test/support/logs.ts";
import { systemClock } from "../core/clock.ts";
import type { Erasure } from "../storage/erasure.ts";
import type { Logs } from "./index.ts";
import { createLargeDeletions } from "./large-deletion.ts";

/** More than one transaction can remove. */
const entries = 12;
const nothing = { agent: null, repository: null, branch: null };

/** An erasure that pauses a deletion after its first transactions, until it is released. */
function stopping(erasure: Erasure) {
  const reached = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const stopped: Erasure = {
    start: () => erasure.start(),
    prepare: (within) => erasure.prepare(within),
    finish: () => erasure.finish(),
    get isPending() {
      return erasure.isPending;
    },
    close: () => erasure.close(),
    async relieve() {
      reached.resolve();
      await goOn.promise;
    },
  };
  return { erasure: stopped, reached: reached.promise, goOn: () => goOn.resolve() };
}

async function setUp(openStore: OpenTestStore) {
  const store = await openStore();
  const stop = stopping(openTestErasure(store));
  const logs = await openTestLogs(store, { erasure: stop.erasure });
  const me = await addAccount(store);
  const keep = (await logs.submit(whole(me), { content: "Decision: both = 1\nhttps://both.example stays" })).log.logId;
  for (let n = 0; n < entries; n++) await recordTurn(logs, me, n);
  return { store, stop, logs, me, keep };
}

function recordTurn(logs: Logs, accountId: string, n: number, onPurpose = false) {
  const said = `Decision: both = 1\nDecision: own${n} = 1\nhttps://both.example https://own.example/${n} gone goner${n}`;
  const recording = { sessionId: "s", title: null, dir: null, context: nothing, onPurpose };
  return logs.record(accountId, { ...recording, turns: [turnOf(n, [said])] });
}

async function rowsOf({ db }: TestStore, table: string): Promise<number> {
  const { rows } = await sql<{ n: number }>`select count(*) as n from ${sql.table(table)}`.execute(db);
  return rows[0]?.n ?? 0;
}

/** The parts that a caller sees, except the ids. */
async function seen(logs: Logs, me: string) {
  return {
    listed: (await logs.list(whole(me), {})).logs.length,
    ofSession: (await logs.list(whole(me), { sessionId: "s" })).logs.length,
    facts: (await logs.facts(whole(me), {})).facts.length,
    entities: (await logs.entities(whole(me), {})).entities.map(({ key }) => key).toSorted(),
    found: (await logs.search(whole(me), { q: "goner1" })).hits.length,
    begun: (await logs.search(whole(me), { q: "gon*" })).hits.length,
  };
}

const onlyKept = {
  ...{ listed: 1, ofSession: 0, facts: 3, found: 0, begun: 0 },
  entities: ["api", "both", "https://both.example"],
};

describeOnBothStores("a deletion of more entries than one transaction removes", (openStore) => {
  test("is seen at one moment: what is left of it shows in nothing, while others write", async () => {
    const { store, stop, logs, me, keep } = await setUp(openStore);
    const deleting = logs.deleteSession(whole(me), "s", tester);
    await stop.reached;
    expect(await rowsOf(store, "log_entries")).toBeGreaterThan(1);
    expect(await seen(logs, me)).toEqual(onlyKept);
    expect(await logs.preview(whole(me), keep)).toMatchObject({ removed: { statements: 3, entities: 3, facts: 3 } });
    expect(await errorCode(logs.deleteSession(whole(me), "s", tester))).toBe("log_not_found");
    const { log } = await logs.submit(whole(me), { content: "another" });
    expect((await logs.get(whole(me), log.logId)).status).toBe("ready");
    expect(await rowsOf(store, "audit_entries")).toBe(0);
    stop.goOn();
    expect((await deleting).deleted).toMatchObject({ logs: entries, episodes: entries, facts: 6 * entries });
    await logs.delete(whole(me), log.logId, tester);
    expect(await countsOf({ store })).toMatchObject({ episodes: 1, facts: 3 });
    const audited = await store.db.selectFrom("audit_entries").select(["action", "details"]).execute();
    expect(audited.map(({ action }) => action)).toEqual(["session_logs_deleted", "log_deleted"]);
    expect(JSON.parse(audited[0]?.details ?? "")).toMatchObject({ logs: entries, facts: 6 * entries, with: "test" });
  });

  test("is done by the next start when the process ends before, and nothing of it was seen meanwhile", async () => {
    const { store, stop, logs, me } = await setUp(openStore);
    const deleting = errorCode(logs.deleteSession(whole(me), "s", tester));
    await stop.reached;
    const closing = logs.close();
    stop.goOn();
    await closing;
    expect(await deleting).toBe("store_unavailable");
    expect(await rowsOf(store, "log_entries")).toBeGreaterThan(1);
    const again = await openTestLogs(store);
    expect(await seen(again, me)).toEqual(onlyKept);
    await expect.poll(() => rowsOf(store, "log_deletions"), { timeout: 15_000 }).toBe(0);
    expect(await seen(again, me)).toEqual(onlyKept);
    expect(await countsOf({ store })).toEqual({ episodes: 1, statements: 3, entities: 3, facts: 3 });
    for (const table of ["log_entries", "log_chunks", "audit_entries"]) expect(await rowsOf(store, table)).toBe(1);
    expect(await rowsOf(store, "log_deletion_entries")).toBe(0);
    expect(await rowsOf(store, "log_words")).toBe(await rowsOf(store, "log_postings"));
  });

  test("leaves no marks when it fails before it is decided, and all its entries", async () => {
    const { store, logs, me } = await setUp(openStore);
    const before = await seen(logs, me);
    const large = createLargeDeletions({
      ...store,
      clock: systemClock,
      erasure: openTestErasure(store),
      atEnd: () => Promise.resolve(),
    });
    const asked = { accountId: me, plan: { action: "account_removed" as const }, parts: [sql<SqlBool>`true`] };
    const failing = large.run(asked, async (logIds) => {
      expect(await rowsOf(store, "log_deletion_entries")).toBe(logIds.length);
      throw new Error("refused");
    });
    await expect(failing).rejects.toThrow("refused");
    expect(await rowsOf(store, "log_deletion_entries")).toBe(0);
    expect(await rowsOf(store, "log_deletions")).toBe(0);
    expect(await seen(logs, me)).toEqual(before);
    await large.close();
  });

  test("does not take what is recorded again on purpose meanwhile", async () => {
    const { store, stop, logs, me } = await setUp(openStore);
    const deleting = logs.deleteSession(whole(me), "s", tester);
    await stop.reached;
    const last = entries - 1;
    expect((await recordTurn(logs, me, last)).outcome).toBe("suppressed");
    expect((await recordTurn(logs, me, last, true)).outcome).toBe("recorded");
    stop.goOn();
    expect((await deleting).deleted).toMatchObject({ logs: entries });
    expect((await logs.list(whole(me), { sessionId: "s" })).logs).toHaveLength(1);
    expect((await recordTurn(logs, me, 0)).outcome).toBe("suppressed");
    expect((await recordTurn(logs, me, last)).outcome).toBe("known");
    expect(await rowsOf(store, "log_entries")).toBe(2);
  });
});
