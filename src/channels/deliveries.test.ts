import { expect, test } from "vitest";
import { createFakeClock } from "../../test/support/fake-clock.ts";
import { createPace } from "./deliveries.ts";

const never = new AbortController().signal;

/** The time of each send, in milliseconds from the start. */
async function turns(chats: readonly string[], hold?: readonly [string, number]): Promise<readonly number[]> {
  const clock = createFakeClock(0);
  const pace = createPace(clock, { betweenMessagesMs: 1_000, maxMessagesPerSecond: 10 });
  if (hold !== undefined) pace.hold(...hold);
  const at: number[] = [];
  const workers = [...new Set(chats)].map(async (chat) => {
    for (const [index, wanted] of chats.entries()) {
      if (wanted !== chat) continue;
      await pace.turn(chat, never);
      at[index] = clock.now();
    }
  });
  const all = Promise.all(workers);
  for (let step = 0; step < 200; step += 1) {
    await new Promise((turn) => setImmediate(turn)); // woken waiters continue first
    await clock.advance(50);
  }
  await all;
  return at;
}

test("sends one message per second in a chat", async () => {
  expect(await turns(["a", "a", "a"])).toEqual([0, 1_000, 2_000]);
});

test("limits messages per second for all chats together", async () => {
  expect(await turns(["a", "b", "c", "d"])).toEqual([0, 100, 200, 300]);
});

test("a paused chat does not delay another", async () => {
  const [held, free] = await turns(["a", "b"], ["a", 5_000]);
  expect(held).toBeGreaterThanOrEqual(5_000);
  expect(free).toBe(0);
});
