import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createFakeClock } from "../../test/support/fake-clock.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { scriptSpec } from "../../test/support/terminal-host.ts";
import { systemClock } from "../core/clock.ts";
import { silentLog } from "../core/log.ts";
import { createRawLog } from "./raw-log.ts";
import { createReadScheduler } from "./read-scheduler.ts";
import { createScreens } from "./screens.ts";
import { startTerminal } from "./terminal.ts";

test("a caller of the screen waits neither for a pause in the output nor for the end of a burst", async () => {
  const spec = scriptSpec("process.stdout.write('all of it'); setInterval(() => {}, 1000)");
  const rawLogMaxBytes = 1024 * 1024;
  const clock = createFakeClock(); // never advances, so the model is never notified
  const log = createRawLog(join(await makeTempFolder(), "log"), { maxBytes: rawLogMaxBytes, clock, size: spec });
  const screens = createScreens({ clock: systemClock, log: silentLog });
  const turns = createReadScheduler(clock);
  const terminal = startTerminal(spec, { clock, turns, screens, log, rawLogMaxBytes, onExit: () => undefined });
  onTestFinished(async () => {
    process.kill(terminal.info().pid, "SIGKILL");
    await expect.poll(() => terminal.info().exit).not.toBeNull();
    terminal.forget();
  });
  await expect.poll(() => log.endOffset, { timeout: 15_000 }).toBe("all of it".length);
  const { answer } = await terminal.snapshot({ plain: true });
  expect(answer).toMatchObject({ offset: "all of it".length, ansi: "" });
  expect(answer.lines[0]).toBe("all of it");
});
