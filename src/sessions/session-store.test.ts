import type { Kysely } from "kysely";
import { expect, test } from "vitest";
import { describeOnBothStores } from "../../test/support/database.ts";
import { sessionRecord } from "../../test/support/session-record.ts";
import { systemClock } from "../core/clock.ts";
import type { Tables } from "../storage/schema.ts";
import { createPromptQueue } from "./prompt-queue.ts";
import { createSessionStore } from "./session-store.ts";

const record = sessionRecord({
  sessionId: "provisional",
  title: "Fix it",
  permissionMode: "edits",
  launchId: "launch",
  terminalId: "terminal",
  createdAt: 1_700_000_000_000,
  updatedAt: 1_700_000_000_001,
});

async function insertOwner(db: Kysely<Tables>): Promise<void> {
  await db.insertInto("accounts").values({ account_id: "owner", name: "owner", is_owner: 1, created_at: 0 }).execute();
}

describeOnBothStores("session records", (openStore) => {
  test("a record comes back as it was put, and a patch changes only what it names", async () => {
    const store = createSessionStore((await openStore()).db, { nodeId: "local" });
    await store.insert(record);
    expect(await store.find("provisional")).toEqual(record);
    await store.update("provisional", { exitCode: 42, signal: null });
    await store.update("provisional", {});
    expect(await store.find("provisional")).toEqual({ ...record, exitCode: 42 });
    expect(await store.find("unknown")).toBeNull();
  });

  test("a session that took its agent's own id is found by both ids, with its prompts and remembered requests", async () => {
    const { db } = await openStore();
    const store = createSessionStore(db, { nodeId: "local" });
    const queue = createPromptQueue(db, systemClock);
    await store.insert(record);
    await insertOwner(db);
    const idempotency = { accountId: "owner", key: "k", requestHash: "h" };
    await queue.add({
      promptId: "p1",
      sessionId: "provisional",
      prompt: "one",
      state: "sent",
      started: "new",
      idempotency,
      undriven: false,
    });
    await store.rekey("provisional", "real");
    const rekeyed = { ...record, sessionId: "real", aliases: ["provisional"] };
    expect(await store.find("real")).toEqual(rekeyed);
    expect(await store.find("provisional")).toEqual(rekeyed);
    expect((await queue.open("real")).map(({ promptId }) => promptId)).toEqual(["p1"]);
    expect((await queue.remembered("owner", "k"))?.sessionId).toBe("real");
  });

  test("an id that another session holds is never taken, and nothing changes", async () => {
    const store = createSessionStore((await openStore()).db, { nodeId: "local" });
    await store.insert(record);
    await store.insert({ ...record, sessionId: "taken", terminalId: null });
    await expect(store.rekey("provisional", "taken")).rejects.toThrow();
    expect((await store.find("provisional"))?.sessionId).toBe("provisional");
    expect(await store.find("taken")).toEqual({ ...record, sessionId: "taken", terminalId: null });
  });

  test("a successor takes over terminal and waiting prompts, and an older record of it is taken up again, or nothing changes", async () => {
    const { db } = await openStore();
    const store = createSessionStore(db, { nodeId: "local" });
    await store.insert({ ...record, sessionId: "first" });
    const second = { ...record, sessionId: "second", createdAt: 5, updatedAt: 5 };
    await store.succeed("first", second, async () => undefined);
    expect(await store.find("second")).toEqual(second);
    expect(await store.find("first")).toMatchObject({ terminalId: null, continuedBy: "second", updatedAt: 5 });
    const back = { ...record, sessionId: "first", permissionMode: "all", updatedAt: 9 } as const;
    await expect(store.succeed("second", back, () => Promise.reject(new Error("full")))).rejects.toThrow("full");
    expect((await store.withTerminal()).map(({ sessionId }) => sessionId)).toEqual(["second"]);
    await store.succeed("second", back, async () => undefined);
    expect(await store.find("first")).toEqual(back);
    expect((await store.withTerminal()).map(({ sessionId }) => sessionId)).toEqual(["first"]);
    expect(await store.launchIds()).toEqual(new Set(["launch"]));
    expect([await store.namesLaunch("launch"), await store.namesLaunch("other")]).toEqual([true, false]);
  });

  test("only this gateway's sessions with a terminal are taken up", async () => {
    const { db } = await openStore();
    const store = createSessionStore(db, { nodeId: "local" });
    await store.insert(record);
    await store.insert({ ...record, sessionId: "ended", terminalId: null });
    await createSessionStore(db, { nodeId: "elsewhere" }).insert({ ...record, sessionId: "other", terminalId: "t2" });
    expect((await store.withTerminal()).map(({ sessionId }) => sessionId)).toEqual(["provisional"]);
  });

  test("changed sessions come page by page, earliest first, each once", async () => {
    const store = createSessionStore((await openStore()).db, { nodeId: "local" });
    const at = (sessionId: string, updatedAt: number, terminalId: string | null = null) =>
      store.insert({ ...record, sessionId, updatedAt, terminalId, launchId: null });
    await at("old", 5);
    await at("runs", 6, "terminal");
    await at("c", 30);
    for (const sessionId of ["b", "a"]) await at(sessionId, 20);
    const page = async (after: string | null, updatedAt = 0) =>
      (await store.changedSince(20, { after: after === null ? null : { sessionId: after, updatedAt }, limit: 2 })).map(
        ({ sessionId }) => sessionId,
      );
    expect(await page(null)).toEqual(["runs", "a"]);
    expect(await page("a", 20)).toEqual(["b", "c"]);
    expect(await page("c", 30)).toEqual([]);
  });
});

