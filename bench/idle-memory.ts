/**
 * Resident memory of the terminal host, without a terminal and for each of 32 live sessions of a small program with some lines of screen
 * and scrollback.
 */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../src/core/clock.ts";
import { newUuid } from "../src/core/ids.ts";
import { silentLog } from "../src/core/log.ts";
import { type ConnectedTerminalHost, connectTerminalHost } from "../src/terminal-host/client.ts";
import { makeTestFolder } from "../test/support/test-folder.ts";
import { sizeOf } from "./measure.ts";

const SESSIONS = sizeOf({ full: 32, small: 2 });
const LINES = 200;
const TARGET_SESSION_MB = 6;
/** The budget of 200 MB is for gateway and host together; this is the host's share. */
const TARGET_IDLE_MB = 80;
const SETTLE_MS = 1_500;

const folder = makeTestFolder("bench");
const options = {
  socketPath: join(folder, "host.sock"),
  stateDir: join(folder, "host"),
  log: silentLog,
  clock: systemClock,
  idleExitMs: 500,
};

async function leave(client: ConnectedTerminalHost): Promise<void> {
  const host = client.host();
  await client.close();
  if (host !== null) process.kill(host.pid, "SIGTERM");
  await systemClock.sleep(SETTLE_MS);
}

/** The host's resident memory in MB; `anonymous` is without the pages of files, which other processes of this Node share (Linux). */
async function residentMb(client: ConnectedTerminalHost): Promise<{ total: number; anonymous: number }> {
  await systemClock.sleep(SETTLE_MS);
  const status = process.platform === "linux" ? readFileSync(`/proc/${client.host()?.pid}/status`, "utf8") : "";
  const anonymous = Number(/RssAnon:\s+(\d+)/.exec(status)?.[1] ?? Number.NaN) / 1024;
  return { total: (await client.status()).rssBytes / 2 ** 20, anonymous };
}

await leave(await connectTerminalHost(options)); // fills the cache of compiled code, as any earlier start would have
const client = await connectTerminalHost(options);
const idle = await residentMb(client);
for (let n = 0; n < SESSIONS; n++) {
  const terminalId = newUuid();
  await client.spawn({
    terminalId,
    leaseKey: terminalId,
    argv: ["/bin/sh", "-c", `seq -f 'a line of a small program %g with some words' ${LINES}; exec cat`],
    cwd: "/",
    env: { PATH: "/usr/bin:/bin", TERM: "xterm" },
    cols: 120,
    rows: 40,
  });
}
const busy = await residentMb(client);
await leave(client);
rmSync(folder, { recursive: true, force: true });
const perSession = (busy.total - idle.total) / SESSIONS;
process.stdout.write(
  `terminal-host-memory: ratio ${(perSession / TARGET_SESSION_MB).toFixed(2)} of the allowed ${TARGET_SESSION_MB} MB for each of ${SESSIONS} sessions (${perSession.toFixed(2)} MB; host ${busy.total.toFixed(0)} MB)\n` +
    `terminal-host-idle: ratio ${(idle.total / TARGET_IDLE_MB).toFixed(2)} of ${TARGET_IDLE_MB} MB (${idle.total.toFixed(0)} MB resident, ${idle.anonymous.toFixed(0)} MB of it its own)\n`,
);
