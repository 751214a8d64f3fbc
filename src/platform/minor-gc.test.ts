import { expect, test } from "vitest";
import { createMinorGc } from "./minor-gc.ts";

test("used buffers do not accumulate", async () => {
  const memory = createMinorGc();
  const before = process.memoryUsage().arrayBuffers;
  let most = 0;
  for (let count = 0; count < 2_000; count += 1) {
    const { byteLength } = Buffer.allocUnsafeSlow(64 * 1024);
    memory.passed(byteLength);
    if (count % 16 === 0) await new Promise((turn) => setImmediate(turn));
    most = Math.max(most, process.memoryUsage().arrayBuffers - before);
  }
  expect(most).toBeLessThan(20 * 1024 * 1024);
});
