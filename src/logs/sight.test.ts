import fc from "fast-check";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { describeOnBothStores } from "../../test/support/database.ts";
import { errorCode } from "../../test/support/error-code.ts";
import { checkSight, corpora, createWorld } from "../../test/support/log-oracle.ts";
import { addAccount, callOf, openTestLogs, tester, turnOf, whole } from "../../test/support/logs.ts";
import { suiteSeed } from "../../test/support/suite-seed.ts";
import type { LogsCaller } from "./index.ts";
import { visibilityFilterOf } from "./visibility-filter.ts";

describeOnBothStores("who is limited to folders", (openStore) => {
  test("sees what a store with only those entries shows, whatever else there is", {
    timeout: 60_000,
  }, async () => {
    const [first, second] = [await openStore(), await openStore()];
    const one = await createWorld(first, await openTestLogs(first));
    const other = await createWorld(second, await openTestLogs(second));
    await fc.assert(
      fc.asyncProperty(corpora, async (corpus) => checkSight(one, other, corpus)),
      { seed: suiteSeed, numRuns: 3 },
    );
  });

  test("says where an entry is of, and may not say it of elsewhere", async () => {
    const store = await openStore();
    const logs = await openTestLogs(store);
    const me = await addAccount(store);
    const limited: LogsCaller = { accountId: me, folders: ["/code/x"] };
    expect(await errorCode(logs.submit(limited, { content: "of no place" }))).toBe("dir_not_allowed");
    expect(await errorCode(logs.submit(limited, { content: "elsewhere", dir: "/code/xy" }))).toBe("dir_not_allowed");
    const { log } = await logs.submit(limited, { content: "here", dir: "/code/x/deep" });
    expect(log.dir).toBe("/code/x/deep");
    expect((await logs.list(limited, {})).logs).toEqual([log]);
    expect((await logs.list(whole(me), {})).logs).toEqual([log]);
  });

  test("does not learn which idempotency keys are used elsewhere", async () => {
    const store = await openStore();
    const logs = await openTestLogs(store);
    const me = await addAccount(store);
    const limited: LogsCaller = { accountId: me, folders: ["/code/x"] };
    const key = { idempotencyKey: "k" };
    await logs.submit(whole(me), { content: "mine", dir: "/code/y" }, key);
    const { created, log } = await logs.submit(limited, { content: "theirs", dir: "/code/x" }, key);
    expect(created).toBe(true);
    expect(await logs.submit(limited, { content: "theirs", dir: "/code/x" }, key)).toEqual({ created: false, log });
    expect(await errorCode(logs.submit(limited, { content: "other", dir: "/code/x" }, key))).toBe(
      "idempotency_conflict",
    );
  });
});

describeOnBothStores("while a folder is registered", (openStore) => {
  test("entries of other directories are hidden, and those of no place are not", async () => {
    const store = await openStore();
    const registered = new Set(["/code/x"]);
    const logs = await openTestLogs(store, {
      visibleAmong: async (dirs) => new Set(dirs.filter((dir) => registered.has(dir))),
    });
    const me = await addAccount(store);
    const record = async (sessionId: string, dir: string | null) => {
      const turns = [turnOf(0, [callOf("Edit", { file_path: `/f/${sessionId}` })])];
      const context = { agent: null, repository: null, branch: null };
      return logs.record(me, { sessionId, title: sessionId, dir, context, turns, onPurpose: false });
    };
    await record("x", "/code/x");
    const { logIds } = await record("y", "/code/y");
    await record("none", null);
    const titles = async () =>
      (await logs.list(whole(me), {})).logs
        .map(({ title }) => title)
        .toSorted((a, b) => String(a).localeCompare(`${b}`));
    const files = async () => (await logs.entities(whole(me), { type: "File" })).entities.map(({ key }) => key);
    expect(await titles()).toEqual(["none", "x"]);
    expect(await files()).toEqual(["/f/none", "/f/x"]);
    expect((await logs.facts(whole(me), { object: "File:/f/y" })).facts).toEqual([]);
    expect(await errorCode(logs.deleteSession(whole(me), "y", tester))).toBe("log_not_found");
    expect(await errorCode(logs.get(whole(me), logIds[0] ?? ""))).toBe("log_not_found");
    const decide = async (dir: string, day: number) =>
      logs.submit(whole(me), { content: `Decision: a = ${day}`, dir, observedAt: `2025-05-0${day}T00:00:00Z` });
    for (const [day, dir] of ["/code/x", "/code/y", "/code/x", "/code/y"].entries()) await decide(dir, day + 1);
    const held = async (input: Parameters<typeof logs.facts>[1]) =>
      (await logs.facts(whole(me), { predicate: "status", ...input })).facts.map(({ validTo }) =>
        validTo?.slice(0, 10),
      );
    expect(await held({})).toEqual([undefined, "2025-05-03"]); // ended by what is seen
    expect(await held({ subject: "Decision:a" })).toEqual([undefined, "2025-05-03"]);
    registered.add("/code/y"); // takes effect immediately
    expect((await titles()).length).toBe(3 + 4);
    expect(await held({})).toHaveLength(4);
    expect((await logs.deleteSession(whole(me), "y", tester)).deleted.logs).toBe(1);
  });
});

describeOnBothStores("of very many directories", (openStore) => {
  test("nothing is hidden while no folder is registered, and else what the rule hides", {
    timeout: 60_000,
  }, async () => {
    const store = await openStore();
    const me = await addAccount(store);
    const dirs = Array.from({ length: 20_003 }, (_, n) => [`/code/${String(n).padStart(6, "0")}`]);
    const json = JSON.stringify(dirs);
    const rows =
      store.dialect === "sqlite"
        ? sql`json_each(${json}) as item`
        : sql`json_array_elements(${json}::json) as item(value)`;
    await sql`insert into log_entries (log_id, account_id, source, dir, form, content, context, observed_at, recorded_at, status)
      select item.value->>0, ${me}, 'api', item.value->>0, 'text', '', '{}', 1, 1, 'ready' from ${rows}`.execute(
      store.db,
    );
    const visibility = (visible: (dir: string) => boolean, folders: readonly string[] | null = null) =>
      visibilityFilterOf(
        { ...store, visibleAmong: async (some) => new Set(some.filter(visible)) },
        { accountId: me, folders },
      );
    expect(await visibility(() => true)).toEqual({
      accountId: me,
      dirs: null,
      placeless: true,
      someMarked: false,
    });
    expect((await visibility((dir) => dir !== "/code/020002")).dirs).toHaveLength(10_000);
    expect((await visibility((dir) => dir >= "/code/020000")).dirs).toEqual([
      "/code/020000",
      "/code/020001",
      "/code/020002",
    ]);
    expect((await visibility((dir) => dir >= "/code/020000", ["/code"])).placeless).toBe(false);
  });
});
