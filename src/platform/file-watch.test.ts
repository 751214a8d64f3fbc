import { appendFile, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { type Clock, systemClock } from "../core/clock.ts";
import { silentLog } from "../core/log.ts";
import { createFileWatch, type FileWatch } from "./file-watch.ts";

let folder: string;
let watch: FileWatch;

beforeEach(async () => {
  folder = await makeTempFolder();
  watch = createFileWatch({ clock: systemClock, log: silentLog });
  onTestFinished(() => watch.close());
});

/** Counts calls, and waits for the next one. */
function counter() {
  let calls = 0;
  let wake: () => void = () => undefined;
  return {
    listener: () => {
      calls++;
      wake();
    },
    calls: () => calls,
    async next(withinMs: number): Promise<number> {
      const began = performance.now();
      const seen = calls;
      while (calls === seen) {
        const left = withinMs - (performance.now() - began);
        if (left <= 0) throw new Error(`nothing was reported within ${withinMs} ms`);
        await new Promise<void>((resolve) => {
          wake = resolve;
          setTimeout(resolve, left);
        });
      }
      return performance.now() - began;
    },
  };
}

const within = 1_000;

describe("a watched file", () => {
  test("that grows is reported, usually within 100 ms", async () => {
    const path = join(folder, "t.jsonl");
    await writeFile(path, "");
    const changes = counter();
    watch.add(path, changes.listener);
    const times: number[] = [];
    for (let n = 0; n < 9; n++) {
      const next = changes.next(within);
      await appendFile(path, "line\n");
      times.push(await next);
    }
    expect(times.toSorted((a, b) => a - b)[4]).toBeLessThan(100);
  });

  test("that appears, is replaced and is removed is reported each time", async () => {
    const path = join(folder, "t.jsonl");
    const changes = counter();
    watch.add(path, changes.listener);
    for (const step of [
      () => writeFile(path, "a"),
      async () => {
        await writeFile(`${path}.new`, "b");
        await rename(`${path}.new`, path);
      },
      () => rm(path),
    ]) {
      const next = changes.next(within);
      await step();
      await next;
    }
  });

  test("whose folder does not exist yet is reported when it appears, and from then on", async () => {
    const path = join(folder, "not", "yet", "t.jsonl");
    const changes = counter();
    watch.add(path, changes.listener);
    const next = changes.next(within + 500);
    await mkdir(join(folder, "not", "yet"), { recursive: true });
    await writeFile(path, "a");
    await next;
    const again = changes.next(within);
    await appendFile(path, "b");
    await again;
  });

  test("whose folder was removed and created again is reported", async () => {
    const path = join(folder, "sub", "t.jsonl");
    await mkdir(join(folder, "sub"));
    await writeFile(path, "a");
    const changes = counter();
    watch.add(path, changes.listener);
    const gone = changes.next(within);
    await rm(join(folder, "sub"), { recursive: true });
    await gone;
    await mkdir(join(folder, "sub"));
    const back = changes.next(within + 500);
    await writeFile(path, "b");
    await back;
    const again = changes.next(within);
    await appendFile(path, "c");
    expect(await again).toBeLessThan(400); // by the kernel again, not by the poll
  });

  test("is reported to each listener until it unsubscribes, and changes of its neighbors are not", async () => {
    const path = join(folder, "t.jsonl");
    await writeFile(path, "");
    const one = counter();
    const two = counter();
    const stop = watch.add(path, one.listener);
    watch.add(path, two.listener);
    await appendFile(join(folder, "neighbour"), "x");
    const first = Promise.all([one.next(within), two.next(within)]);
    await appendFile(path, "a");
    await first;
    stop();
    stop();
    const second = two.next(within);
    await appendFile(path, "b");
    await second;
    expect([one.calls(), two.calls()]).toEqual([1, 2]);
  });

  test("is not reported after close, and nothing keeps the process alive", async () => {
    const path = join(folder, "t.jsonl");
    await writeFile(path, "");
    const changes = counter();
    watch.add(path, changes.listener);
    await watch.close();
    await watch.close();
    watch.add(path, changes.listener);
    await appendFile(path, "a");
    await systemClock.sleep(700);
    expect(changes.calls()).toBe(0);
  });

  test("is found by polling when the kernel reports nothing", async () => {
    let polls: (() => void)[] = [];
    const clock: Clock = {
      ...systemClock,
      after(delayMs, callback) {
        if (delayMs >= 100) polls.push(callback);
        return () => undefined; // bursts are never reported: only the poll is left
      },
    };
    const polled = createFileWatch({ clock, log: silentLog });
    onTestFinished(() => polled.close());
    const path = join(folder, "t.jsonl");
    const changes = counter();
    polled.add(path, changes.listener);
    await writeFile(path, "a");
    const next = changes.next(within);
    const due = polls;
    polls = [];
    for (const poll of due) poll();
    await next;
    expect(polls).toHaveLength(1);
  });
});
