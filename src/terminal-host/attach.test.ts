import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { errorCode } from "../../test/support/error-code.ts";
import {
  ended,
  makeHostFixture,
  outputBytes,
  readAll,
  scriptSpec,
  specOf,
  waitUntil,
} from "../../test/support/terminal-host.ts";
import { systemClock } from "../core/clock.ts";
import { createScreenModel } from "./screen-model.ts";

/** `seq` to n as a terminal shows it. */
function numbers(count: number): Buffer {
  return Buffer.from(Array.from({ length: count }, (_, n) => `${n + 1}\r\n`).join(""));
}

test("a viewer that attaches during a flood gets the screen and exactly the bytes that follow", {
  timeout: 60_000,
}, async () => {
  const client = await (await makeHostFixture()).connect();
  const expected = numbers(600_000);
  const spec = specOf(["/usr/bin/seq", "600000"]);
  await client.spawn(spec);
  const readers = await Promise.all(
    [0, 20, 60, 120, 200].map(async (delayMs) => {
      await systemClock.sleep(delayMs);
      const stream = await client.attach(spec.terminalId);
      const rest = await readAll(stream);
      return { offset: stream.offset, rest, exit: await stream.exit };
    }),
  );
  for (const { offset, rest, exit } of readers) {
    expect(exit).toMatchObject({ exitCode: 0 });
    expect(rest.equals(expected.subarray(offset))).toBe(true);
  }
  expect(readers[0]?.offset).toBeLessThan(expected.byteLength / 2);
});

test("an early and a late viewer see the same screen", async () => {
  const client = await (await makeHostFixture()).connect();
  const spec = scriptSpec(
    `let n = 0;
    const step = () => {
      process.stdout.write("\\x1b[3" + (n % 8) + "mline " + n + " grün 日本\\x1b[0m\\r\\n" + (n % 7 === 0 ? "\\x1b[2A\\x1b[K" : ""));
      if (++n < 300) setTimeout(step, 1); else { process.stdout.write("\\x1b[?2004h\\x1b[5;5Hdone"); setInterval(() => {}, 1000); }
    };
    step();`,
    { cols: 50, rows: 15 },
  );
  await client.spawn(spec);
  const screens = await Promise.all(
    [0, 100, 250].map(async (delayMs) => {
      await systemClock.sleep(delayMs);
      const stream = await client.attach(spec.terminalId);
      const output = outputBytes(stream);
      const model = createScreenModel({ cols: 50, rows: 15 }, () => undefined);
      const isDone = (): boolean => model.paint().lines.some((line) => line.includes("done"));
      model.write(Buffer.from(stream.snapshot?.ansi ?? ""));
      while (!isDone()) {
        const { value, done } = await output.next();
        if (done) break;
        model.write(value);
      }
      stream.close();
      const { lines, ansi } = model.paint();
      model.close();
      return { lines, ansi };
    }),
  );
  const late = await client.snapshot(spec.terminalId);
  for (const { lines, ansi } of screens) {
    expect(lines).toEqual(late.lines);
    expect(ansi).toBe(late.ansi);
  }
});

test("a resize takes effect between the output before and after it", async () => {
  const client = await (await makeHostFixture()).connect();
  const spec = specOf(["/bin/sh", "-c", "stty -echo; echo ready; read a; printf %0100d 0; read b"]);
  await client.spawn(spec);
  await waitUntil(async () => (await client.snapshot(spec.terminalId)).lines[0] === "ready");
  await client.resize(spec.terminalId, { cols: 30, rows: 10 });
  await client.write(spec.terminalId, "\n");
  await waitUntil(async () => (await client.snapshot(spec.terminalId)).lines[4]?.length === 10);
  expect(await client.snapshot(spec.terminalId)).toMatchObject({ cols: 30, rows: 10 });
});

test("a reader that does not read delays the program only for a moment", { timeout: 60_000 }, async () => {
  const client = await (await makeHostFixture()).connect();
  const spec = specOf(["/bin/sh", "-c", "stty -echo; echo ready; read go; exec seq 1000000"]);
  const expected = Buffer.concat([Buffer.from("ready\r\n"), numbers(1_000_000)]);
  await client.spawn(spec);
  await waitUntil(async () => (await client.snapshot(spec.terminalId)).lines[0] === "ready");
  const stream = await client.attach(spec.terminalId);
  await client.write(spec.terminalId, "go\n");
  const bytesSoFar = async (): Promise<number> => (await client.snapshot(spec.terminalId)).offset;
  await waitUntil(async () => (await bytesSoFar()) > 1024 * 1024);
  await systemClock.sleep(200);
  expect(await bytesSoFar()).toBeLessThan(3 * 1024 * 1024);
  await ended(client, spec.terminalId);
  const rest = await readAll(stream);
  expect(rest.equals(expected.subarray(stream.offset))).toBe(true);
});

test("a reader that is slower than the program gets every byte", { timeout: 60_000 }, async () => {
  const client = await (await makeHostFixture()).connect();
  const spec = specOf(["/bin/sh", "-c", "stty -echo; echo ready; read go; exec seq 700000"]);
  const expected = Buffer.concat([Buffer.from("ready\r\n"), numbers(700_000)]);
  await client.spawn(spec);
  await waitUntil(async () => (await client.snapshot(spec.terminalId)).lines[0] === "ready");
  const stream = await client.attach(spec.terminalId);
  await client.write(spec.terminalId, "go\n");
  const parts: Uint8Array[] = [];
  for await (const part of outputBytes(stream)) {
    parts.push(part);
    if (parts.length % 3 === 0) await systemClock.sleep(8);
  }
  expect(Buffer.concat(parts).equals(expected.subarray(stream.offset))).toBe(true);
});

