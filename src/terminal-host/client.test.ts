import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { errorCode } from "../../test/support/error-code.ts";
import { ended, makeHostFixture, readAll, scriptSpec, specOf, waitUntil } from "../../test/support/terminal-host.ts";
import { isAlive, startTimeOf } from "../platform/processes.ts";
import type { TerminalExit } from "./terminal-info.ts";

test("a program runs, shows output, gets input and is ended", async () => {
  const client = await (await makeHostFixture()).connect();
  const exits: ({ readonly terminalId: string; readonly exit: TerminalExit } | null)[] = [];
  client.onExit((one) => exits.push(one));
  const spec = specOf(["/bin/cat"], { cols: 60, rows: 12 });
  const info = await client.spawn(spec);
  expect(info).toMatchObject({ terminalId: spec.terminalId, leaseKey: spec.leaseKey, cols: 60, rows: 12, exit: null });
  await client.write(spec.terminalId, "hello\n");
  await waitUntil(async () => (await client.snapshot(spec.terminalId)).lines[1] === "hello");
  expect((await client.snapshot(spec.terminalId)).lines).toHaveLength(12);
  await client.resize(spec.terminalId, { cols: 5000, rows: 0 });
  expect(await client.list()).toMatchObject([{ terminalId: spec.terminalId, cols: 1000, rows: 1 }]);
  const exit = await client.end(spec.terminalId, { graceMs: 1000 });
  expect(exit).toMatchObject({ exitCode: 129, signal: "SIGHUP" });
  expect(exits).toEqual([{ terminalId: spec.terminalId, exit }]);
  expect(await client.end(spec.terminalId)).toEqual(exit);
});

test("a look has the rows and title of a snapshot, without control sequences", async () => {
  const fixture = await makeHostFixture();
  const client = await fixture.connect();
  const { terminalId } = await client.spawn(
    specOf(["/bin/sh", "-c", "printf '\\033]0;a title\\007\\033[1mbold'; cat"]),
  );
  await waitUntil(async () => (await client.look(terminalId)).lines[0] === "bold");
  const { ansi, ...rest } = await client.snapshot(terminalId);
  expect(ansi).toContain("bold");
  expect(await client.look(terminalId)).toEqual({ ...rest, ansi: "", bright: rest.lines });
  expect(rest.title).toBe("a title");
});

test("an ended terminal keeps its screen and output until it is forgotten", async () => {
  const fixture = await makeHostFixture();
  const client = await fixture.connect();
  const spec = specOf(["/bin/sh", "-c", "printf 'last words\\n\\033[1mbold\\033[0m'; exit 5"]);
  await client.spawn(spec);
  expect((await ended(client, spec.terminalId)).exit).toMatchObject({ exitCode: 5, signal: null });
  const snapshot = await client.snapshot(spec.terminalId);
  expect(snapshot.lines.slice(0, 2)).toEqual(["last words", "bold"]);
  const stream = await client.attach(spec.terminalId);
  expect(stream.snapshot).toEqual(snapshot);
  expect(await readAll(stream)).toHaveLength(0);
  expect(await stream.exit).toMatchObject({ exitCode: 5 });
  await client.forget(spec.terminalId);
  expect(await client.list()).toEqual([]);
  expect(readdirSync(join(fixture.stateDir, "terminals"))).toEqual([]);
  expect(await errorCode(client.snapshot(spec.terminalId))).toBe("terminal_gone");
  await client.forget(spec.terminalId);
});

test("a lease is held by at most one live terminal", async () => {
  const client = await (await makeHostFixture()).connect();
  const first = specOf(["/bin/cat"], { leaseKey: "session-1" });
  const second = specOf(["/bin/cat"], { leaseKey: "session-2" });
  await client.spawn(first);
  expect(await errorCode(client.spawn(specOf(["/bin/cat"], { leaseKey: "session-1" })))).toBe("lease_held");
  expect(await errorCode(client.spawn(first))).toBe("terminal_exists");
  await client.spawn(second);
  expect(await errorCode(client.renameLease(second.terminalId, "session-1"))).toBe("lease_held");
  await client.renameLease(first.terminalId, "session-3");
  await client.renameLease(second.terminalId, "session-1");
  expect(await errorCode(client.forget(second.terminalId))).toBe("lease_held");
  await client.end(second.terminalId, { graceMs: 500 });
  expect(await errorCode(client.renameLease(second.terminalId, "session-4"))).toBe("terminal_gone");
  await client.spawn(specOf(["/bin/cat"], { leaseKey: "session-1" }));
  expect((await client.list()).filter((one) => one.leaseKey === "session-1" && one.exit === null)).toHaveLength(1);
});

