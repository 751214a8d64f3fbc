import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { errorCode } from "../../test/support/error-code.ts";
import { ended, makeHostFixture, outputBytes, specOf, waitUntil } from "../../test/support/terminal-host.ts";
import { systemClock } from "../core/clock.ts";
import { PosternError } from "../core/errors.ts";
import { isAlive, sendSignal } from "../platform/processes.ts";
import type { ConnectedTerminalHost } from "./client.ts";
import type { RecordedEvent, TerminalRecording } from "./terminal-info.ts";

async function recordingOf(client: ConnectedTerminalHost, terminalId: string): Promise<TerminalRecording> {
  const recording = await client.recording(terminalId);
  if (recording === null) throw new Error(`There is no recording of ${terminalId}.`);
  return recording;
}

async function eventsOf(recording: TerminalRecording, from?: number): Promise<RecordedEvent[]> {
  const events: RecordedEvent[] = [];
  for await (const event of recording.events(from === undefined ? {} : { from })) events.push(event);
  return events;
}

function textOf(events: readonly RecordedEvent[]): string {
  return Buffer.concat(events.flatMap((event) => ("data" in event ? [event.data] : []))).toString();
}

test("output is played back with its times and sizes, live and after the terminal was released", async () => {
  const fixture = await makeHostFixture();
  const client = await fixture.connect();
  const spec = specOf(["/bin/sh", "-c", "stty -echo; echo ready; while read line; do echo $line; done"]);
  const { terminalId } = spec;
  const startedAt = (await client.spawn(spec)).startedAt;
  const stream = await client.attach(terminalId);
  const seen: { at: number; text: string }[] = [];
  const reading = (async () => {
    for await (const data of outputBytes(stream)) seen.push({ at: Date.now(), text: Buffer.from(data).toString() });
  })();
  const offsetNow = async (): Promise<number> => (await client.snapshot(terminalId)).offset;
  for (const [n, line] of ["one", "two", "three"].entries()) {
    await client.resize(terminalId, { cols: 60 + n, rows: 20 });
    const before = await offsetNow();
    await client.write(terminalId, `${line}\n`);
    await waitUntil(async () => (await offsetNow()) > before);
    await systemClock.sleep(120);
  }
  const live = await recordingOf(client, terminalId);
  expect(live).toMatchObject({ terminalId, startedAt, live: true, sizeBytes: await offsetNow() });
  const events = await eventsOf(live);
  expect(textOf(events)).toBe("ready\r\none\r\ntwo\r\nthree\r\n");
  expect(events.flatMap((event) => ("cols" in event ? [[event.cols, event.rows]] : []))).toEqual([
    [80, 24],
    [60, 20],
    [61, 20],
    [62, 20],
  ]);
  for (const { at, text } of seen) {
    const recorded = events.find((event) => "data" in event && Buffer.from(event.data).toString() === text);
    expect(Math.abs((recorded?.at ?? 0) - at)).toBeLessThan(1_000);
  }
  const times = events.map(({ at }) => at);
  expect(times).toEqual(times.toSorted((one, other) => one - other));
  expect(live.beginsAt).toBe(times[0]);
  expect(live.endsAt).toBeGreaterThan(times.at(-1) ?? Number.NaN);
  const atTwo =
    events.find((event) => "data" in event && Buffer.from(event.data).toString().startsWith("two"))?.at ?? 0;
  const behind = await eventsOf(live, atTwo);
  expect(textOf(behind)).toBe("two\r\nthree\r\n");
  expect(behind.slice(0, 2)).toContainEqual(expect.objectContaining({ cols: 61 }));
  const screen = await live.screenAt(atTwo);
  expect(behind[0]).toMatchObject({ cols: screen.cols, rows: screen.rows });
  expect(screen.lines.slice(0, 3)).toEqual(["ready", "one", ""]);
  expect(await live.screenAt(live.endsAt)).toEqual(await client.snapshot(terminalId));
  expect((await live.screenAt(0)).lines.join("")).toBe("");

  const exit = await client.end(terminalId, { graceMs: 100 });
  await reading;
  await client.release(terminalId);
  expect(await client.list()).toEqual([]);
  expect(await errorCode(client.snapshot(terminalId))).toBe("terminal_gone");
  const kept = await recordingOf(client, terminalId);
  expect(kept).toMatchObject({ startedAt, live: false, endsAt: exit.at });
  expect(textOf(await eventsOf(kept))).toBe(textOf(events));
  expect(await errorCode(client.spawn(spec))).toBe("terminal_exists");
  expect(existsSync(join(fixture.stateDir, "terminals", terminalId, "record.json"))).toBe(false);

  await client.forget(terminalId);
  await waitUntil(() => !existsSync(join(fixture.stateDir, "terminals", terminalId)));
  expect(await client.recording(terminalId)).toBeNull();
  expect(await client.recording("../host")).toBeNull();
});

