import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { describeOnBothStores, openSqliteTestStore, type TestStore } from "../../test/support/database.ts";
import { addAccount, callOf, openTestErasure, openTestLogs, tester, turnOf, whole } from "../../test/support/logs.ts";
import { createAccounts } from "../accounts/index.ts";
import { systemClock } from "../core/clock.ts";
import { silentLog } from "../core/log.ts";
import { createAccountForgetting } from "./index.ts";

const tables = ["log_entries", "log_turns", "episodes", "log_chunks", "log_words", "entities", "statements", "facts"];

async function rowsOf({ db }: TestStore, accountId: string): Promise<number> {
  let rows = 0;
  for (const table of [...tables, "log_suppressions"]) {
    const counted = await sql<{ n: number }>`select count(*) as n from ${sql.table(table)}
      where account_id = ${accountId}`.execute(db);
    rows += counted.rows[0]?.n ?? 0;
  }
  return rows;
}

async function setUp(store: TestStore) {
  const forgetting = createAccountForgetting({
    ...store,
    clock: systemClock,
    log: silentLog,
    erasure: openTestErasure(store),
  });
  const { directory } = createAccounts({
    db: store.db,
    clock: systemClock,
    removeWithAll: (accountId, remove) => forgetting.forget(accountId, remove),
  });
  const logs = await openTestLogs(store);
  const remember = async (accountId: string, text: string) => {
    await logs.submit(whole(accountId), { content: `Decision: ${text} = ${text} https://${text}.example` });
    const turns = [turnOf(0, [text, callOf("Edit", { file_path: `/f/${text}` })]), turnOf(1, [text])];
    const context = { agent: "codex", repository: "/code/r", branch: "main" };
    const recording = { sessionId: text, title: text, dir: "/code/r", context, onPurpose: false };
    for (const turn of turns) await logs.record(accountId, { ...recording, turns: [turn] });
    const { logs: entries } = await logs.list(whole(accountId), { sessionId: text, limit: 1 });
    await logs.delete(whole(accountId), entries[0]?.logId ?? "", tester);
  };
  return { forgetting, directory, logs, remember };
}

describeOnBothStores("removing an account", (openStore) => {
  test("removes all that is remembered for it, and nothing of another", async () => {
    const store = await openStore();
    const { directory, logs, remember } = await setUp(store);
    const [gone, stays] = [await addAccount(store), await addAccount(store)];
    await remember(gone, "theirs");
    await remember(stays, "ours");
    const before = await rowsOf(store, stays);
    expect(await rowsOf(store, gone)).toBe(before);
    await directory.remove(gone);
    expect(await rowsOf(store, gone)).toBe(0);
    expect(await directory.find(gone)).toBeNull();
    expect(await rowsOf(store, stays)).toBe(before);
    expect((await logs.search(whole(stays), { q: "ours" })).hits).not.toEqual([]);
    const { rows } = await sql`select * from log_postings where word_id not in (select word_id from log_words)`.execute(
      store.db,
    );
    expect(rows).toEqual([]);
  });

  test("leaves nothing of what is remembered meanwhile either", async () => {
    const store = await openStore();
    const { directory, logs, remember } = await setUp(store);
    const [gone, stays] = [await addAccount(store), await addAccount(store)];
    await remember(gone, "theirs");
    const submit = (accountId: string, n: number) =>
      logs.submit(whole(accountId), { content: `Decision: later = ${n} https://later.example/${n}` });
    const submitSome = () => Promise.allSettled(Array.from({ length: 16 }, (_, n) => submit(gone, n)));
    const before = submitSome();
    const removal = directory.remove(gone);
    const after = submitSome();
    const others = Array.from({ length: 16 }, (_, n) => submit(stays, n));
    await removal;
    await Promise.all(others); // its writes share a transaction with refused ones
    await Promise.all([before, after]); // both are correct: stored and then removed, or refused
    await expect(submit(gone, 0)).rejects.toThrow();
    expect(await rowsOf(store, gone)).toBe(0);
    expect((await logs.list(whole(stays), { limit: 50 })).logs).toHaveLength(16);
  });

  test("that cannot be removed at last takes its memory at one moment, and is removed by the next start", async () => {
    const store = await openStore();
    const { forgetting, directory, remember } = await setUp(store);
    const [gone, stays] = [await addAccount(store), await addAccount(store)];
    await remember(gone, "theirs");
    await remember(stays, "ours");
    const before = await rowsOf(store, stays);
    const failing = async () => {
      throw new Error("no");
    };
    await expect(forgetting.forget(gone, failing)).rejects.toThrow("no");
    const again = await openTestLogs(store);
    expect((await again.list(whole(gone), {})).logs).toEqual([]);
    expect((await again.search(whole(gone), { q: "theirs" })).hits).toEqual([]);
    await expect.poll(() => directory.find(gone), { timeout: 15_000 }).toBeNull();
    expect(await rowsOf(store, gone)).toBe(0);
    expect(await rowsOf(store, stays)).toBe(before);
  });
});

test("what was remembered for a removed account is in no file afterwards", async () => {
  const store = await openSqliteTestStore();
  const { directory, remember } = await setUp(store);
  const [gone, stays] = [await addAccount(store), await addAccount(store)];
  const sentinel = "qzvwxkqjzvwx";
  for (const text of ["one", "two"]) await remember(stays, text);
  await remember(gone, sentinel);
  await remember(stays, "three");
  await directory.remove(gone);
  const folder = dirname(store.place.path);
  const files = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), "latin1")));
  expect(files.join("")).not.toContain(sentinel);
  expect(files.join("")).toContain("three");
});
