import { closeSync, ftruncateSync, mkdirSync, openSync, statSync, writeSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { systemClock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { startTimeOf } from "../platform/processes.ts";
import { createHost } from "./host.ts";
import { createScreens } from "./screens.ts";
import { serveHost } from "./server.ts";
import { type HostOptions, parseHostOptions } from "./start-host.ts";
import { clearLeftovers, createRecordings } from "./terminal-record.ts";

/** A host without terminals answers in milliseconds, but the gateway that receives the answers may be busy. */
const LAST_ANSWERS_MS = 10_000;

/** The terminal host: a separate process, so that programs in its terminals outlive the gateway. */
async function main(options: HostOptions): Promise<void> {
  const { socketPath, stateDir } = options;
  const log = createHostLog(2);
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  const lock = takeHostLock(stateDir);
  if (lock === undefined) {
    log.info({ stateDir }, "another terminal host is running; exiting");
    return;
  }
  const screens = createScreens({ clock: systemClock, log });
  void screens.ready(); // starts loading its thread
  const { leftovers, recordings: found } = await clearLeftovers(stateDir, systemClock);
  const recordings = createRecordings(found, { ...options, log });
  const host = createHost({ ...options, clock: systemClock, screens, recordings, log });
  let cancelIdle: (() => void) | undefined;
  let isListening = true;
  const server = await serveHost(host, {
    socketPath,
    identity: { hostVersion: options.version, pid: process.pid, pidStartTime: startTimeOf(process.pid) },
    clock: systemClock,
    log,
    isLockValid: lock.isValid,
    onConnectionsChange: () => watchIdle(),
    onOrphaned: endAndExit,
  });
  log.info({ pid: process.pid, version: options.version, leftovers }, "terminal host started");
  // An error concerns only one read or connection, but if this process exited, every agent would end.
  process.on("uncaughtException", (error) =>
    log.error({ error: messageOf(error), stack: error instanceof Error ? error.stack : undefined }, "a step failed"),
  );
  process.on("SIGHUP", () => undefined); // the terminal that the gateway was started from may close
  process.once("SIGTERM", endAndExit);
  host.onRetired(() => {
    server.sendLeaving();
    setImmediate(retire); // after the request that retires the host has been answered
  });
  watchIdle();
  flushCompileCache(); // a host may be killed before Node does this at exit

  function watchIdle(): void {
    cancelIdle?.();
    if (server.connectionCount() > 0) return;
    if (!isListening) exit();
    cancelIdle = systemClock.after(options.idleExitMs, () => {
      if (server.connectionCount() > 0) return;
      if (host.terminalCount() > 0) watchIdle();
      else exit();
    });
  }

  function endAndExit(): void {
    void host.close().finally(exit);
  }

  function exit(): void {
    log.info({ terminals: host.terminalCount() }, "exiting");
    stopListening();
    process.exit(0);
  }

  function stopListening(): void {
    if (!isListening) return;
    isListening = false;
    server.removeSocket();
    lock?.release();
  }

  /** Lets the next host start immediately. This host still answers until every gateway has its replies and has disconnected. */
  function retire(): void {
    stopListening();
    systemClock.after(LAST_ANSWERS_MS, exit);
    watchIdle();
  }
}

/** @see https://www.sqlite.org/rescode.html#busy */
const SQLITE_BUSY = 5;

/**
 * Takes the lock of `stateDir`; undefined while another host holds it. It is SQLite's lock on an empty file, because Node has no other
 * kernel lock: the kernel releases it when its holder dies, so it is never stale.
 */
function takeHostLock(stateDir: string): { isValid(): boolean; release(): void } | undefined {
  const path = join(stateDir, "host.lock");
  closeSync(openSync(path, "a", 0o600)); // SQLite would create it readable by others
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    database.exec("PRAGMA journal_mode=MEMORY; BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    if (error instanceof Error && "errcode" in error && error.errcode === SQLITE_BUSY) return undefined;
    throw error;
  }
  const inode = statSync(path).ino;
  return {
    // If the file was removed, another host may hold the lock of a new file with the same name.
    isValid: () => statSync(path, { throwIfNoEntry: false })?.ino === inode,
    release: () => database.close(),
  };
}

const MAX_LOG_BYTES = 1024 * 1024;

/** Writes JSON lines to `fd`, a file that is opened for appending and truncated after each 1 MiB. */
function createHostLog(fd: number): Log {
  let written = 0;
  function write(level: string, fields: Readonly<Record<string, unknown>>, message: string): void {
    const line = `${JSON.stringify({ level, time: new Date().toISOString(), ...fields, msg: message })}\n`;
    try {
      if (written > MAX_LOG_BYTES) {
        ftruncateSync(fd, 0);
        written = 0;
      }
      written += writeSync(fd, line);
    } catch {
      // a full disk must not end the terminals; the line is lost
    }
  }
  return {
    debug: () => undefined,
    info: (fields, message) => write("info", fields, message),
    warn: (fields, message) => write("warn", fields, message),
    error: (fields, message) => write("error", fields, message),
  };
}

const options = parseHostOptions(process.argv[2] ?? "");
if (options === undefined) {
  process.stderr.write(
    "The gateway starts the terminal host, with its options as one JSON argument. Run `postern serve`.\n",
  );
  process.exit(2);
} else {
  await main(options);
}
