import { readdirSync, readlinkSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { errorCode } from "../../test/support/error-code.ts";
import { waitUntil } from "../../test/support/terminal-host.ts";
import { systemClock } from "../core/clock.ts";
import { isAlive, sendSignal, startTimeOf } from "../platform/processes.ts";
import { type Pty, type PtyExit, startPty } from "./pty.ts";
import { createReadScheduler } from "./read-scheduler.ts";

interface Running {
  readonly pty: Pty;
  output(): Buffer;
  readonly ended: Promise<PtyExit>;
}

const sharedTurns = createReadScheduler(systemClock);

function run(
  argv: readonly [string, ...string[]],
  env: Readonly<Record<string, string>> = {},
  turns = sharedTurns,
): Running {
  const parts: Buffer[] = [];
  const ended = Promise.withResolvers<PtyExit>();
  const pty = startPty(
    { argv, cwd: "/", env: { PATH: "/usr/bin:/bin", TERM: "xterm", ...env }, cols: 80, rows: 24 },
    {
      clock: systemClock,
      turns,
      onOutput: (data) => parts.push(Buffer.from(data)),
      onEnd: ended.resolve,
    },
  );
  const startTime = startTimeOf(pty.pid);
  onTestFinished(() => void (isAlive(pty.pid, startTime) && sendSignal(pty.pid, "SIGKILL")));
  return { pty, output: () => Buffer.concat(parts), ended: ended.promise };
}

function lines(count: number): string {
  return Array.from({ length: count }, (_, n) => `${n + 1}\r\n`).join("");
}

test("200 of 200 short-lived programs lose no output, every second one paused while it exits", {
  timeout: 60_000,
}, async () => {
  const expected = lines(1_500);
  for (let round = 0; round < 20; round++) {
    await Promise.all(
      Array.from({ length: 10 }, async (_, n) => {
        const program = run(["/usr/bin/seq", "1500"]);
        if (n % 2 === 0) {
          program.pty.pause();
          await systemClock.sleep(120);
          expect(program.output().byteLength).toBe(0);
          program.pty.resume();
        }
        expect(await program.ended).toEqual({ exitCode: 0, signal: null });
        expect(program.output().toString()).toBe(expected);
      }),
    );
  }
});

test("a program that was paused in the middle of much output continues where it stopped", async () => {
  const program = run(["/usr/bin/seq", "100000"]);
  for (let n = 0; n < 10; n++) {
    await systemClock.sleep(5);
    program.pty.pause();
    const before = program.output().byteLength;
    await systemClock.sleep(20);
    expect(program.output().byteLength).toBe(before);
    program.pty.resume();
  }
  await program.ended;
  expect(program.output().toString()).toBe(lines(100_000));
});

test("a flood that yields to input elsewhere loses nothing, even when it is also paused", async () => {
  const turns = createReadScheduler(systemClock);
  let rests = 0;
  const resting = {
    ...turns,
    restMs(reader: number) {
      rests += 1;
      return turns.restMs(reader);
    },
  };
  turns.awaited(-1);
  const program = run(["/usr/bin/seq", "60000"], {}, resting);
  for (let n = 0; n < 5; n++) {
    await systemClock.sleep(3);
    turns.awaited(-1);
    program.pty.pause();
    const before = program.output().byteLength;
    await systemClock.sleep(10);
    expect(program.output().byteLength).toBe(before);
    program.pty.resume();
  }
  expect(await program.ended).toEqual({ exitCode: 0, signal: null });
  expect(program.output().toString()).toBe(lines(60_000));
  expect(rests).toBeGreaterThan(10);
});

test("the exit code is the program's, or 128 plus the signal's number", async () => {
  expect(await run(["/bin/sh", "-c", "exit 3"]).ended).toEqual({ exitCode: 3, signal: null });
  expect(await run(["/bin/sh", "-c", "kill -9 $$"]).ended).toEqual({ exitCode: 137, signal: "SIGKILL" });
  expect(await run(["/bin/sh", "-c", "kill -TERM $$"]).ended).toEqual({ exitCode: 143, signal: "SIGTERM" });
});

test("the exit is reported although another process keeps the terminal open", async () => {
  const program = run(["/bin/sh", "-c", "(trap '' HUP; sleep 5) & echo out; exit 4"]);
  expect(await program.ended).toEqual({ exitCode: 4, signal: null });
  expect(program.output().toString()).toBe("out\r\n");
});

/** Reads raw input slowly, then prints its size and whether each byte was the expected one. */
const slowReader = `
  process.stdin.setRawMode(true);
  let got = 0, wrong = 0;
  const take = () => {
    const data = process.stdin.read(4096);
    if (data !== null) for (const byte of data) { if (byte !== 97 + (got % 26)) wrong++; got++; }
    if (got >= Number(process.env.EXPECT)) { console.log("got " + got + " wrong " + wrong); process.exit(0); }
    setTimeout(take, 2);
  };
  process.stdin.on("readable", () => {});
  console.log("ready");
  take();`;

test("200 KB of input reach a program that reads slowly, in order and whole", async () => {
  const bytes = 200 * 1024;
  const program = run([process.execPath, "-e", slowReader], { EXPECT: String(bytes) });
  await waitUntil(() => program.output().toString().includes("ready"));
  const data = Buffer.from(Array.from({ length: bytes }, (_, n) => 97 + (n % 26)));
  await Promise.all(
    [0, 1, 2, 3].map((part) => program.pty.write(data.subarray((part * bytes) / 4, ((part + 1) * bytes) / 4))),
  );
  await program.ended;
  expect(program.output().toString()).toContain(`got ${bytes} wrong 0`);
});

test("input for a program that does not read is queued up to its limit, and refused when the program ends", async () => {
  const program = run([
    process.execPath,
    "-e",
    `process.stdin.setRawMode(true); console.log("ready"); setInterval(() => {}, 1000);`,
  ]);
  await waitUntil(() => program.output().toString().includes("ready"));
  const waiting = errorCode(program.pty.write(Buffer.alloc(3 * 1024 * 1024, "a")));
  expect(await errorCode(program.pty.write(Buffer.alloc(2 * 1024 * 1024, "b")))).toBe("input_queue_full");
  sendSignal(program.pty.pid, "SIGKILL");
  await program.ended;
  expect(await waiting).toBe("terminal_gone");
  expect(await errorCode(program.pty.write(Buffer.from("late")))).toBe("terminal_gone");
});

test("the program sees its size, from the start and after a resize", async () => {
  const program = run(["/bin/sh", "-c", "stty size; read line; stty size"]);
  await waitUntil(() => program.output().toString().includes("24 80"));
  program.pty.resize({ cols: 133, rows: 41 });
  await program.pty.write(Buffer.from("\n"));
  await program.ended;
  expect(program.output().toString()).toContain("41 133");
});

test.runIf(process.platform === "linux")("a program gets no other terminal's descriptor", async () => {
  const other = run(["/bin/cat"]);
  const program = run(["/bin/sh", "-c", "echo ready; exec cat"]);
  await waitUntil(() => program.output().toString().includes("ready")); // before exec it still has the parent's
  const descriptors = readdirSync(`/proc/${program.pty.pid}/fd`).map((fd) =>
    readlinkSync(`/proc/${program.pty.pid}/fd/${fd}`),
  );
  expect(descriptors.filter((target) => target.includes("ptmx"))).toEqual([]);
  expect(new Set(descriptors.filter((target) => target.includes("pts"))).size).toBe(1);
  sendSignal(other.pty.pid, "SIGKILL");
  sendSignal(program.pty.pid, "SIGKILL");
  await Promise.all([other.ended, program.ended]);
});

test.runIf(process.platform === "linux")("ended terminals leave no descriptor behind", async () => {
  const count = (): number => readdirSync("/proc/self/fd").length;
  await run(["/bin/true"]).ended;
  const before = count();
  for (let n = 0; n < 20; n++) await run(["/bin/true"]).ended;
  expect(count()).toBeLessThanOrEqual(before + 2);
});
