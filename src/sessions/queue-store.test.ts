import { expect, test } from "vitest";
import { describeOnBothStores } from "../../test/support/database.ts";
import { errorCode } from "../../test/support/error-code.ts";
import { sessionRecord } from "../../test/support/session-record.ts";
import { systemClock } from "../core/clock.ts";
import { createPromptQueue } from "./prompt-queue.ts";
import { createQueueStore } from "./queue-store.ts";
import { createSessionStore } from "./session-store.ts";

describeOnBothStores("what waits in a session", (openStore) => {
  async function setUp(texts: readonly string[]) {
    const store = await openStore();
    const sessions = createSessionStore(store.db, { nodeId: "local" });
    const queue = createPromptQueue(store.db, systemClock);
    await sessions.insert(sessionRecord({ sessionId: "s" }));
    for (const text of texts) {
      const named = { promptId: `id-${text}`, sessionId: "s", prompt: text, started: "reconnect" } as const;
      await queue.add({ ...named, state: "queued", idempotency: null, undriven: false });
    }
    // A second connection, as of a request at the same time.
    const other = createQueueStore((await store.openAgain()).db);
    const waiting = createQueueStore(store.db);
    const textsNow = async () => (await waiting.waiting("s")).map(({ text }) => text);
    return { sessions, queue, waiting, other, textsNow };
  }

  test("a prompt moves to its place, and those that were sent keep theirs", async () => {
    const { queue, waiting, textsNow } = await setUp(["sent", "a", "b", "c"]);
    await queue.mark("id-sent", "sent");
    expect(await waiting.move("id-c", 0)).toEqual(["id-c", "id-a", "id-b"]);
    expect(await waiting.move("id-c", 1)).toEqual(["id-a", "id-c", "id-b"]);
    expect(await waiting.move("id-a", 100)).toEqual(["id-c", "id-b", "id-a"]);
    await queue.putBack("id-sent");
    expect(await textsNow()).toEqual(["sent", "c", "b", "a"]);
  });

  test("a prompt keeps its caller and whether it starts a turn, until it is edited", async () => {
    const { queue, waiting } = await setUp([]);
    const named = {
      promptId: "id",
      sessionId: "s",
      prompt: "/greet",
      started: "reconnect",
      idempotency: null,
    } as const;
    await queue.add({ ...named, state: "queued", undriven: false, askedBy: "me token:1", startsTurn: true });
    expect(await queue.open("s")).toMatchObject([{ startsTurn: true }]);
    expect(await waiting.find("s", "id")).toMatchObject({ askedBy: "me token:1" });
    await waiting.edit("id", "plain text");
    expect(await queue.open("s")).toMatchObject([{ prompt: "plain text" }]);
    expect((await queue.open("s"))[0]?.startsTurn).toBeUndefined();
    expect(await waiting.waiting("s")).toMatchObject([{ askedBy: "me token:1" }]);
  });

  test("a session that took its agent's own id is found by the one before it", async () => {
    const { sessions, waiting } = await setUp(["a", "b"]);
    await sessions.rekey("s", "real");
    expect((await waiting.waiting("s")).map(({ text }) => text)).toEqual(["a", "b"]);
    expect(await waiting.find("s", "id-b")).toMatchObject({ text: "b" });
    expect(await waiting.move("id-b", 0)).toEqual(["id-b", "id-a"]);
    expect(await errorCode(waiting.find("another", "id-b"))).toBe("prompt_not_found");
  });

  test("an edit or a cancellation and the delivery of the old text never both happen", async () => {
    const texts = Array.from({ length: 24 }, (_, index) => `p${index}`);
    const { queue, other, textsNow } = await setUp(texts);
    const ends = await Promise.all(
      texts.map(async (text, index) => {
        const promptId = `id-${text}`;
        const change = index % 2 === 0 ? other.edit(promptId, "new") : other.cancel(promptId);
        const [sent, refused] = await Promise.all([queue.mark(promptId, "sent", text), errorCode(change)]);
        return [sent, refused];
      }),
    );
    for (const [sent, refused] of ends) expect(refused).toBe(sent === true ? "prompt_already_sent" : null);
    const edited = ends.filter(([sent], index) => sent === false && index % 2 === 0);
    expect(await textsNow()).toEqual(edited.map(() => "new"));
  });

  test("moves at once leave each prompt in one place", async () => {
    const texts = ["a", "b", "c", "d", "e"];
    const { waiting, other, textsNow } = await setUp(texts);
    await Promise.all(texts.map((text, at) => (at % 2 === 0 ? waiting : other).move(`id-${text}`, 4 - at)));
    expect((await textsNow()).toSorted()).toEqual(texts);
  });
});
