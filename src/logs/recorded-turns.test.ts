import { expect, test } from "vitest";
import { describeOnBothStores } from "../../test/support/database.ts";
import { errorCode } from "../../test/support/error-code.ts";
import { addAccount, openTestLogs, tester, turnOf, whole } from "../../test/support/logs.ts";

describeOnBothStores("turns of a session with several names", (openStore) => {
  async function setUp() {
    const store = await openStore();
    const names = ["own", "stand-in"];
    const namesOf = async (name: string) => (names.includes(name) ? names : [name]);
    const logs = await openTestLogs(store, { namesOf });
    const me = await addAccount(store);
    const context = { agent: null, repository: null, branch: null };
    const record = (sessionId: string, indexes: readonly number[], { onPurpose = false, dir = "/code/app" } = {}) => {
      const turns = indexes.map((index) => turnOf(index, [`word${index}`]));
      return logs.record(me, { sessionId, title: null, dir, context, turns, onPurpose });
    };
    return { store, logs, me, record };
  }

  test("are recorded once, by whatever name they come", async () => {
    const { logs, me, record } = await setUp();
    expect(await record("stand-in", [0, 1])).toMatchObject({ outcome: "recorded", turns: 2 });
    expect(await record("own", [0, 1])).toEqual({ outcome: "known", logIds: [], turns: 0 });
    expect(await record("own", [1, 2])).toMatchObject({ outcome: "recorded", turns: 1 });
    expect(await record("stand-in", [0, 1, 2], { onPurpose: true })).toMatchObject({ outcome: "known" });
    expect((await logs.list(whole(me), { sessionId: "own" })).logs).toHaveLength(2);
    expect(await record("apart", [0])).toMatchObject({ outcome: "recorded" });
  });

  test("do not come back under another name when they were deleted, but on purpose, and then by all", async () => {
    const { store, logs, me, record } = await setUp();
    await record("stand-in", [0, 1, 2]);
    await logs.deleteSession(whole(me), "own", tester);
    for (const name of ["own", "stand-in"])
      expect(await record(name, [0, 1, 2])).toMatchObject({ outcome: "suppressed" });
    expect(await record("own", [1], { onPurpose: true })).toMatchObject({ outcome: "recorded", turns: 1 });
    const left = await store.db.selectFrom("log_suppressions").selectAll().orderBy("first_turn").execute();
    expect(left).toMatchObject([
      { session_id: "stand-in", first_turn: 0, last_turn: 0 },
      { session_id: "stand-in", first_turn: 2, last_turn: 2 },
    ]);
    expect(await record("own", [0, 1, 2])).toMatchObject({ outcome: "suppressed" });
  });

  test("of a directory whose path is too long for the store are not recorded, and on purpose refused", async () => {
    const { store, logs, me, record } = await setUp();
    const dir = (bytes: number) =>
      `/${Array.from({ length: bytes - 1 }, (_, n) => String.fromCharCode(97 + ((n * n * 31) % 26))).join("")}`;
    const tooLong = `/${"é".repeat(1_024)}`;
    expect(await record("one", [0], { dir: tooLong })).toEqual({ outcome: "known", logIds: [], turns: 0 });
    expect(await errorCode(record("one", [0], { dir: tooLong, onPurpose: true }))).toBe("invalid_request");
    expect(await errorCode(logs.submit(whole(me), { content: "x", dir: tooLong }))).toBe("invalid_request");
    expect(await store.db.selectFrom("log_entries").selectAll().execute()).toEqual([]);
    expect(await record("one", [0], { dir: dir(2_048) })).toMatchObject({ outcome: "recorded" });
    expect((await logs.submit(whole(me), { content: "x", dir: dir(2_048) })).log.dir).toHaveLength(2_048);
  });
});
