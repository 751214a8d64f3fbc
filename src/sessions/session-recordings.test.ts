import { expect, test } from "vitest";
import { describeOnBothStores } from "../../test/support/database.ts";
import { sessionRecord } from "../../test/support/session-record.ts";
import { dropRecordings, recordingsOf, terminalsOfOnly } from "./session-recordings.ts";
import { createSessionStore } from "./session-store.ts";

const record = sessionRecord({ sessionId: "first" });

describeOnBothStores("which terminals showed a session", (openStore) => {
  test("follows launches, a change of its id, and the session that a terminal continues with", async () => {
    const { db } = await openStore();
    const store = createSessionStore(db, { nodeId: "local" });
    const shown = async (sessionId: string) =>
      (await recordingsOf(db, sessionId)).map(({ terminalId, startedAt, endedAt }) => [terminalId, startedAt, endedAt]);
    await store.insert({ ...record, terminalId: "one", updatedAt: 10 });
    await store.insert({ ...record, sessionId: "found on disk" });
    await store.rekey("first", "real");
    await store.update("real", { terminalId: null, updatedAt: 20 });
    await store.update("real", { terminalId: "two", updatedAt: 30 });
    expect(await shown("real")).toEqual([
      ["one", 10, null],
      ["two", 30, null],
    ]);
    const next = { ...record, sessionId: "next", terminalId: "two", updatedAt: 40 };
    await store.succeed("real", next, async () => undefined);
    // And back to the first one, in the same terminal.
    await store.succeed("next", { ...next, sessionId: "real", updatedAt: 50 }, async () => undefined);
    expect(await shown("real")).toEqual([
      ["one", 10, null],
      ["two", 30, 40],
      ["two", 50, null],
    ]);
    expect(await shown("next")).toEqual([["two", 40, 50]]);
    expect(await shown("found on disk")).toEqual([]);
    expect(await terminalsOfOnly(db, "real")).toEqual(["one"]);
    expect(await terminalsOfOnly(db, "next")).toEqual([]);
    await dropRecordings(db, "real");
    expect(await shown("real")).toEqual([]);
    expect(await terminalsOfOnly(db, "next")).toEqual(["two"]);
  });
});
