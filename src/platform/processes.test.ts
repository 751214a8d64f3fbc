import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { expect, onTestFinished, test } from "vitest";
import { median } from "../../bench/measure.ts";
import { waitUntil } from "../../test/support/terminal-host.ts";
import { systemClock } from "../core/clock.ts";
import {
  createProcessTableReader,
  processRow,
  processTable,
  startedBefore,
  startedWithVariable,
} from "./process-table.ts";
import {
  descendantsOf,
  endGroup,
  endGroups,
  isAlive,
  isRunning,
  sendSignal,
  signalChild,
  signalChildGroup,
  startTimeOf,
} from "./processes.ts";

const linuxOnly = test.runIf(process.platform === "linux");

/** A Node process in a separate group that prints one line when it is ready. */
async function start(
  script: string,
  env: Readonly<Record<string, string>> = {},
): Promise<{ child: ChildProcess; pid: number; line: string }> {
  const child = spawn(process.execPath, ["-e", script], {
    detached: true,
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...env },
  });
  const pid = child.pid ?? 0;
  onTestFinished(() => void sendSignal(-pid, "SIGKILL"));
  const [data]: unknown[] = child.stdout === null ? [] : await once(child.stdout, "data");
  return { child, pid, line: String(data).trim() };
}

function timed(task: () => unknown): number {
  const startedAt = performance.now();
  task();
  return performance.now() - startedAt;
}

const forever = "setInterval(() => {}, 1000);";
const ready = `console.log("ready");${forever}`;
const stubborn = `for (const s of ["SIGHUP", "SIGTERM"]) process.on(s, () => {});${ready}`;

test("a process is known by pid and start time, and a later one with the same pid is not it", async () => {
  const { child, pid } = await start(ready);
  const startTime = startTimeOf(pid);
  expect(startTime).not.toBe("");
  expect(isAlive(pid, startTime)).toBe(true);
  expect(isAlive(pid, `${startTime}1`)).toBe(false);
  const exited = once(child, "exit");
  sendSignal(pid, "SIGKILL");
  await exited;
  expect(isAlive(pid, startTime)).toBe(false);
  expect(startTimeOf(pid)).toBe("");
});

linuxOnly("a zombie is not alive", async () => {
  // The parent never waits: it stops itself right after the child was started.
  const { line, pid } = await start(`
    const child = require("node:child_process").spawn("/bin/true");
    console.log(child.pid);
    process.kill(process.pid, "SIGSTOP");`);
  const child = Number(line);
  await waitUntil(() => processRow(child)?.zombie === true);
  expect(isAlive(child, startTimeOf(child))).toBe(false);
  sendSignal(pid, "SIGKILL");
});

test("ending a group sends SIGTERM first and does not kill processes that exit", async () => {
  const { child, pid } = await start(
    `process.on("SIGTERM", () => setTimeout(() => process.exit(7), 100));process.on("SIGHUP", () => {});${ready}`,
  );
  const exited = once(child, "exit");
  await endGroup({ leader: { pid, startTime: startTimeOf(pid) } }, { graceMs: 5_000, clock: systemClock });
  expect((await exited)[0]).toBe(7);
});

test("ending a group kills processes that ignore SIGTERM, after the grace period", async () => {
  const { child, pid } = await start(stubborn);
  const exited = once(child, "exit");
  const startedAt = Date.now();
  await endGroup({ leader: { pid, startTime: startTimeOf(pid) } }, { graceMs: 300, clock: systemClock });
  expect((await exited)[1]).toBe("SIGKILL");
  expect(Date.now() - startedAt).toBeGreaterThanOrEqual(300);
});

test("ending a group ends grandchildren in separate groups", async () => {
  const inner = JSON.stringify(stubborn);
  const { pid, line } = await start(`
    const child = require("node:child_process").spawn(process.execPath, ["-e", ${inner}], { detached: true, stdio: ["ignore", "pipe", "inherit"] });
    child.stdout.once("data", () => console.log(child.pid));${forever}`);
  const grandchild = Number(line);
  const startTime = startTimeOf(grandchild);
  expect(descendantsOf(pid).map((row) => row.pid)).toContain(grandchild);
  await endGroup({ leader: { pid, startTime: startTimeOf(pid) } }, { graceMs: 200, clock: systemClock });
  expect(isAlive(grandchild, startTime)).toBe(false);
});