describeOnBothStores("the prompt queue", (openStore) => {
  async function openQueue() {
    const { db } = await openStore();
    await createSessionStore(db, { nodeId: "local" }).insert(record);
    let now = 1_700_000_000_000;
    const queue = createPromptQueue(db, { ...systemClock, now: () => now });
    const add = (promptId: string, state: "queued" | "sent" = "queued") =>
      queue.add({
        promptId,
        sessionId: "provisional",
        prompt: `text of ${promptId}`,
        state,
        started: "reconnect",
        idempotency: null,
        undriven: false,
      });
    return { db, queue, add, pass: (ms: number) => (now += ms) };
  }

  test("a prompt only moves forward; one that ended can only turn out to be delivered", async () => {
    const { queue, add } = await openQueue();
    await add("p");
    const states = ["sent", "sent", "unknown", "lost", "sent", "delivered", "lost"] as const;
    const moved: boolean[] = [];
    for (const state of states) moved.push(await queue.mark("p", state));
    expect(moved).toEqual([true, false, true, false, false, true, false]);
    await add("sent");
    await queue.mark("sent", "sent");
    await queue.loseAll("provisional");
    expect(await queue.stateOf("sent"), "what was sent may have been taken").toBe("unknown");
  });

  test("prompts keep their order, and one that came to its end leaves no text behind", async () => {
    const { db, queue, add } = await openQueue();
    for (const id of ["c", "a", "b"]) await add(id);
    await queue.mark("c", "sent");
    expect((await queue.open("provisional")).map(({ promptId, state }) => `${promptId} ${state}`)).toEqual([
      "c sent",
      "a queued",
      "b queued",
    ]);
    await queue.mark("c", "delivered");
    await queue.loseAll("provisional");
    expect(await queue.open("provisional")).toEqual([]);
    expect([await queue.stateOf("c"), await queue.stateOf("a"), await queue.stateOf("x")]).toEqual([
      "delivered",
      "lost",
      null,
    ]);
    expect((await db.selectFrom("queued_prompts").select("prompt").execute()).map(({ prompt }) => prompt)).toEqual([
      "",
      "",
      "",
    ]);
  });

  test("what waits goes over to a session's successor", async () => {
    const { db, queue, add } = await openQueue();
    await createSessionStore(db, { nodeId: "local" }).insert({ ...record, sessionId: "next" });
    await add("a");
    await queue.moveAll("provisional", "next");
    expect((await queue.open("next")).map(({ promptId }) => promptId)).toEqual(["a"]);
  });

  test("a request is remembered for a day, for its account only", async () => {
    const { db, queue, pass } = await openQueue();
    await insertOwner(db);
    const idempotency = { accountId: "owner", key: "k", requestHash: "h" };
    await queue.add({
      promptId: "p",
      sessionId: "provisional",
      prompt: "x",
      state: "queued",
      started: "new",
      idempotency,
      undriven: false,
    });
    expect(await queue.remembered("owner", "k")).toEqual({
      requestHash: "h",
      sessionId: "provisional",
      promptId: "p",
      started: "new",
    });
    expect(await queue.remembered("another", "k")).toBeNull();
    await queue.mark("p", "delivered");
    pass(25 * 3_600_000);
    expect(await queue.remembered("owner", "k")).toBeNull();
    await queue.prune();
    expect(await queue.stateOf("p")).toBeNull();
  });
});
