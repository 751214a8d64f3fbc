import { mkdirSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { systemClock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import { startTimeOf } from "../platform/processes.ts";
import { createHost } from "./host.ts";
import { takeHostLock } from "./host-lock.ts";
import { createHostLog } from "./host-log.ts";
import { type HostOptions, parseHostOptions } from "./host-options.ts";
import { createRecordings } from "./recordings.ts";
import { createScreens } from "./screens.ts";
import { serveHost } from "./server.ts";
import { clearLeftovers } from "./terminal-record.ts";

/** What is asked of a host without terminals is answered in milliseconds, but who asked may be busy. */
const LAST_ANSWERS_MS = 10_000;

/** The terminal host: a process of its own, so that the programs in its terminals outlive the gateway. */
async function main(options: HostOptions): Promise<void> {
  const { socketPath, stateDir } = options;
  const log = createHostLog(2);
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  const lock = takeHostLock(stateDir);
  if (lock === undefined) {
    log.info({ stateDir }, "another terminal host is running; leaving");
    return;
  }
  const screens = createScreens({ clock: systemClock, log });
  void screens.ready(); // its thread loads while the rest begins
  const { leftovers, recordings: found } = await clearLeftovers(stateDir, systemClock);
  const recordings = createRecordings(found, { ...options, log });
  const host = createHost({ ...options, clock: systemClock, screens, recordings, log });
  let cancelIdle: (() => void) | undefined;
  let hasPlace = true;
  const server = await serveHost(host, {
    socketPath,
    identity: { hostVersion: options.version, pid: process.pid, pidStartTime: startTimeOf(process.pid) },
    clock: systemClock,
    log,
    lock,
    onConnectionsChange: () => watchIdle(),
    onOrphaned: endAndLeave,
  });
  log.info({ pid: process.pid, version: options.version, leftovers }, "terminal host started");
  // Every agent would end with this process; what failed was one reading or one connection.
  process.on("uncaughtException", (error) =>
    log.error({ error: messageOf(error), stack: error instanceof Error ? error.stack : undefined }, "a step failed"),
  );
  process.on("SIGHUP", () => undefined); // a terminal that the gateway was started from may go away
  process.once("SIGTERM", endAndLeave);
  host.onRetired(() => {
    server.tellLeaving();
    setImmediate(makeWay); // once the request that made it retire is answered
  });
  watchIdle();
  flushCompileCache(); // at its end a host may be killed before that would happen by itself

  function watchIdle(): void {
    cancelIdle?.();
    if (server.connectionCount() > 0) return;
    if (!hasPlace) leave();
    cancelIdle = systemClock.after(options.idleExitMs, () => {
      if (server.connectionCount() > 0) return;
      if (host.terminalCount() > 0) {
        watchIdle();
        return;
      }
      leave();
    });
  }

  function endAndLeave(): void {
    void host.close().finally(leave);
  }

  function leave(): void {
    log.info({ terminals: host.terminalCount() }, "leaving");
    giveUpPlace();
    process.exit(0);
  }

  function giveUpPlace(): void {
    if (!hasPlace) return;
    hasPlace = false;
    server.removeSocket();
    lock?.release();
  }

  /** The next host may begin at once; this one answers until every gateway has all its answers and has gone. */
  function makeWay(): void {
    giveUpPlace();
    systemClock.after(LAST_ANSWERS_MS, leave);
    watchIdle();
  }
}

const options = parseHostOptions(process.argv[2] ?? "");
if (options === undefined) {
  process.stderr.write("The terminal host is started by the gateway, with its options as one JSON argument.\n");
  process.exit(2);
} else {
  await main(options);
}