test("recordings are kept across hosts, and the oldest are dropped when there are too many", async () => {
  const fixture = await makeHostFixture({ recordingsMaxCount: 3 });
  const first = await fixture.connect();
  const ids: string[] = [];
  for (const text of ["first", "second", "third", "fourth"]) {
    const spec = specOf(["/bin/echo", text]);
    await first.spawn(spec);
    await ended(first, spec.terminalId);
    await first.release(spec.terminalId);
    ids.push(spec.terminalId);
    await systemClock.sleep(5);
  }
  const folder = join(fixture.stateDir, "terminals");
  await waitUntil(() => readdirSync(folder).length === 3);
  const { pid, pidStartTime } = first.host() ?? { pid: 0, pidStartTime: "" };
  await first.close();
  sendSignal(pid, "SIGTERM");
  await waitUntil(() => !isAlive(pid, pidStartTime));
  const second = await fixture.connect({ recordingsMaxCount: 2 });
  expect(second.host()?.pid).not.toBe(pid);
  await waitUntil(() => readdirSync(folder).length === 2);
  const texts = await Promise.all(ids.map(async (id) => (await second.recording(id)) !== null));
  expect(texts).toEqual([false, false, true, true]);
  expect(textOf(await eventsOf(await recordingOf(second, ids[3] ?? "")))).toBe("fourth\r\n");
});

test("the total size of recordings is bounded", { timeout: 30_000 }, async () => {
  const fixture = await makeHostFixture({ recordingsMaxBytes: 1_500_000 });
  const client = await fixture.connect();
  const ids: string[] = [];
  for (const count of [100_000, 60_000, 100_000]) {
    const spec = specOf(["/usr/bin/seq", String(count)]);
    await client.spawn(spec);
    await ended(client, spec.terminalId);
    await client.release(spec.terminalId);
    ids.push(spec.terminalId);
  }
  await waitUntil(() => readdirSync(join(fixture.stateDir, "terminals")).length === 2);
  expect(await client.recording(ids[0] ?? "")).toBeNull();
  expect((await client.recording(ids[2] ?? ""))?.sizeBytes).toBe(688_895);
});

test("a reader that is still behind when a terminal is released reads to the end", { timeout: 30_000 }, async () => {
  const client = await (await makeHostFixture()).connect();
  const spec = specOf(["/usr/bin/seq", "500000"]);
  await client.spawn(spec);
  const stream = await client.attach(spec.terminalId);
  await ended(client, spec.terminalId);
  await client.release(spec.terminalId);
  let bytes = stream.offset;
  for await (const data of outputBytes(stream)) bytes += data.byteLength;
  expect(bytes).toBe(3_888_895);
  expect(await stream.exit).toMatchObject({ exitCode: 0 });
});

test("rebuilding a screen from much output does not block the thread", { timeout: 60_000 }, async () => {
  const client = await (await makeHostFixture()).connect();
  const spec = specOf(["/usr/bin/seq", "400000"]);
  await client.spawn(spec);
  await ended(client, spec.terminalId);
  const recording = await recordingOf(client, spec.terminalId);
  let turns = 0;
  const turning = setInterval(() => turns++, 1);
  const screen = await recording.screenAt(recording.endsAt);
  clearInterval(turning);
  expect(screen).toEqual(await client.snapshot(spec.terminalId));
  expect(turns).toBeGreaterThan(10);
});

test("an aborted screen is dropped, and the number of waiting ones is bounded", async () => {
  const client = await (await makeHostFixture()).connect();
  const spec = specOf(["/usr/bin/seq", "400000"]);
  await client.spawn(spec);
  await ended(client, spec.terminalId);
  const recording = await recordingOf(client, spec.terminalId);
  const leaving = new AbortController();
  const screens = Array.from({ length: 70 }, () => recording.screenAt(recording.endsAt, leaving));
  const outcomes = Promise.all(screens.map((screen) => errorCode(screen)));
  leaving.abort(new PosternError("client_gone", "The viewer left."));
  expect(new Set(await outcomes)).toEqual(new Set(["client_gone", "rate_limited"]));
  expect((await recording.screenAt(recording.beginsAt)).offset).toBe(0);
});
