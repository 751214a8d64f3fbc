import { readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { suiteSeed } from "../../test/support/suite-seed.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { systemClock } from "../core/clock.ts";
import { createRawLog, type RawLog } from "./raw-log.ts";

const size = { cols: 80, rows: 24 };

function readFrom(log: RawLog, offset: number): Buffer {
  const parts: Buffer[] = [];
  for (let at = offset; at < log.endOffset; ) {
    const target = Buffer.alloc(777);
    const bytes = log.readAt(at, target) ?? 0;
    if (bytes === 0) throw new Error(`nothing at ${at}`);
    parts.push(target.subarray(0, bytes));
    at += bytes;
  }
  return Buffer.concat(parts);
}

function sizeOnDisk(dir: string, ending: string): number {
  const names = readdirSync(dir).filter((name) => name.endsWith(ending));
  return names.reduce((sum, name) => sum + statSync(join(dir, name)).size, 0);
}

test("appended output is read back at its offset, until the size limit drops it", { timeout: 60_000 }, async () => {
  const folder = await makeTempFolder();
  let run = 0;
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ minLength: 1, maxLength: 3000, size: "max" }), { maxLength: 40, size: "max" }),
      (chunks) => {
        const maxBytes = 8 * 1024;
        const log = createRawLog(join(folder, String(run++)), { maxBytes, clock: systemClock, size });
        const all = Buffer.concat(chunks);
        for (const chunk of chunks) {
          expect(log.append(chunk)).toBe(true);
          expect(sizeOnDisk(log.dir, ".raw")).toBeLessThanOrEqual(maxBytes);
        }
        expect(log.endOffset).toBe(all.byteLength);
        expect(log.endOffset - log.startOffset).toBeGreaterThanOrEqual(Math.min(all.byteLength, (maxBytes * 15) / 16));
        expect(readFrom(log, log.startOffset)).toEqual(all.subarray(log.startOffset));
        log.release();
        expect(readFrom(log, log.startOffset)).toEqual(all.subarray(log.startOffset));
        if (log.startOffset > 0) expect(log.readAt(log.startOffset - 1, Buffer.alloc(1))).toBeUndefined();
        expect(log.readAt(log.endOffset, Buffer.alloc(1))).toBe(0);
        log.remove();
      },
    ),
    { numRuns: 30, seed: suiteSeed, endOnFailure: true },
  );
  expect(readdirSync(folder)).toEqual([]);
});

test("other users cannot read it", async () => {
  const log = createRawLog(join(await makeTempFolder(), "log"), { maxBytes: 8_000, clock: systemClock, size });
  log.append(Buffer.from("secret"));
  expect(statSync(log.dir).mode & 0o777).toBe(0o700);
  for (const name of readdirSync(log.dir)) expect(statSync(join(log.dir, name)).mode & 0o777).toBe(0o600);
  log.release();
});

test("a full disk leaves a gap, and the log continues after it", async () => {
  const dir = join(await makeTempFolder(), "log");
  const log = createRawLog(dir, { maxBytes: 16_000, clock: systemClock, size });
  expect(log.append(Buffer.from("before"))).toBe(true);
  rmSync(dir, { recursive: true }); // the next segment cannot be created
  expect(log.append(Buffer.alloc(1_500, "x"))).toBe(false);
  expect(log.startOffset).toBe(log.endOffset);
  expect(log.endOffset).toBe(1_506);
  expect(log.readAt(0, Buffer.alloc(1))).toBeUndefined();
  const again = createRawLog(dir, { maxBytes: 16_000, clock: systemClock, size }); // the folder is back
  expect(log.append(Buffer.from("after"))).toBe(true);
  expect(readFrom(log, 1_506).toString()).toBe("after");
  log.release();
  again.release();
});
