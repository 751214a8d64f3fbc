import { expect, test } from "vitest";
import { createFakeClock } from "../../../test/support/fake-clock.ts";
import { silentLog } from "../../core/log.ts";
import { StartWatch } from "./start-watch.ts";

/** An agent whose composer is a line that says `ready`. */
function watch(hasHung?: () => boolean) {
  const clock = createFakeClock();
  const screen = { lines: ["", "  "] };
  const ended: string[] = [];
  const host = {
    look: async () => ({ cols: 80, rows: 2, title: null, offset: 0, ...screen }),
    end: async (terminalId: string) => {
      ended.push(terminalId);
      return { exitCode: 129, signal: "SIGHUP", at: clock.now() };
    },
  };
  const composerPainted = (lines: readonly string[]) => lines.includes("ready");
  const template = { name: "agent", composerPainted, ...(hasHung === undefined ? {} : { hasHung }) };
  const start = new StartWatch({ host, clock, log: silentLog, terminalId: "t", pid: 1, env: {}, template });
  return { clock, screen, ended, start };
}

test("an agent that has painted nothing for a minute and a half is ended where no slow start would stand", async () => {
  const { clock, ended, start } = watch(() => true);
  await clock.advance(89_000);
  expect([await start.isReady(), ended]).toEqual([false, []]);
  await clock.advance(1_000);
  expect([await start.isReady(), ended]).toEqual([false, ["t"]]);
});

test("one that may be slow is given five minutes", async () => {
  const { clock, ended, start } = watch(() => false);
  await clock.advance(299_000);
  expect([await start.isReady(), ended]).toEqual([false, []]);
  await clock.advance(1_000);
  expect([await start.isReady(), ended]).toEqual([false, ["t"]]);
});

test("one that shows something, or was never seen to hang, is left alone", async () => {
  const dialog = watch(() => true);
  dialog.screen.lines = ["Trust this folder?"];
  const other = watch();
  for (const { clock, ended, start } of [dialog, other]) {
    await clock.advance(3_600_000);
    expect([await start.isReady(), ended]).toEqual([false, []]);
  }
  dialog.screen.lines = ["ready"];
  expect(await dialog.start.isReady()).toBe(true);
});
