import { expect, test } from "vitest";
import { describeOnBothStores } from "../../test/support/database.ts";
import { createFakeClock } from "../../test/support/fake-clock.ts";
import { createChats, forgetSessionInChats } from "./index.ts";

const limits = { maxChats: 2, maxWaitingInChat: 2 };
const update = (updateId: number, chatId = "a") => ({ updateId, chatId, messageId: String(updateId), body: "words" });
const message = (key: string, more: object = {}) => ({
  key,
  chatId: "a",
  sessionId: "s",
  body: "one",
  final: true,
  ...more,
});
const session = { chatId: "a", sessionId: "s", turnIndex: 1, turnLength: 2, promptMessageId: "5", statusKey: null };

describeOnBothStores("the state of chats", (openStore) => {
  async function open() {
    const { db } = await openStore();
    const clock = createFakeClock();
    return { db, clock, chats: createChats({ db, clock, channel: "telegram", limits }) };
  }

  test("an update is stored once, in order, and its text is deleted once processed", async () => {
    const { db, chats } = await open();
    expect(await chats.inbox.add(update(2))).toBe("taken");
    expect(await chats.inbox.add(update(1))).toBe("taken");
    expect(await chats.inbox.add(update(2))).toBe("known");
    expect(await chats.inbox.add(update(3))).toBe("full");
    expect((await chats.inbox.waiting()).map(({ updateId }) => updateId)).toEqual([1, 2]);
    await chats.inbox.keepRequest(1, "request");
    expect(await chats.inbox.noteAttempt(1)).toBe(1);
    expect(await chats.inbox.waiting()).toMatchObject([{ request: "request", attempts: 1 }, { request: null }]);
    await chats.settle({ done: { updateId: 1, sessionId: "s" } });
    expect(await chats.inbox.sessionOf("a", "1")).toBe("s");
    expect(await chats.inbox.add(update(1))).toBe("known");
    expect(await chats.inbox.add(update(4))).toBe("taken");
    const rows = await db.selectFrom("chat_updates").selectAll().where("state", "=", "done").execute();
    expect(JSON.stringify(rows)).not.toMatch(/words|request"?:"r/);
  });

  test("the number of chats is limited, each with its folder, agent and session", async () => {
    const { chats } = await open();
    await chats.inbox.add(update(1, "a"));
    await chats.inbox.add(update(2, "b"));
    expect(await chats.inbox.add(update(3, "c"))).toBe("too_many_chats");
    await chats.settle({ chat: { chatId: "a", dir: "/code/a", sessionId: "s" } });
    await chats.settle({ chat: { chatId: "a", agent: "codex" } });
    expect(await chats.store.chat("a")).toEqual({ chatId: "a", dir: "/code/a", agent: "codex", sessionId: "s" });
    expect(await chats.store.chat("c")).toEqual({ chatId: "c", dir: null, agent: null, sessionId: null });
  });

  test("a message is sent once, and converges to its latest content", async () => {
    const { db, chats } = await open();
    const { outbox } = chats;
    await chats.settle({ say: [message("k", { final: false }), message("l")] });
    await chats.settle({ say: [message("k", { body: "again" })] });
    const first = await outbox.next("a");
    expect(first).toMatchObject({ key: "k", body: "one", messageId: null, mayRepeat: false });
    if (first === null) throw new Error("nothing waits");
    await outbox.sending(first.ordinal);
    await chats.settle({ change: [{ key: "k", body: "two", final: false }] });
    await outbox.delivered(first, "77");
    expect(await outbox.next("a"), "new ones before changes").toMatchObject({ key: "l" });
    expect(await outbox.chatsWaiting()).toEqual(["a"]);
    await outbox.delivered((await outbox.next("a")) ?? first, "78");
    const changed = await outbox.next("a");
    expect(changed).toMatchObject({ key: "k", body: "two", messageId: "77" });
    await outbox.delivered(changed ?? first, "77");
    expect(await outbox.next("a")).toBeNull();
    await chats.settle({ change: [{ key: "k", body: "three", final: true }] });
    await outbox.delivered((await outbox.next("a")) ?? first, "77");
    await chats.settle({ change: [{ key: "k", body: "four", final: true }] });
    expect(await outbox.next("a"), "what is final stays").toBeNull();
    expect(await outbox.sessionOf("a", "77")).toBe("s");
    expect((await db.selectFrom("chat_messages").select("body").execute()).map(({ body }) => body)).toEqual(["", ""]);
  });

  test("a message being sent when the gateway stopped may be repeated", async () => {
    const { chats } = await open();
    await chats.settle({ say: [message("k")] });
    const first = await chats.outbox.next("a");
    await chats.outbox.sending(first?.ordinal ?? 0);
    expect(await chats.outbox.next("a")).toBeNull();
    await chats.outbox.takeUp();
    expect(await chats.outbox.next("a")).toMatchObject({ key: "k", mayRepeat: true });
    await chats.outbox.failed(first?.ordinal ?? 0);
    expect(await chats.outbox.next("a")).toBeNull();
  });

  test("a session that continues under another id keeps its followers and messages", async () => {
    const { chats } = await open();
    await chats.inbox.add(update(1));
    const say = [message("k", { permissionId: "p", final: false })];
    await chats.settle({ bind: session, say, chat: { chatId: "a", sessionId: "s" } });
    await chats.store.move("s", "t");
    expect(await chats.store.listeners("s")).toEqual([]);
    expect(await chats.store.listeners("t")).toEqual([{ ...session, sessionId: "t" }]);
    expect(await chats.store.chat("a")).toMatchObject({ sessionId: "t" });
    expect(await chats.outbox.openQuestions("t")).toMatchObject([{ permissionId: "p" }]);
    expect(await chats.store.unfinished()).toEqual(["t"]);
    await chats.settle({ bind: session });
    await chats.store.move("s", "t");
    expect(await chats.store.sessionIds()).toEqual(["t"]);
  });

  test("a chat follows its newest sessions, and old rows are deleted", async () => {
    const { chats, clock } = await open();
    await chats.inbox.add(update(1));
    await chats.settle({ done: { updateId: 1, sessionId: "s" }, say: [message("k")] });
    const first = await chats.outbox.next("a");
    await chats.outbox.delivered(first ?? { ordinal: 0, version: 1 }, "5");
    for (let count = 0; count < 55; count += 1) {
      await clock.advance(1);
      await chats.settle({ bind: { ...session, sessionId: `s${count}` } });
    }
    expect(await chats.store.sessionIds()).toHaveLength(50);
    expect(await chats.store.bound("a", "s0")).toBeNull();
    await chats.store.setMark("1");
    await chats.store.setMark("2");
    expect(await chats.store.mark()).toBe("2");
    await clock.advance(31 * 86_400_000);
    await chats.outbox.prune();
    await chats.inbox.prune();
    expect(await chats.outbox.sessionOf("a", "5")).toBeNull();
    expect(await chats.inbox.sessionOf("a", "1")).toBeNull();
  });

  test("forgetting a session removes its queued text under all its ids, and leaves other sessions alone", async () => {
    const { db, chats } = await open();
    const { outbox, inbox, store } = chats;
    for (const updateId of [1, 2]) await inbox.add(update(updateId));
    await inbox.keepRequest(1, JSON.stringify({ sessionId: "old-s", prompt: "a secret prompt" }));
    await inbox.keepRequest(2, JSON.stringify({ sessionId: "old-s2", prompt: "another" }));
    const bound = { ...session, sessionId: "s", statusKey: "status" };
    await chats.settle({
      bind: bound,
      say: [
        message("status", { body: "a secret status", final: false }),
        message("question", { body: "a secret question", final: false, permissionId: "p" }),
        message("waits", { body: "a secret answer", sessionId: "old-s" }),
        message("other", { body: "of another", sessionId: "t" }),
      ],
    });
    const sent = await outbox.next("a");
    await outbox.delivered(sent ?? { ordinal: 0, version: 1 }, "77");
    expect(await forgetSessionInChats(db, ["s", "old-s"])).toBe(4);
    const rows = [
      await db.selectFrom("chat_messages").selectAll().execute(),
      await db.selectFrom("chat_updates").selectAll().execute(),
    ];
    expect(JSON.stringify(rows)).not.toContain("secret");
    expect(await outbox.next("a")).toMatchObject({ key: "other", body: "of another" });
    expect(await inbox.waiting()).toMatchObject([{ updateId: 2 }]);
    await chats.settle({ change: [{ key: "status", body: "more", final: true }] });
    expect((await outbox.find("status"))?.body).toBe("");
    expect(await outbox.openQuestions("s")).toEqual([]);
    expect(await store.unfinished()).toEqual([]);
    expect(await outbox.sessionOf("a", "77"), "a reply to it still continues the session").toBe("s");
    expect(await forgetSessionInChats(db, ["s", "old-s"])).toBe(0);
  });
});
