import { expect, test } from "vitest";
import { ReplayBuffer } from "./replay-buffer.ts";

const limits = { maxKeptMessages: 4, maxKeptBytes: 2_000, maxKeptBytesOfAll: 3_000 };
const message = (id: number, text = "") => ({ jsonrpc: "2.0", id, result: { text } }) as const;

async function replayed(store: ReturnType<ReplayBuffer["storeOf"]>, after: string): Promise<readonly unknown[]> {
  const sent: unknown[] = [];
  await store.replayEventsAfter(after, { send: async (_id, each) => void sent.push(each) });
  return sent;
}

test("later messages of the same stream are replayed in order", async () => {
  const store = new ReplayBuffer(limits).storeOf("a");
  const first = await store.storeEvent("s", message(1));
  await store.storeEvent("other", message(2));
  await store.storeEvent("s", message(3));
  expect(await store.getStreamIdForEventId?.(first)).toBe("s");
  expect(await replayed(store, first)).toEqual([message(3)]);
});

test("a session does not see another's messages", async () => {
  const buffer = new ReplayBuffer(limits);
  const id = await buffer.storeOf("a").storeEvent("s", message(1));
  expect(await buffer.storeOf("b").getStreamIdForEventId?.(id)).toBeUndefined();
  await expect(replayed(buffer.storeOf("b"), id)).rejects.toThrow();
});

test("drops a session's oldest messages beyond the limits of number and size, but never the newest", async () => {
  const buffer = new ReplayBuffer(limits);
  const store = buffer.storeOf("a");
  const ids = await Promise.all([1, 2, 3, 4, 5].map((id) => store.storeEvent("s", message(id))));
  const kept = await Promise.all(ids.map(async (id) => (await store.getStreamIdForEventId?.(id)) !== undefined));
  expect(kept).toEqual([false, true, true, true, true]);
  const large = await store.storeEvent("s", message(6, "x".repeat(10_000)));
  expect(await store.getStreamIdForEventId?.(large)).toBe("s");
  expect(await store.getStreamIdForEventId?.(ids[4] ?? "")).toBeUndefined();
  await store.storeEvent("s", message(7));
  expect(buffer.sizeBytes).toBeLessThan(2_000);
});

test("all sessions share one limit, and an ended session no longer counts", async () => {
  const buffer = new ReplayBuffer(limits);
  for (const owner of ["a", "b", "c"]) await buffer.storeOf(owner).storeEvent("s", message(1, "x".repeat(1_500)));
  expect(buffer.sizeBytes).toBeLessThanOrEqual(limits.maxKeptBytesOfAll);
  for (const owner of ["a", "b", "c"]) buffer.forget(owner);
  expect(buffer.sizeBytes).toBe(0);
});

test("drops messages of the largest session first", async () => {
  const buffer = new ReplayBuffer({ ...limits, maxKeptMessages: 100 });
  const small = await buffer.storeOf("small").storeEvent("s", message(0));
  for (const owner of ["large", "other", "large", "other", "large"]) {
    await buffer.storeOf(owner).storeEvent("s", message(1, "x".repeat(700)));
  }
  expect(buffer.sizeBytes).toBeLessThanOrEqual(limits.maxKeptBytesOfAll);
  expect(await buffer.storeOf("small").getStreamIdForEventId?.(small)).toBe("s");
});
