import { expect, test } from "vitest";
import { describeOnBothStores } from "../../test/support/database.ts";
import { addAccount, openTestLogs, turnOf, whole } from "../../test/support/logs.ts";

const context = { agent: null, repository: null, branch: null };

describeOnBothStores("a search of the memory", (openStore) => {
  test("searches only in the entries that a filter leaves, however many others rank before them", async () => {
    const store = await openStore();
    const logs = await openTestLogs(store, { namesOf: async (name) => (name === "old-name" ? ["s1", name] : [name]) });
    const me = await addAccount(store);
    const said = [turnOf(0, ["ask"]), turnOf(1, [`${"lorem ".repeat(60)} mirror`])];
    await logs.record(me, { sessionId: "s1", title: "first", dir: null, context, onPurpose: false, turns: said });
    for (const title of ["a", "b", "c"]) await logs.submit(whole(me), { title, content: "mirror mirror mirror" });
    await logs.submit(whole(me), { title: "named", content: "mirrors", sessionId: "s1" });
    const find = async (more: Partial<Parameters<typeof logs.search>[1]>, q = "mirror") => {
      const { hits, hasMore } = await logs.search(whole(me), { q, limit: 2, ...more });
      return [
        hits.map(({ log }) => log.title).toSorted((one, other) => (String(one) < String(other) ? -1 : 1)),
        hasMore,
      ];
    };
    expect(await find({ source: "session" })).toEqual([["first"], false]);
    expect(await find({ sessionId: "s1" })).toEqual([["first", "named"], false]);
    expect(await find({ sessionId: "old-name" }, '"mirror"')).toEqual([["first"], false]);
    expect(await find({ sessionId: "s1", source: "api" })).toEqual([["named"], false]);
    expect(await find({ sessionId: "elsewhere" })).toEqual([[], false]);
    expect(await find({ status: "failed" })).toEqual([[], false]);
    expect((await find({ status: "ready", source: "api" }))[1]).toBe(true);
  });
});