test("of many concurrent spawns with one lease exactly one succeeds", async () => {
  const fixture = await makeHostFixture();
  const clients = [await fixture.connect(), await fixture.connect()];
  const codes = await Promise.all(
    clients.flatMap((client) =>
      Array.from({ length: 10 }, () => errorCode(client.spawn(specOf(["/bin/cat"], { leaseKey: "one" })))),
    ),
  );
  expect(codes.filter((code) => code === null)).toHaveLength(1);
  expect(codes.filter((code) => code === "lease_held")).toHaveLength(19);
});

test("a program that cannot be started is refused with the reason and leaves nothing", async () => {
  const fixture = await makeHostFixture();
  const client = await fixture.connect();
  const plainFile = join(fixture.stateDir, "host.log");
  for (const spec of [
    specOf(["/no/such/program"]),
    specOf([plainFile]),
    specOf(["/tmp"]),
    specOf(["cat"]),
    specOf(["/bin/cat"], { cwd: "/no/such/folder" }),
    specOf(["/bin/cat"], { cwd: plainFile }),
    specOf(["/bin/cat"], { terminalId: "../escape" }),
  ]) {
    expect(await errorCode(client.spawn(spec))).toBe("spawn_failed");
  }
  await expect(client.spawn(specOf(["/no/such/program"]))).rejects.toThrow("/no/such/program");
  expect(await client.list()).toEqual([]);
  expect(readdirSync(join(fixture.stateDir, "terminals"))).toEqual([]);
});

test("a program gets exactly the environment of its spec", async () => {
  const client = await (await makeHostFixture()).connect();
  const spec = specOf(["/usr/bin/env"], { env: { PATH: "/usr/bin:/bin", TERM: "screen", ODD: "a=b\nc" }, cwd: "/tmp" });
  await client.spawn(spec);
  await ended(client, spec.terminalId);
  const { lines } = await client.snapshot(spec.terminalId);
  expect(lines.filter((line) => line !== "").toSorted()).toEqual(
    [
      "PATH=/usr/bin:/bin",
      "TERM=screen",
      "ODD=a=b",
      "c",
      "PWD=/tmp",
      `POSTERN_TERMINAL_ID=${spec.terminalId}`,
    ].toSorted(),
  );
});

test("calls for an unknown or ended terminal are refused", async () => {
  const client = await (await makeHostFixture()).connect();
  const spec = specOf(["/bin/true"]);
  await client.spawn(spec);
  await ended(client, spec.terminalId);
  expect(await errorCode(client.write(spec.terminalId, "x"))).toBe("terminal_gone");
  expect(await errorCode(client.resize(spec.terminalId, { cols: 90, rows: 30 }))).toBe("terminal_gone");
  expect(await errorCode(client.snapshot("none"))).toBe("terminal_gone");
  expect(await errorCode(client.attach("none"))).toBe("terminal_gone");
  expect(await errorCode(client.end("none"))).toBe("terminal_gone");
  expect(await errorCode(client.write("none", "x"))).toBe("terminal_gone");
});

