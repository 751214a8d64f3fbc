import fc from "fast-check";
import { expect, test } from "vitest";
import { suiteSeed } from "../../test/support/suite-seed.ts";
import { ended, makeHostFixture, specOf, waitUntil } from "../../test/support/terminal-host.ts";
import type { ConnectedTerminalHost } from "./client.ts";
import { createSizeHistory } from "./size-history.ts";
import type { TerminalSize, TerminalStream } from "./terminal-info.ts";

/** The stream's output as text, each size in brackets at its place. */
async function readWithSizes(stream: TerminalStream): Promise<string> {
  let text = "";
  for await (const part of stream.output) {
    text += part instanceof Uint8Array ? Buffer.from(part).toString() : `[${part.cols}x${part.rows}]`;
  }
  return text;
}

/** One line of output for each size, followed by the resize: `ready`, then `<n>` between sizes. */
const LINES = ["/bin/sh", "-c", "stty -echo; echo ready; while read line; do echo $line; done"] as const;

async function sayLine(client: ConnectedTerminalHost, terminalId: string, line: string): Promise<void> {
  await client.write(terminalId, `${line}\n`);
  await waitUntil(async () => (await client.snapshot(terminalId)).lines.includes(line));
}

test("every reader gets a new size at its place, also one that attached late or continues", async () => {
  const client = await (await makeHostFixture()).connect();
  const spec = specOf(LINES);
  const { terminalId } = spec;
  await client.spawn(spec);
  await waitUntil(async () => (await client.snapshot(terminalId)).lines[0] === "ready");
  const early = await client.attach(terminalId);
  expect(early).toMatchObject({ size: { cols: 80, rows: 24 }, offset: "ready\r\n".length });
  const reading = readWithSizes(early);
  await client.resize(terminalId, { cols: 70, rows: 20 });
  await sayLine(client, terminalId, "one");
  await client.resize(terminalId, { cols: 60, rows: 20 });
  await client.resize(terminalId, { cols: 90, rows: 30 });
  await sayLine(client, terminalId, "two");
  const late = await client.attach(terminalId);
  expect(late.size).toEqual({ cols: 90, rows: 30 });
  const lateReading = readWithSizes(late);
  await client.resize(terminalId, { cols: 50, rows: 10 });
  await sayLine(client, terminalId, "three");
  await client.end(terminalId, { graceMs: 100 });
  const whole = "[70x20]one\r\n[60x20][90x30]two\r\n[50x10]three\r\n";
  expect(await reading).toBe(whole);
  expect(await lateReading).toBe("[50x10]three\r\n");

  const text = "ready\r\none\r\ntwo\r\nthree\r\n";
  const places: readonly (readonly [number, TerminalSize, string])[] = [
    [0, { cols: 80, rows: 24 }, `ready\r\n${whole}`],
    [3, { cols: 80, rows: 24 }, `dy\r\n${whole}`],
    [8, { cols: 70, rows: 20 }, "ne\r\n[60x20][90x30]two\r\n[50x10]three\r\n"],
    [12, { cols: 90, rows: 30 }, "two\r\n[50x10]three\r\n"],
    [text.length, { cols: 50, rows: 10 }, ""],
  ];
  for (const [from, size, rest] of places) {
    const stream = await client.attach(terminalId, { from });
    expect(stream).toMatchObject({ snapshot: null, offset: from, size });
    expect(await readWithSizes(stream)).toBe(rest);
  }
  for (const from of [-1, text.length + 1, 1.5]) {
    const stream = await client.attach(terminalId, { from });
    expect(stream.snapshot?.lines).toContain("three");
    expect(stream.offset).toBe(text.length);
    stream.close();
  }
});

test("a reader that continues from a dropped part of the raw log gets the screen, even with a very small log", {
  timeout: 30_000,
}, async () => {
  const client = await (await makeHostFixture({ rawLogMaxBytes: 64 * 1024 })).connect();
  const spec = specOf(["/usr/bin/seq", "300000"]);
  await client.spawn(spec);
  await ended(client, spec.terminalId);
  const stream = await client.attach(spec.terminalId, { from: 10 });
  expect(stream.snapshot?.lines.at(-2)).toBe("300000");
  stream.close();
});

test("the size history is bounded, and reports dropped sizes", () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 3 }), { maxLength: 3_000, size: "max" }), (steps) => {
      const history = createSizeHistory({ cols: 1, rows: 1 });
      const all = [{ offset: 0, cols: 1, rows: 1 }];
      for (const [n, step] of steps.entries()) {
        const change = { offset: (all.at(-1)?.offset ?? 0) + step, cols: n + 2, rows: 1 };
        all.push(change);
        history.add(change);
      }
      expect(history.count).toBe(all.length);
      expect(history.current).toEqual(all.at(-1));
      const kept = all.flatMap((_, n) => history.after(n) ?? []);
      expect(kept.length).toBeLessThanOrEqual(1_024);
      expect(kept.length).toBeGreaterThanOrEqual(Math.min(all.length, 512));
      expect(kept).toEqual(all.slice(-kept.length));
      expect(history.after(all.length)).toBeUndefined();
      if (kept.length < all.length) expect(history.after(all.length - kept.length - 1)).toBeNull();
      for (const offset of [0, 5, all.at(-1)?.offset ?? 0, 100_000]) {
        const expected = all.findLast((change) => change.offset <= offset);
        const found = history.at(offset);
        if (found === undefined) expect(expected).not.toEqual(all.at(-kept.length));
        else expect(found).toEqual({ size: expected, count: all.findLastIndex((one) => one.offset <= offset) + 1 });
      }
    }),
    { numRuns: 30, seed: suiteSeed },
  );
});
