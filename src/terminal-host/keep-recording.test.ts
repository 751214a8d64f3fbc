import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ended, type HostFixture, makeHostFixture, specOf, waitUntil } from "../../test/support/terminal-host.ts";
import { isAlive, sendSignal } from "../platform/processes.ts";
import type { ConnectedTerminalHost } from "./client.ts";
import type { SpawnSpec } from "./terminal-info.ts";

const show = ["/bin/sh", "-c", "echo secret; exec cat"] as const;

/** A terminal that is kept and one that is not, each with its output on disk. */
async function startBoth(
  client: ConnectedTerminalHost,
): Promise<{ readonly kept: SpawnSpec; readonly unkept: SpawnSpec }> {
  const both = { kept: specOf(show), unkept: specOf(show, { keepRecording: false }) };
  for (const spec of [both.kept, both.unkept]) {
    await client.spawn(spec);
    await waitUntil(async () => (await client.snapshot(spec.terminalId)).lines.includes("secret"));
    expect(await client.recording(spec.terminalId)).toMatchObject({ live: true });
  }
  return both;
}

function foldersOf({ stateDir }: HostFixture): readonly string[] {
  return readdirSync(join(stateDir, "terminals"));
}

async function signalHost(client: ConnectedTerminalHost, signal: "SIGTERM" | "SIGKILL"): Promise<void> {
  const { pid, pidStartTime } = client.host() ?? { pid: 0, pidStartTime: "" };
  await client.close(); // so that it does not start another one
  sendSignal(pid, signal);
  await waitUntil(() => !isAlive(pid, pidStartTime), 10_000);
}

test("a terminal without a kept recording is forgotten when it is released", async () => {
  const fixture = await makeHostFixture();
  const client = await fixture.connect();
  const { kept, unkept } = await startBoth(client);
  for (const { terminalId } of [kept, unkept]) {
    await client.end(terminalId, { graceMs: 500 });
    await ended(client, terminalId);
    await client.release(terminalId);
  }
  expect(await client.list()).toEqual([]);
  expect(foldersOf(fixture)).toEqual([kept.terminalId]);
  expect(await client.recording(unkept.terminalId)).toBeNull();
  expect(await client.recording(kept.terminalId)).toMatchObject({ live: false });
});

test("a host that gets SIGTERM keeps only recordings that are to be kept", async () => {
  const fixture = await makeHostFixture();
  const client = await fixture.connect();
  const { kept } = await startBoth(client);
  await signalHost(client, "SIGTERM");
  expect(foldersOf(fixture)).toEqual([kept.terminalId]);
});

test("after a killed host, the next one keeps only recordings that are to be kept", async () => {
  const fixture = await makeHostFixture();
  const first = await fixture.connect();
  const { kept, unkept } = await startBoth(first);
  await signalHost(first, "SIGKILL");
  expect(foldersOf(fixture).toSorted()).toEqual([kept.terminalId, unkept.terminalId].toSorted());
  const second = await fixture.connect();
  expect(foldersOf(fixture)).toEqual([kept.terminalId]);
  expect(await second.recording(kept.terminalId)).toMatchObject({ live: false });
});

test("an unfinished removal of a killed host is completed", async () => {
  const fixture = await makeHostFixture();
  const rest = join(fixture.stateDir, "terminals", "rest");
  mkdirSync(rest, { recursive: true, mode: 0o700 });
  writeFileSync(join(rest, "0000000000000000.raw"), "secret");
  writeFileSync(join(rest, "0000000000000000.marks"), Buffer.alloc(16, 1));
  await fixture.connect();
  expect(foldersOf(fixture)).toEqual([]);
});
