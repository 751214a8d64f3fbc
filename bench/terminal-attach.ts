/**
 * The time until an attaching client has the screen, with 1,000 lines of coloured scrollback: on an idle host, and during a flood of output
 * in the same terminal. Prints both against their limits.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../src/core/clock.ts";
import { newUuid } from "../src/core/ids.ts";
import { silentLog } from "../src/core/log.ts";
import { connectTerminalHost } from "../src/terminal-host/client.ts";
import { makeTestFolder } from "../test/support/test-folder.ts";
import { quantile, sizeOf } from "./measure.ts";

const ATTACHES = sizeOf({ full: 40, small: 8 });
const QUIET_LIMIT_MS = 15;
const FLOOD_LIMIT_MS = 200;

const folder = makeTestFolder("bench");
const client = await connectTerminalHost({
  socketPath: join(folder, "host.sock"),
  stateDir: join(folder, "host"),
  log: silentLog,
  clock: systemClock,
  idleExitMs: 500,
});

const LINE = String.raw`\033[3%dm%6d compiled\033[0m src/module-%d/index.ts in %d ms and some more words`;

/** A shell that prints 1,500 lines and then runs `after`. */
async function spawn(after: string): Promise<string> {
  const terminalId = newUuid();
  const print = `awk 'BEGIN { for (n = 0; n < 1500; n++) printf "${LINE}\\n", n % 8, n, n, n * 37 % 911 }'`;
  const argv = ["/bin/sh", "-c", `${print}; ${after}`] as const;
  await client.spawn({
    terminalId,
    leaseKey: terminalId,
    argv: [...argv],
    cwd: "/",
    env: { PATH: "/usr/bin:/bin", TERM: "xterm" },
    cols: 120,
    rows: 40,
  });
  await systemClock.sleep(1_000);
  return terminalId;
}

async function attachTimes(terminalId: string): Promise<{ readonly times: number[]; readonly bytes: number }> {
  const times: number[] = [];
  let bytes = 0;
  for (let n = 0; n < ATTACHES; n++) {
    const startedAt = performance.now();
    const stream = await client.attach(terminalId);
    times.push(performance.now() - startedAt);
    bytes = stream.snapshot?.ansi.length ?? 0;
    stream.close();
    await systemClock.sleep(20);
  }
  await client.end(terminalId, { graceMs: 100 });
  return { times: times.slice(5), bytes };
}

const quiet = await attachTimes(await spawn("exec sleep 1000"));
const flood = await attachTimes(await spawn("exec yes 'a line of endless output'"));
await client.close();
rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
process.stdout.write(
  `terminal-attach: quiet p50 ${quantile(quiet.times, 0.5).toFixed(1)} ms, p90 ${quantile(quiet.times, 0.9).toFixed(1)} ms of ${QUIET_LIMIT_MS} ms allowed (${(quiet.bytes / 1024).toFixed(0)} KB); in a flood p50 ${quantile(flood.times, 0.5).toFixed(1)} ms, p90 ${quantile(flood.times, 0.9).toFixed(1)} ms of ${FLOOD_LIMIT_MS} ms allowed\n`,
);
