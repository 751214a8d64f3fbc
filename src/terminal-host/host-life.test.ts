import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, rmSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { errorCode } from "../../test/support/error-code.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { makeHostFixture, readAll, scriptSpec, specOf, waitUntil } from "../../test/support/terminal-host.ts";
import { isAlive, type ProcessIdentity, sendSignal, startTimeOf } from "../platform/processes.ts";
import type { ConnectedTerminalHost } from "./client.ts";

const linuxOnly = test.runIf(process.platform === "linux");

function identify(pid: number): ProcessIdentity {
  return { pid, startTime: startTimeOf(pid) };
}

function lives({ pid, startTime }: ProcessIdentity): boolean {
  return isAlive(pid, startTime);
}

function hostOf(client: ConnectedTerminalHost): ProcessIdentity {
  const host = client.host();
  if (host === null) throw new Error("There is no host.");
  return { pid: host.pid, startTime: host.pidStartTime };
}

test("clients that start at the same time share one host", async () => {
  const fixture = await makeHostFixture();
  const clients = await Promise.all(Array.from({ length: 5 }, () => fixture.connect()));
  const hosts = new Set(clients.map((client) => client.host()?.pid));
  expect(hosts.size).toBe(1);
  const spec = specOf(["/bin/cat"]);
  await clients[0]?.spawn(spec);
  expect(await clients[4]?.list()).toMatchObject([{ terminalId: spec.terminalId }]);
});

test("the host and programs survive a killed gateway, and the next gateway finds them", async () => {
  const fixture = await makeHostFixture();
  const { socketPath, stateDir } = fixture.options;
  const gateway = spawn(
    process.execPath,
    [fileURLToPath(new URL("../../test/support/spawn-in-host.ts", import.meta.url)), socketPath, stateDir],
    { detached: true, stdio: ["ignore", "pipe", "inherit"] },
  );
  const [line]: unknown[] = await once(gateway.stdout, "data");
  const [hostPid = 0, programPid = 0] = String(line).trim().split(" ").map(Number);
  const [host, program] = [identify(hostPid), identify(programPid)];
  const exited = once(gateway, "exit");
  sendSignal(-(gateway.pid ?? 0), "SIGKILL");
  await exited;
  const client = await fixture.connect();
  expect(hostOf(client)).toEqual(host);
  const [info] = await client.list();
  expect(info).toMatchObject({ pid: programPid, pidStartTime: program.startTime, exit: null });
  await client.write(info?.terminalId ?? "", "after\n");
  await waitUntil(async () => (await client.snapshot(info?.terminalId ?? "")).lines.includes("after"));
});

linuxOnly("a host that is killed leaves no process behind, and the next call works", async () => {
  const client = await (await makeHostFixture()).connect();
  const losses: unknown[] = [];
  client.onExit((one) => losses.push(one));
  const stubborn = `for (const s of ["SIGHUP", "SIGTERM"]) process.on(s, () => {}); setInterval(() => {}, 1000); process.send("ready");`;
  const spec = scriptSpec(`
    for (const s of ["SIGHUP", "SIGTERM"]) process.on(s, () => {});
    const { spawn } = require("node:child_process");
    const child = spawn(process.execPath, ["-e", ${JSON.stringify(stubborn)}], { detached: true, stdio: ["ignore", "ignore", "ignore", "ipc"] });
    child.once("message", () => console.log("child " + child.pid + "."));
    setInterval(() => {}, 1000);`);
  const { pid } = await client.spawn(spec);
  await client.spawn(specOf(["/bin/cat"]));
  const stream = await client.attach(spec.terminalId);
  const reading = errorCode(readAll(stream));
  const childPid = async (): Promise<number> =>
    Number(/^child (\d+)\.$/.exec((await client.snapshot(spec.terminalId)).lines[0] ?? "")?.[1] ?? 0);
  await waitUntil(async () => (await childPid()) > 0, 10_000);
  const processes = [...(await client.list()).map((one) => one.pid), pid, await childPid()].map(identify);
  expect(processes.every(lives)).toBe(true);

  const first = hostOf(client);
  sendSignal(first.pid, "SIGKILL");
  await waitUntil(() => !lives(first));
  expect(await client.list()).toEqual([]);
  expect(processes.filter(lives)).toEqual([]);
  expect(losses).toEqual([null]);
  expect(await reading).toBe("terminal_host_unavailable");
  expect(hostOf(client).pid).not.toBe(first.pid);
  const again = await client.spawn(specOf(["/bin/cat"], { leaseKey: spec.leaseKey }));
  expect(again.exit).toBeNull();
  const left = await client.recording(spec.terminalId);
  expect(left).toMatchObject({ live: false });
  expect((await left?.screenAt(left.endsAt))?.lines[0]).toMatch(/^child \d+\.$/);
  expect(await errorCode(client.spawn(spec))).toBe("terminal_exists");
});

