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
  /** A look each second. */
  const lookFor = async (seconds: number) => {
    const answers = new Set<boolean>();
    for (let second = 0; second < seconds; second += 1) {
      await clock.advance(1_000);
      answers.add(await start.isReady());
    }
    return [...answers];
  };
  return { clock, screen, ended, start, lookFor };
}

test("an agent that has painted nothing for a minute and a half is ended where no slow start would stand", async () => {
  const { ended, lookFor } = watch(() => true);
  expect([await lookFor(89), ended]).toEqual([[false], []]);
  expect([await lookFor(1), ended]).toEqual([[false], ["t"]]);
});

test("one that may be slow is given five minutes", async () => {
  const { ended, lookFor } = watch(() => false);
  expect([await lookFor(299), ended]).toEqual([[false], []]);
  expect([await lookFor(1), ended]).toEqual([[false], ["t"]]);
});

test("the time in which the machine slept does not count", async () => {
  const { clock, ended, lookFor } = watch(() => true);
  await clock.advance(3_600_000);
  expect([await lookFor(80), ended]).toEqual([[false], []]);
  expect([await lookFor(1), ended]).toEqual([[false], ["t"]]);
});

test("one that shows something, or was never seen to hang, is left alone", async () => {
  const dialog = watch(() => true);
  dialog.screen.lines = ["Trust this folder?"];
  const other = watch();
  for (const { ended, lookFor } of [dialog, other]) expect([await lookFor(400), ended]).toEqual([[false], []]);
  dialog.screen.lines = ["ready"];
  expect(await dialog.start.isReady()).toBe(true);
});
