import { expect, test } from "vitest";
import type { Clock } from "../../core/clock.ts";
import { createBriefMemory } from "./brief-memory.ts";

function clockAt(time: { now: number }): Clock {
  return { now: () => time.now, after: () => () => undefined, sleep: async () => undefined };
}

test("an answer is given again for a quarter of a second, to each key its own", async () => {
  const time = { now: 1_000 };
  let looks = 0;
  const remembered = createBriefMemory(async (key) => `${key} ${++looks}`, clockAt(time));
  expect(await Promise.all([remembered("a"), remembered("a"), remembered("b")])).toEqual(["a 1", "a 1", "b 2"]);
  time.now += 249;
  expect(await remembered("a")).toBe("a 1");
  time.now += 1;
  expect(await remembered("a")).toBe("a 3");
});

test("a failure is not remembered", async () => {
  let looks = 0;
  const remembered = createBriefMemory(
    async () => {
      if (++looks === 1) throw new Error("no");
      return looks;
    },
    clockAt({ now: 0 }),
  );
  await expect(remembered("a")).rejects.toThrow("no");
  expect(await remembered("a")).toBe(2);
});
