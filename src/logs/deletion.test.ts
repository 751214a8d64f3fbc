import fc from "fast-check";
import { expect, test } from "vitest";
import { describeOnBothStores } from "../../test/support/database.ts";
import { errorCode } from "../../test/support/error-code.ts";
import { checkOracle, corpora, countsOf, createWorld } from "../../test/support/log-oracle.ts";
import { addAccount, callOf, openTestLogs, tester, turnOf, whole } from "../../test/support/logs.ts";
import { suiteSeed } from "../../test/support/suite-seed.ts";
import { sha256 } from "../core/ids.ts";

const nothing = { agent: null, repository: null, branch: null };

describeOnBothStores("deleting", (openStore) => {
  async function setUp() {
    const store = await openStore();
    return { store, logs: await openTestLogs(store), me: await addAccount(store) };
  }

  test("takes what only this entry said, counts it, and leaves what is shared", async () => {
    const { store, logs, me } = await setUp();
    const first = (
      await logs.submit(whole(me), { content: "Decision: a = b\nhttps://one.example https://both.example" })
    ).log;
    const second = (await logs.submit(whole(me), { content: "https://both.example" })).log;
    expect(await logs.preview(whole(me), first.logId)).toEqual({
      logId: first.logId,
      removed: { episode: true, statements: 3, entities: 2, facts: 4 },
      shared: { statements: 1, entities: 2 },
    });
    expect(await logs.delete(whole(me), first.logId, tester)).toEqual({
      success: true,
      message:
        "Deleted the memory entry and its episode, with 4 facts, 3 statements and 2 entities that no other entry refers to.",
      deleted: { episode: true, statements: 3, entities: 2, facts: 4 },
    });
    expect(await errorCode(logs.delete(whole(me), first.logId, tester))).toBe("log_not_found");
    expect((await logs.get(whole(me), second.logId)).facts).toHaveLength(1);
    const audited = await store.db.selectFrom("audit_entries").selectAll().execute();
    expect(audited).toMatchObject([{ action: "log_deleted", account_id: me, subject: sha256(first.logId) }]);
    expect(JSON.parse(audited[0]?.details ?? "")).toEqual({
      ...{ logs: 1, episodes: 1, statements: 3, entities: 2, facts: 4 },
      with: "test",
    });
  });

  test("finds a session's entries by every name it ever had, and no other account's", async () => {
    const store = await openStore();
    const names = ["own", "stand-in", "before"];
    const logs = await openTestLogs(store, { namesOf: async (name) => (names.includes(name) ? names : [name]) });
    const [me, other] = [await addAccount(store), await addAccount(store)];
    const said = async (accountId: string, sessionId: string) =>
      (await logs.submit(whole(accountId), { content: "Decision: a = b", sessionId })).log.logId;
    const [own, before] = [await said(me, "own"), await said(me, "before")];
    const [apart, theirs] = [await said(me, "apart"), await said(other, "own")];
    const listed = async (accountId: string, sessionId: string) =>
      (await logs.list(whole(accountId), { sessionId })).logs.map(({ logId }) => logId).toSorted();
    for (const name of names) expect(await listed(me, name)).toEqual([own, before].toSorted());
    expect(await listed(me, "apart")).toEqual([apart]);
    expect(await logs.deleteSession(whole(me), "stand-in", tester)).toMatchObject({ deleted: { logs: 2 } });
    expect(await listed(me, "own")).toEqual([]);
    expect(await errorCode(logs.deleteSession(whole(me), "before", tester))).toBe("log_not_found");
    expect(await listed(other, "before")).toEqual([theirs]);
    const audited = await store.db.selectFrom("audit_entries").select("subject").execute();
    expect(audited).toEqual([{ subject: sha256("own") }]);
  });

  test("takes all entries of a session at once", async () => {
    const { store, logs, me } = await setUp();
    const blocks = [callOf("Read", { file_path: "/a" }), "Decision: a = b"];
    for (const sessionId of ["s1", "s2"]) {
      for (const index of [0, 1, 2]) {
        await logs.record(me, {
          sessionId,
          title: null,
          dir: null,
          context: nothing,
          onPurpose: false,
          turns: [turnOf(index, blocks)],
        });
      }
    }
    const before = await countsOf({ store });
    const { deleted, message } = await logs.deleteSession(whole(me), "s1", tester);
    const after = await countsOf({ store });
    expect(deleted).toEqual({
      logs: 3,
      episodes: 3,
      statements: before.statements - after.statements,
      entities: before.entities - after.entities,
      facts: before.facts - after.facts,
    });
    expect(message).toMatch(/^Deleted 3 memory entries of the session and 3 episodes, with 12 facts/);
    expect(await errorCode(logs.deleteSession(whole(me), "s1", tester))).toBe("log_not_found");
    expect((await logs.list(whole(me), {})).logs).toHaveLength(3);
    await logs.deleteSession(whole(me), "s2", tester);
    expect(await countsOf({ store })).toEqual({ episodes: 0, statements: 0, entities: 0, facts: 0 });
    expect(await store.db.selectFrom("log_words").selectAll().execute()).toEqual([]);
  });

  test("sixteen at once, during recording: one of each succeeds, and the counts add up", async () => {
    const { store, logs, me } = await setUp();
    const again = await openTestLogs(await store.openAgain().then((one) => ({ ...store, ...one })));
    const content = (n: number) => `Decision: a = ${n % 3}\nhttps://x.example/${n % 5} https://x.example/only${n}`;
    const ids: string[] = [];
    for (let n = 0; n < 16; n++) ids.push((await logs.submit(whole(me), { content: content(n) })).log.logId);
    const before = await countsOf({ store });
    const attempts = ids.flatMap((id) =>
      [logs, again].map((one) => one.delete(whole(me), id, tester).catch(() => null)),
    );
    const entered = Array.from({ length: 16 }, (_, n) =>
      (n % 2 ? logs : again).submit(whole(me), { content: content(n + 16) }),
    );
    const answers = (await Promise.all(attempts)).filter((answer) => answer !== null);
    const added = (await Promise.all(entered)).map(({ log }) => log.logId);
    expect(answers).toHaveLength(16);
    const facts = answers.reduce((sum, { deleted }) => sum + deleted.facts, 0);
    expect(facts).toBe(before.facts);
    const middle = await countsOf({ store });
    const fresh = await setUp();
    for (let n = 16; n < 32; n++) await fresh.logs.submit(whole(fresh.me), { content: content(n) });
    expect(middle).toEqual(await countsOf(fresh));
    for (const id of added) await logs.delete(whole(me), id, tester);
    expect(await countsOf({ store })).toEqual({ episodes: 0, statements: 0, entities: 0, facts: 0 });
    expect(await store.db.selectFrom("log_words").selectAll().execute()).toEqual([]);
  });

  test("leaves a store as one that never had the entries, whatever goes in whatever order", {
    timeout: 60_000,
  }, async () => {
    const [first, second] = [await openStore(), await openStore()];
    const one = await createWorld(first, await openTestLogs(first));
    const other = await createWorld(second, await openTestLogs(second));
    await fc.assert(
      fc.asyncProperty(corpora, async (corpus) => checkOracle(one, other, corpus)),
      { seed: suiteSeed, numRuns: 8 },
    );
  });
});
