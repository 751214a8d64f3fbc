import { join } from "node:path";
import type { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { waitUntil } from "../../test/support/terminal-host.ts";
import { systemClock } from "../core/clock.ts";
import { silentLog } from "../core/log.ts";
import { createRawLog, type RawLog } from "./raw-log.ts";
import { createScreens, type ScreenSource, startScreenWorker } from "./screens.ts";
import { createSizeHistory } from "./size-history.ts";

const size = { cols: 40, rows: 5 };

interface Recorded extends ScreenSource {
  readonly log: RawLog;
  reached: number;
  answers: string;
}

async function makeSource(terminalId: string): Promise<Recorded> {
  const source: Recorded = {
    terminalId,
    log: createRawLog(join(await makeTempFolder(), terminalId), { maxBytes: 1024 * 1024, clock: systemClock, size }),
    sizes: createSizeHistory(size),
    reached: 0,
    answers: "",
    onReached: (offset) => {
      source.reached = offset;
    },
    onAnswer: (data) => {
      source.answers += data;
    },
  };
  return source;
}

test("screens follow their raw logs and paint on request", async () => {
  const screens = createScreens({ clock: systemClock, log: silentLog });
  const one = await makeSource("one");
  const two = await makeSource("two");
  for (const source of [one, two]) screens.open(source);
  one.log.append(Buffer.from("first\r\n\x1b[c"));
  two.log.append(Buffer.from("second"));
  screens.output("one", one.log.endOffset);
  screens.output("two", two.log.endOffset);
  const painted = await screens.paint("one", one.log.endOffset);
  expect(painted.screen.lines[0]).toBe("first");
  expect(painted.offset).toBe(one.log.endOffset);
  expect((await screens.paint("two", two.log.endOffset)).screen.lines[0]).toBe("second");
  await waitUntil(() => one.reached === one.log.endOffset && one.answers === "\x1b[?1;2c");
  screens.close("one");
  await expect(screens.paint("one", 0)).rejects.toMatchObject({ code: "terminal_gone" });
  screens.close("two");
});

test("a thread that dies is replaced, its screens are repainted and no query is answered twice", async () => {
  const threads: Worker[] = [];
  const screens = createScreens({ clock: systemClock, log: silentLog }, () => {
    const thread = startScreenWorker();
    threads.push(thread);
    return thread;
  });
  const source = await makeSource("good");
  screens.open(source);
  source.log.append(Buffer.from("before\r\n\x1b[c"));
  screens.output("good", source.log.endOffset);
  await waitUntil(() => source.answers !== "");
  await threads[0]?.terminate();
  source.log.append(Buffer.from("after"));
  screens.output("good", source.log.endOffset);
  const { screen } = await screens.paint("good", source.log.endOffset);
  expect(threads).toHaveLength(2);
  expect(screen.lines.slice(0, 2)).toEqual(["before", "after"]);
  expect(source.answers).toBe("\x1b[?1;2c");
  source.log.append(Buffer.from("\x1b[c"));
  screens.output("good", source.log.endOffset);
  await waitUntil(() => source.answers === "\x1b[?1;2c\x1b[?1;2c");
  screens.close("good");
});

test("a thread is ready when it has loaded, and one that dies earlier blocks no caller", async () => {
  const threads: Worker[] = [];
  const screens = createScreens({ clock: systemClock, log: silentLog }, () => {
    const thread = startScreenWorker();
    threads.push(thread);
    return thread;
  });
  const dying = screens.ready();
  await threads[0]?.terminate();
  await dying;
  await waitUntil(async () => {
    await screens.ready();
    return threads.length === 2;
  });
  const source = await makeSource("one");
  screens.open(source);
  source.log.append(Buffer.from("\x1b[6n"));
  screens.output("one", source.log.endOffset, true);
  await waitUntil(() => source.answers === "\x1b[1;1R");
  screens.close("one");
});

test("output that the log could not store still reaches the screen", async () => {
  const screens = createScreens({ clock: systemClock, log: silentLog });
  const source = await makeSource("one");
  screens.open(source);
  screens.direct("one", { offset: 1_000_000, data: Buffer.from("behind the hole") });
  const { offset, screen } = await screens.paint("one", 1_000_015);
  expect(offset).toBe(1_000_015);
  expect(screen.lines[0]).toBe("behind the hole");
  await waitUntil(() => source.reached === 1_000_015);
  screens.close("one");
});
