/**
 * `cat` of 64 MB through the terminal host (attached reader, raw log and screen model on) against a bare read of the same program in
 * a pseudo-terminal of this process. Prints the median ratio of interleaved runs.
 */
import { closeSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../src/core/clock.ts";
import { newUuid } from "../src/core/ids.ts";
import { silentLog } from "../src/core/log.ts";
import { connectTerminalHost } from "../src/terminal-host/client.ts";
import { startPty } from "../src/terminal-host/pty.ts";
import { createReadScheduler } from "../src/terminal-host/read-scheduler.ts";
import type { TerminalHostClient } from "../src/terminal-host/terminal-info.ts";
import { makeTestFolder } from "../test/support/test-folder.ts";
import { median, sizeOf } from "./measure.ts";

const FILE_BYTES = sizeOf({ full: 64, small: 2 }) * 1024 * 1024;
const RUNS = sizeOf({ full: 5, small: 1 });
const TARGET = 0.7;
const size = { cols: 120, rows: 40 };

function writeSample(path: string): void {
  const lines: string[] = [];
  for (let n = 0; n < 12_000; n++) {
    lines.push(
      `${String(n).padStart(6)} \x1b[3${n % 8}mcompiled\x1b[0m src/module-${n}/index.ts in ${(n * 37) % 911} ms`,
    );
  }
  const block = Buffer.from(`${lines.join("\n")}\n`);
  const file = openSync(path, "w");
  for (let written = 0; written < FILE_BYTES; ) {
    written += writeSync(file, block, 0, Math.min(block.byteLength, FILE_BYTES - written));
  }
  closeSync(file);
}

function bareRun(path: string): Promise<{ bytes: number; seconds: number }> {
  const startedAt = performance.now();
  let bytes = 0;
  return new Promise((resolve) => {
    startPty(
      { argv: ["/bin/cat", path], cwd: "/", env: { TERM: "xterm" }, ...size },
      {
        clock: systemClock,
        turns: createReadScheduler(systemClock),
        onOutput: (data) => {
          bytes += data.byteLength;
        },
        onEnd: () => resolve({ bytes, seconds: (performance.now() - startedAt) / 1000 }),
      },
    );
  });
}

async function hostRun(client: TerminalHostClient, path: string): Promise<{ bytes: number; seconds: number }> {
  const terminalId = newUuid();
  const startedAt = performance.now();
  await client.spawn({
    terminalId,
    leaseKey: terminalId,
    argv: ["/bin/cat", path],
    cwd: "/",
    env: { TERM: "xterm" },
    ...size,
  });
  const stream = await client.attach(terminalId);
  let bytes = stream.offset;
  for await (const data of stream.output) bytes += data instanceof Uint8Array ? data.byteLength : 0;
  const seconds = (performance.now() - startedAt) / 1000;
  await stream.exit;
  await client.snapshot(terminalId); // the model catches up outside the measured time, and before the next run
  await client.forget(terminalId);
  return { bytes, seconds };
}

const folder = makeTestFolder("bench");
const sample = join(folder, "sample");
writeSample(sample);
const client = await connectTerminalHost({
  socketPath: join(folder, "host.sock"),
  stateDir: join(folder, "host"),
  log: silentLog,
  clock: systemClock,
  idleExitMs: 500,
});
const bare: number[] = [];
const host: number[] = [];
for (let run = 0; run <= RUNS; run++) {
  const one = await bareRun(sample);
  const other = await hostRun(client, sample);
  if (one.bytes !== other.bytes) throw new Error(`bare read ${one.bytes} bytes, the host gave ${other.bytes}`);
  if (run === 0) continue; // warm-up
  bare.push(one.bytes / one.seconds / 1e6);
  host.push(other.bytes / other.seconds / 1e6);
}
await client.close();
rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
const ratio = median(host.map((rate, run) => rate / (bare[run] ?? Number.NaN)));
process.stdout.write(
  `terminal-throughput: ratio ${ratio.toFixed(2)} of a bare read (host ${median(host).toFixed(0)} MB/s, bare ${median(bare).toFixed(0)} MB/s; target at least ${TARGET})\n`,
);
