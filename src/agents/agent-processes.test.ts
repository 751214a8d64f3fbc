import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import type { Clock } from "../core/clock.ts";
import { createHolderMemory, type Holders } from "./agent-processes.ts";

function clockAt(time: { now: number }): Clock {
  return { now: () => time.now, after: () => () => undefined, sleep: async () => undefined };
}

function heldBy(sessionId: string, pid = process.pid): Holders {
  return new Map([[sessionId, { pid, activity: null }]]);
}

test("a result is cached for a quarter of a second, per key", async () => {
  const time = { now: 1_000 };
  let looks = 0;
  const remembered = createHolderMemory(async (key) => heldBy(`${key} ${++looks}`), clockAt(time));
  const answers = await Promise.all([remembered("a"), remembered("a"), remembered("b")]);
  expect(answers).toEqual([heldBy("a 1"), heldBy("a 1"), heldBy("b 2")]);
  time.now += 249;
  expect(await remembered("a")).toEqual(heldBy("a 1"));
  time.now += 1;
  expect(await remembered("a")).toEqual(heldBy("a 3"));
});

test("a process that has exited since then holds nothing", async () => {
  const child = spawn("sleep", ["60"]);
  const both = new Map([...heldBy("here"), ...heldBy("ended", child.pid)]);
  const remembered = createHolderMemory(async () => both, clockAt({ now: 0 }));
  expect(await remembered("a")).toEqual(both);
  expect(await remembered("a")).toEqual(both);
  child.kill("SIGKILL");
  await once(child, "exit");
  expect(await remembered("a")).toEqual(heldBy("here"));
});

test("a failure is not remembered", async () => {
  let looks = 0;
  const remembered = createHolderMemory(
    async () => {
      if (++looks === 1) throw new Error("no");
      return heldBy("a");
    },
    clockAt({ now: 0 }),
  );
  await expect(remembered("a")).rejects.toThrow("no");
  expect(await remembered("a")).toEqual(heldBy("a"));
});
