/**
 * Time from a keystroke to its echo in one terminal, on an idle host and while an unresponsive program in another terminal is being killed.
 * On a machine with many processes, among which the program's must be found. Prints the ratio.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../src/core/clock.ts";
import { newUuid } from "../src/core/ids.ts";
import { silentLog } from "../src/core/log.ts";
import { processTable } from "../src/platform/process-table.ts";
import { sendSignal } from "../src/platform/processes.ts";
import { connectTerminalHost } from "../src/terminal-host/client.ts";
import { makeTestFolder } from "../test/support/test-folder.ts";
import { median, quantile, sizeOf } from "./measure.ts";

const processes = sizeOf({ full: 500, small: 50, position: 0 });
const rounds = sizeOf({ full: 12, small: 2 });
const roundMs = sizeOf({ full: 1_500, small: 500 });
const limit = 1.3;
const pauseMs = 2;

const folder = makeTestFolder("bench");
const client = await connectTerminalHost({
  socketPath: join(folder, "host.sock"),
  stateDir: join(folder, "host"),
  log: silentLog,
  clock: systemClock,
  idleExitMs: 500,
});
const crowd = spawn("/bin/sh", ["-c", `for i in $(seq ${processes}); do sleep 600 & done; echo ready; wait`], {
  detached: true,
  stdio: ["ignore", "pipe", "inherit"],
});
await once(crowd.stdout, "data");

async function start(argv: readonly [string, ...string[]]): Promise<string> {
  const terminalId = newUuid();
  const env = { TERM: "xterm", PATH: process.env["PATH"] ?? "" };
  await client.spawn({ terminalId, leaseKey: terminalId, argv, cwd: "/", env, cols: 80, rows: 24 });
  return terminalId;
}

let echoed = (): void => undefined;
const typed = await start(["/bin/cat"]);
const stream = await client.attach(typed);
const reading = (async () => {
  for await (const data of stream.output) if (data instanceof Uint8Array && data.byteLength > 0) echoed();
})();

async function keystrokes(untilMs: number): Promise<readonly number[]> {
  const times: number[] = [];
  for (let n = 0; performance.now() < untilMs; n += 1) {
    const seen = new Promise<void>((resolve) => {
      echoed = resolve;
    });
    const startedAt = performance.now();
    const written = client.write(typed, n % 60 === 59 ? "\x15" : "k");
    await seen;
    times.push(performance.now() - startedAt);
    await written;
    await systemClock.sleep(pauseMs);
  }
  return times;
}

const quiet: number[] = [];
const ending: number[] = [];
for (let round = 0; round <= rounds; round += 1) {
  const other = await start(["/bin/sh", "-c", "trap '' HUP TERM; echo ready; while :; do sleep 1; done"]);
  while ((await client.look(other)).lines[0] !== "ready") await systemClock.sleep(5);
  const alone = await keystrokes(performance.now() + roundMs);
  const ended = client.end(other, { graceMs: roundMs });
  const during = await keystrokes(performance.now() + roundMs);
  await ended;
  await client.forget(other);
  if (round === 0) continue; // warm-up
  quiet.push(...alone);
  ending.push(...during);
}
const scanMs = median(
  Array.from({ length: 9 }, () => {
    const startedAt = performance.now();
    processTable();
    return performance.now() - startedAt;
  }),
);
await client.end(typed, { graceMs: 1_000 });
await reading;
await client.forget(typed);
await client.close();
sendSignal(-(crowd.pid ?? 0), "SIGKILL");
rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
const [before, during] = [quantile(quiet, 0.9), quantile(ending, 0.9)];
process.stdout.write(
  `terminal-ending: echo p90 ${during.toFixed(2)} ms while another terminal is ended, ratio ${(during / before).toFixed(2)} (at most ${limit}) of ${before.toFixed(2)} ms when quiet; ` +
    `p50 ${median(ending).toFixed(2)} of ${median(quiet).toFixed(2)} ms; ${ending.length} and ${quiet.length} keys; one reading of the process table takes ${scanMs.toFixed(1)} ms with ${processTable().length} processes\n`,
);