test("ending a program ends its children in other groups and sessions", async () => {
  const client = await (await makeHostFixture()).connect();
  const stubborn = `for (const s of ["SIGHUP", "SIGTERM"]) process.on(s, () => {}); setInterval(() => {}, 1000); process.send("ready");`;
  const spec = scriptSpec(`
    const { spawn } = require("node:child_process");
    const start = (detached) => new Promise((resolve) => {
      const child = spawn(process.execPath, ["-e", ${JSON.stringify(stubborn)}], { detached, stdio: ["ignore", "ignore", "ignore", "ipc"] });
      child.once("message", () => { child.disconnect(); resolve(child.pid); });
    });
    Promise.all([start(true), start(false)]).then((pids) => console.log("pids " + pids.join(" ") + "."));
    setInterval(() => {}, 1000);`);
  await client.spawn(spec);
  const pids = async (): Promise<readonly number[]> => {
    const line = (await client.snapshot(spec.terminalId)).lines[0] ?? "";
    return /^pids (\d+) (\d+)\.$/.exec(line)?.slice(1).map(Number) ?? [];
  };
  await waitUntil(async () => (await pids()).length === 2, 15_000);
  const children = (await pids()).map((pid) => ({ pid, startTime: startTimeOf(pid) }));
  for (const { pid, startTime } of children) expect(isAlive(pid, startTime)).toBe(true);
  await client.end(spec.terminalId, { graceMs: 300 });
  for (const { pid, startTime } of children) expect(isAlive(pid, startTime)).toBe(false);
});

test.runIf(process.platform === "linux")("ending an ended terminal ends what its program left behind", async () => {
  const client = await (await makeHostFixture()).connect();
  const left = `process.on("SIGHUP", () => {}); setInterval(() => {}, 1000); process.send("ready");`;
  const spec = scriptSpec(`
    const { spawn } = require("node:child_process");
    const child = spawn(process.execPath, ["-e", ${JSON.stringify(left)}], { detached: true, stdio: ["ignore", "ignore", "ignore", "ipc"] });
    child.once("message", () => { console.log("child " + child.pid + "."); process.exit(0); });`);
  await client.spawn(spec);
  await ended(client, spec.terminalId);
  const pid = Number(/^child (\d+)\.$/.exec((await client.snapshot(spec.terminalId)).lines[0] ?? "")?.[1]);
  const startTime = startTimeOf(pid);
  expect(isAlive(pid, startTime)).toBe(true);
  expect(await client.end(spec.terminalId, { graceMs: 1_000 })).toMatchObject({ exitCode: 0 });
  expect(isAlive(pid, startTime)).toBe(false);
});

test("queries of a program are answered, immediately when it is idle", async () => {
  const client = await (await makeHostFixture()).connect();
  const spec = scriptSpec(`
    process.stdin.setRawMode(true);
    const times = [];
    const answer = () => new Promise((resolve) => process.stdin.once("data", resolve));
    (async () => {
      for (const query of ["\\x1b[c", "\\x1b[6n", "\\x1b]11;?\\x07", ...Array(20).fill("\\x1b[5n")]) {
        const at = performance.now();
        process.stdout.write(query);
        const got = String(await answer());
        times.push(performance.now() - at);
        if (query !== "\\x1b[5n") process.stdout.write(JSON.stringify(got) + "\\r\\n");
      }
      times.sort((a, b) => a - b);
      console.log("median", times[times.length >> 1] < 10 ? "prompt" : times);
      process.exit(0);
    })();`);
  await client.spawn(spec);
  await ended(client, spec.terminalId);
  expect((await client.snapshot(spec.terminalId)).lines.slice(0, 4)).toEqual([
    String.raw`"\u001b[?1;2c"`,
    String.raw`"\u001b[2;1R"`,
    String.raw`"\u001b]11;rgb:0000/0000/0000\u001b\\"`,
    "median prompt",
  ]);
});

test("the socket, folder and files are accessible to their owner only", async () => {
  const fixture = await makeHostFixture();
  const client = await fixture.connect();
  const spec = specOf(["/bin/sh", "-c", "echo secret; exec cat"]);
  await client.spawn(spec);
  await waitUntil(async () => (await client.snapshot(spec.terminalId)).offset > 0);
  expect(statSync(fixture.socketPath).mode & 0o777).toBe(0o600);
  const walk = (path: string): void => {
    const stat = statSync(path);
    expect([path, stat.mode & 0o077]).toEqual([path, 0]);
    if (stat.isDirectory() && !path.endsWith("compile-cache"))
      for (const name of readdirSync(path)) walk(join(path, name));
  };
  walk(fixture.stateDir);
});

test("a socket path that the system would truncate is refused", async () => {
  const fixture = await makeHostFixture({ socketPath: `/tmp/${"x".repeat(120)}/host.sock` });
  await expect(fixture.connect()).rejects.toThrow("longer than 107 bytes");
});