linuxOnly("without any call, what outlived a killed host and its program is ended within moments", async () => {
  const client = await (await makeHostFixture()).connect();
  const stubborn = `for (const s of ["SIGHUP", "SIGTERM"]) process.on(s, () => {}); setInterval(() => {}, 1000); process.send("ready");`;
  const spec = scriptSpec(`
    const { spawn } = require("node:child_process");
    const child = spawn(process.execPath, ["-e", ${JSON.stringify(stubborn)}], { detached: true, stdio: ["ignore", "ignore", "ignore", "ipc"] });
    child.once("message", () => console.log("child " + child.pid + "."));`);
  const { pid } = await client.spawn(spec);
  const childPid = async (): Promise<number> =>
    Number(/^child (\d+)\.$/.exec((await client.snapshot(spec.terminalId)).lines[0] ?? "")?.[1] ?? 0);
  await waitUntil(async () => (await childPid()) > 0, 10_000);
  const [program, child] = [identify(pid), identify(await childPid())];
  const host = hostOf(client);
  sendSignal(host.pid, "SIGSTOP"); // so that the child has lost its parent when the host exits
  sendSignal(pid, "SIGKILL");
  await waitUntil(() => !lives(program));
  expect(lives(child)).toBe(true);
  sendSignal(host.pid, "SIGKILL");
  await waitUntil(() => !lives(child), 5_000);
  await waitUntil(() => client.host() !== null);
});

test("a pending call when the host dies is refused, not repeated", async () => {
  const client = await (await makeHostFixture()).connect();
  const host = hostOf(client);
  const call = errorCode(client.end((await client.spawn(scriptSpec("setInterval(() => {}, 1000)"))).terminalId));
  const spec = specOf(["/bin/cat"]);
  sendSignal(host.pid, "SIGSTOP");
  const spawning = errorCode(client.spawn(spec));
  sendSignal(host.pid, "SIGKILL");
  expect(await spawning).toBe("terminal_host_unavailable");
  expect(["terminal_host_unavailable", null]).toContain(await call);
  expect(await client.list()).toEqual([]);
});

test("a host without terminals and gateways exits, one with a terminal stays", async () => {
  const fixture = await makeHostFixture({ idleExitMs: 150 });
  const client = await fixture.connect();
  const host = hostOf(client);
  const spec = specOf(["/bin/cat"]);
  await client.spawn(spec);
  await client.close();
  await new Promise((resolve) => setTimeout(resolve, 600));
  expect(lives(host)).toBe(true);
  const again = await fixture.connect();
  expect(hostOf(again)).toEqual(host);
  await again.end(spec.terminalId, { graceMs: 500 });
  await again.forget(spec.terminalId);
  await again.close();
  await waitUntil(() => !lives(host));
  const next = await fixture.connect();
  expect(hostOf(next)).not.toEqual(host);
});

test("a host whose socket was removed is found again", async () => {
  const fixture = await makeHostFixture();
  const client = await fixture.connect();
  const host = hostOf(client);
  rmSync(fixture.socketPath);
  const other = await fixture.connect();
  expect(hostOf(other)).toEqual(host);
});

test("a host whose folder was removed ends its programs and exits, and does not disturb the next one", async () => {
  const fixture = await makeHostFixture();
  const client = await fixture.connect();
  const host = hostOf(client);
  const program = identify((await client.spawn(specOf(["/bin/cat"]))).pid);
  rmSync(fixture.stateDir, { recursive: true });
  rmSync(fixture.socketPath);
  await client.close();
  const next = await fixture.connect();
  expect(hostOf(next)).not.toEqual(host);
  await next.spawn(specOf(["/bin/cat"]));
  await waitUntil(() => !lives(host), 10_000);
  expect(lives(program)).toBe(false);
  expect(await (await fixture.connect()).list()).toHaveLength(1);
});

test("a host that gets SIGTERM ends its programs first", async () => {
  const fixture = await makeHostFixture();
  const client = await fixture.connect();
  const program = identify((await client.spawn(specOf(["/bin/cat"]))).pid);
  const host = hostOf(client);
  await client.close();
  sendSignal(host.pid, "SIGTERM");
  await waitUntil(() => !lives(host));
  expect(lives(program)).toBe(false);
});

test("an uncaught exception is logged, and ends no program", async () => {
  const folder = await makeTempFolder();
  const [throwing, nodePath] = [join(folder, "throwing.mjs"), join(folder, "node")];
  await writeFile(throwing, `process.on("SIGUSR2", () => { throw new Error("one reading failed"); });`);
  await writeFile(nodePath, `#!/bin/sh\nexec '${process.execPath}' --import '${throwing}' "$@"\n`, { mode: 0o755 });
  const fixture = await makeHostFixture({ nodePath });
  const client = await fixture.connect();
  const host = hostOf(client);
  const spec = specOf(["/bin/cat"]);
  const program = identify((await client.spawn(spec)).pid);
  sendSignal(host.pid, "SIGUSR2");
  await waitUntil(() => /one reading failed/.test(readFileSync(join(fixture.stateDir, "host.log"), "utf8")));
  await client.write(spec.terminalId, "still here\n");
  await waitUntil(async () => (await client.snapshot(spec.terminalId)).lines.includes("still here"));
  expect([hostOf(client), lives(program)]).toEqual([host, true]);
});
