/**
 * Time from a keystroke to its echo: through the terminal host (write, then the attached output) against a bare pseudo-terminal of
 * this process, with the kernel's own echo. Interleaved keystrokes; prints what the host adds.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../src/core/clock.ts";
import { newUuid } from "../src/core/ids.ts";
import { silentLog } from "../src/core/log.ts";
import { connectTerminalHost } from "../src/terminal-host/client.ts";
import { startPty } from "../src/terminal-host/pty.ts";
import { createReadScheduler } from "../src/terminal-host/read-scheduler.ts";
import { makeTestFolder } from "../test/support/test-folder.ts";
import { quantile, sizeOf } from "./measure.ts";

const KEYSTROKES = sizeOf({ full: 1_000, small: 20 });
const WARM_UP = sizeOf({ full: 200, small: 10 });
const PAUSE_MS = 2;
const TARGET_ADDED_US = 150;
const size = { cols: 80, rows: 24 };

const folder = makeTestFolder("bench");
const client = await connectTerminalHost({
  socketPath: join(folder, "host.sock"),
  stateDir: join(folder, "host"),
  log: silentLog,
  clock: systemClock,
  idleExitMs: 500,
});
let echoed: () => void = () => undefined;

const bare = startPty(
  { argv: ["/bin/cat"], cwd: "/", env: { TERM: "xterm" }, ...size },
  { clock: systemClock, turns: createReadScheduler(systemClock), onOutput: () => echoed(), onEnd: () => undefined },
);
const terminalId = newUuid();
await client.spawn({ terminalId, leaseKey: terminalId, argv: ["/bin/cat"], cwd: "/", env: { TERM: "xterm" }, ...size });
const stream = await client.attach(terminalId);
const reading = (async () => {
  for await (const data of stream.output) if (data instanceof Uint8Array && data.byteLength > 0) echoed();
})();

async function keystroke(write: (data: Buffer) => Promise<void>, key: string): Promise<number> {
  const seen = new Promise<void>((resolve) => {
    echoed = resolve;
  });
  const startedAt = performance.now();
  const written = write(Buffer.from(key));
  await seen;
  const tookUs = (performance.now() - startedAt) * 1000;
  await written;
  await systemClock.sleep(PAUSE_MS);
  return tookUs;
}

const bareTimes: number[] = [];
const hostTimes: number[] = [];
for (let n = 0; n < WARM_UP + KEYSTROKES; n++) {
  const key = n % 60 === 59 ? "\x15" : "k";
  const one = await keystroke((data) => bare.write(data), key);
  const other = await keystroke((data) => client.write(terminalId, data), key);
  if (n < WARM_UP || key !== "k") continue;
  bareTimes.push(one);
  hostTimes.push(other);
}
await client.end(terminalId, { graceMs: 1000 });
await reading;
await client.forget(terminalId);
await client.close();
bare.write(Buffer.from("\x15\x04")).catch(() => undefined); // end of file ends cat
rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
const added = quantile(hostTimes, 0.5) - quantile(bareTimes, 0.5);
process.stdout.write(
  `terminal-echo: ratio ${(added / TARGET_ADDED_US).toFixed(2)} of the allowed ${TARGET_ADDED_US} µs over a bare PTY (host p50 ${quantile(hostTimes, 0.5).toFixed(0)} µs, p99 ${quantile(hostTimes, 0.99).toFixed(0)} µs; bare p50 ${quantile(bareTimes, 0.5).toFixed(0)} µs)\n`,
);
