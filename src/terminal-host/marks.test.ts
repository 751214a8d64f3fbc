import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createFakeClock } from "../../test/support/fake-clock.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { createMarkLog, MARK_BYTES, type Mark, marksName, readMarks } from "./marks.ts";

const minuteMs = 60_000;
const size = { cols: 80, rows: 24 };
/** The limit of marks for a segment of 16 KiB. */
const maxMarks = 64 + (16 * 1024) / 16 / MARK_BYTES;

/** Marks of a terminal with a chunk of output every 10 ms, with a clock that the test sets back. */
async function setUp() {
  const dir = await makeTempFolder();
  const hands = createFakeClock();
  let behindMs = 0;
  const clock = { ...hands, now: () => hands.now() - behindMs };
  const log = createMarkLog(dir, { clock, size, segmentBytes: 16 * 1024 });
  onTestFinished(() => log.release());
  let offset = 0;
  return {
    log,
    now: clock.now,
    setBack: (ms: number) => {
      behindMs += ms;
    },
    async output(forMs: number) {
      for (let passed = 0; passed < forMs; passed += 10) {
        await hands.advance(10);
        log.note(0, offset++);
      }
      return offset;
    },
    marks: (segment = 0): readonly Mark[] => readMarks(readFileSync(join(dir, marksName(segment)))),
  };
}

function expectMonotonic(marks: readonly Mark[]): void {
  const times = marks.map(({ at }) => at);
  expect(times).toEqual(times.toSorted((one, other) => one - other));
}

test("a clock that is set back adds no marks, and the recording's time continues", async () => {
  const { log, output, setBack, marks } = await setUp();
  await output(100);
  const before = marks();
  setBack(60 * minuteMs);
  const offset = await output(30_000);
  log.resize(offset, { cols: 100, rows: 30 });
  const after = marks();
  expect(after.length).toBeLessThan(maxMarks);
  expect(after.at(-1)).toMatchObject({ offset, cols: 100, rows: 30 });
  expectMonotonic(after);
  const tookMs = (after.at(-1)?.at ?? 0) - (before.at(-1)?.at ?? 0);
  expect(tookMs).toBeGreaterThan(14_000);
  expect(tookMs).toBeLessThanOrEqual(30_000);
});

test("a recording follows the clock again once it has caught up", async () => {
  const { log, output, setBack, marks, now } = await setUp();
  await output(100);
  setBack(1_000);
  await output(500);
  setBack(1_000);
  const offset = await output(6_000);
  log.resize(offset, size);
  expectMonotonic(marks());
  expect(marks().at(-1)?.at).toBe(now());
  log.note(16 * 1024, 16 * 1024);
  setBack(1_000);
  log.note(32 * 1024, 32 * 1024); // each segment begins with a mark
  expect(marks(32 * 1024)[0]?.at).toBe(now() + 1_000);
});