linuxOnly("what carries the marker is found after its parent is gone", async () => {
  const marker = { name: "POSTERN_TEST_MARK", value: `mark-${process.pid}-${Date.now()}` };
  const inner = JSON.stringify(stubborn);
  const { child, pid, line } = await start(
    `const child = require("node:child_process").spawn(process.execPath, ["-e", ${inner}], { detached: true, stdio: ["ignore", "pipe", "inherit"] });
    child.stdout.once("data", () => { console.log(child.pid); child.unref(); process.exit(0); });`,
    { [marker.name]: marker.value },
  );
  const orphan = Number(line);
  const startTime = startTimeOf(orphan);
  if (child.exitCode === null) await once(child, "exit");
  expect(startedWithVariable(orphan, marker.name, marker.value)).toBe(true);
  expect(startedWithVariable(orphan, marker.name, `${marker.value}0`)).toBe(false);
  await endGroup({ leader: { pid, startTime: "long ago" }, marker }, { graceMs: 100, clock: systemClock });
  expect(isAlive(orphan, startTime)).toBe(false);
});

linuxOnly("of two processes of one boot the older is known by their start times", async () => {
  const first = await start(ready);
  const firstTime = startTimeOf(first.pid);
  expect(startedBefore(firstTime, startTimeOf(process.pid))).toBe(false);
  expect(startedBefore(startTimeOf(process.pid), firstTime)).toBe(true);
  for (const other of ["long ago", "", `another.${Number.MAX_SAFE_INTEGER}`])
    expect(startedBefore(firstTime, other)).toBe(false);
});

linuxOnly("a process that is irrelevant is left out of each reading, and a new one is in the next", async () => {
  const first = await start(ready);
  const looked: number[] = [];
  const read = createProcessTableReader(({ pid }) => {
    looked.push(pid);
    return pid === first.pid;
  });
  const pids = async () => (await read()).map(({ pid }) => pid);
  expect(await pids()).not.toContain(first.pid);
  const second = await start(ready);
  expect(await pids()).toContain(second.pid);
  expect([first, second].map(({ pid }) => looked.filter((other) => other === pid).length)).toEqual([1, 1]);
  const exited = once(second.child, "exit");
  sendSignal(second.pid, "SIGKILL");
  await exited;
  expect(await pids()).not.toContain(second.pid);
});

test("a process that reuses the pid of a dead one is left alone", async () => {
  const { pid } = await start(ready);
  const startTime = startTimeOf(pid);
  await endGroups([{ leader: { pid, startTime: `${startTime}0` } }], { graceMs: 50, clock: systemClock });
  expect(isAlive(pid, startTime)).toBe(true);
});

test("a stopped process can exit before it is killed", async () => {
  const { child, pid } = await start(
    `process.on("SIGHUP", () => {});process.on("SIGTERM", () => process.exit(7));${ready}`,
  );
  sendSignal(pid, "SIGSTOP");
  const exited = once(child, "exit");
  await endGroup({ leader: { pid, startTime: startTimeOf(pid) } }, { graceMs: 3_000, clock: systemClock });
  expect((await exited)[0]).toBe(7);
});

test("no signal is sent for a child that could not be spawned, nor to our own group", async () => {
  const { pid } = spawn("/nonexistent/program").on("error", () => undefined);
  expect(pid).toBeUndefined();
  const sent: unknown[] = [];
  // Whether a real one signals our group depends on the version of Node.
  const child = { pid, kill: (signal: unknown) => sent.push(signal) > 0 };
  expect([signalChild(child, "SIGCONT"), signalChildGroup(child, "SIGCONT"), ...sent]).toEqual([false, false]);
});

test("a living child and its group receive a signal", async () => {
  for (const send of [signalChild, signalChildGroup]) {
    const { child } = await start(ready);
    const exited = once(child, "exit");
    expect(send(child, "SIGKILL")).toBe(true);
    expect(await exited).toEqual([null, "SIGKILL"]);
    expect(send(child, "SIGKILL")).toBe(false);
  }
});

test("no signal is sent to our own group, all processes or the first process", () => {
  for (const pid of [0, -0, -1, 1, Number.NaN]) expect(sendSignal(pid, "SIGCONT")).toBe(false);
  for (const pid of [0, -process.pid, Number.NaN]) expect(isRunning(pid)).toBe(false);
});

linuxOnly(
  "waiting for an exit reads the process table only a few times a second, and never blocks for a second",
  async () => {
    const crowd = spawn("/bin/sh", ["-c", "for i in $(seq 400); do sleep 300 & done; echo ready; wait"], {
      detached: true,
      stdio: ["ignore", "pipe", "inherit"],
    });
    onTestFinished(() => void sendSignal(-(crowd.pid ?? 0), "SIGKILL"));
    await once(crowd.stdout, "data");
    const { pid } = await start(stubborn);
    const scanMs = median(await Promise.all(Array.from({ length: 5 }, async () => timed(() => processTable()))));

    const before = process.cpuUsage();
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    await endGroup({ leader: { pid, startTime: startTimeOf(pid) } }, { graceMs: 1_000, clock: systemClock });
    delay.disable();
    const { user, system } = process.cpuUsage(before);
    // A scan every 20 ms would be 50 of them.
    expect((user + system) / 1_000).toBeLessThan(20 * scanMs);
    expect(delay.percentile(98) / 1e6).toBeLessThan(scanMs / 2);
  },
);