test("a reader that falls behind the raw log gets an error, and the screen continues", {
  timeout: 60_000,
}, async () => {
  const fixture = await makeHostFixture({ rawLogMaxBytes: 2 * 1024 * 1024 });
  const client = await fixture.connect();
  const spec = specOf(["/usr/bin/seq", "1000000"]);
  await client.spawn(spec);
  const stream = await client.attach(spec.terminalId);
  await ended(client, spec.terminalId);
  expect(await errorCode(readAll(stream))).toBe("reader_behind");
  expect(await errorCode(stream.exit)).toBe("reader_behind");
  const again = await client.attach(spec.terminalId);
  expect(again.snapshot?.lines.slice(-3)).toEqual(["999999", "1000000", ""]);
  expect(again.offset).toBe(numbers(1_000_000).byteLength);
  again.close();
});

test("the raw log stays within its limit during a flood without readers", { timeout: 60_000 }, async () => {
  const maxBytes = 4 * 1024 * 1024;
  const fixture = await makeHostFixture({ rawLogMaxBytes: maxBytes });
  const client = await fixture.connect();
  const file = join(fixture.stateDir, "much");
  await writeFile(
    file,
    `\x1b[?2004h${"a line of much output, quicker than a screen model reads\n".repeat(400_000)}last\n`,
  );
  const spec = specOf(["/bin/cat", file]);
  await client.spawn(spec);
  const dir = join(fixture.stateDir, "terminals", spec.terminalId);
  let largest = 0;
  const gone = ended(client, spec.terminalId);
  for (let over = false; !over; ) {
    const sizes = (await readdir(dir))
      .filter((name) => name.endsWith(".raw"))
      .map((name) => statSync(join(dir, name), { throwIfNoEntry: false })?.size ?? 0);
    const total = sizes.reduce((sum, bytes) => sum + bytes, 0);
    largest = Math.max(largest, total);
    over = await Promise.race([gone.then(() => true), systemClock.sleep(10).then(() => false)]);
  }
  expect(largest).toBeGreaterThan(maxBytes / 2);
  expect(largest).toBeLessThanOrEqual(maxBytes);
  const { lines, ansi } = await client.snapshot(spec.terminalId);
  expect(lines.slice(-2)).toEqual(["last", ""]);
  expect(ansi).toContain("\x1b[?2004h"); // the model read all of it, although the log holds a part only
  expect((await client.status()).rssBytes).toBeLessThan(300 * 1024 * 1024);
});

test("a raw log that can no longer be written loses history, not live output", async () => {
  const fixture = await makeHostFixture({ rawLogMaxBytes: 1024 * 1024 });
  const client = await fixture.connect();
  const spec = specOf([
    "/bin/sh",
    "-c",
    "read go; for n in $(seq 100); do printf '%04000d\\n' $n; sleep 0.005; done; echo the end; read go",
  ]);
  await client.spawn(spec);
  const stream = await client.attach(spec.terminalId);
  await rm(join(fixture.stateDir, "terminals", spec.terminalId), { recursive: true });
  await client.write(spec.terminalId, "go\n");
  let text = "";
  for await (const data of outputBytes(stream)) {
    text += Buffer.from(data).toString();
    if (text.includes("the end")) break;
  }
  expect(text).toContain(`${"0".repeat(3998)}99\r\n${"0".repeat(3997)}100\r\nthe end`);
  expect(text.match(/0{3990}/g)).toHaveLength(100);
  await waitUntil(async () => (await client.snapshot(spec.terminalId)).lines.includes("the end"));
  await client.end(spec.terminalId, { graceMs: 200 });
  await client.forget(spec.terminalId);
});

test("closing a stream ends it without affecting the program", async () => {
  const client = await (await makeHostFixture()).connect();
  const spec = specOf(["/bin/cat"]);
  await client.spawn(spec);
  const stream = await client.attach(spec.terminalId);
  const reading = errorCode(readAll(stream));
  stream.close();
  expect(await reading).toBe("terminal_host_unavailable");
  await client.write(spec.terminalId, "still here\n");
  await waitUntil(async () => (await client.snapshot(spec.terminalId)).lines[0] === "still here");
});

test("200 KB of input arrive whole at a program that reads at its own pace", async () => {
  const client = await (await makeHostFixture()).connect();
  const bytes = 200 * 1024;
  const spec = scriptSpec(`
    process.stdin.setRawMode(true);
    const hash = require("node:crypto").createHash("sha256");
    let got = 0;
    process.stdin.on("data", (data) => {
      hash.update(data);
      got += data.length;
      process.stdin.pause();
      setTimeout(() => process.stdin.resume(), 1);
      if (got >= ${bytes}) { console.log(got + " " + hash.digest("hex").slice(0, 16)); process.exit(0); }
    });
    console.log("ready");`);
  await client.spawn(spec);
  await waitUntil(async () => (await client.snapshot(spec.terminalId)).lines[0] === "ready", 10_000);
  const text = Array.from({ length: bytes / 8 }, (_, n) => String(n).padStart(8, "0")).join("");
  await client.write(spec.terminalId, text);
  await ended(client, spec.terminalId);
  const expected = createHash("sha256").update(text).digest("hex").slice(0, 16);
  expect((await client.snapshot(spec.terminalId)).lines).toContain(`${bytes} ${expected}`);
});
