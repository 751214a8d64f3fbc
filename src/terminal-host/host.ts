import { accessSync, constants, statSync } from "node:fs";
import type { Socket } from "node:net";
import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { messageOf, PosternError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { clampSize } from "../core/terminal-size.ts";
import { createRawLog, type RawLog } from "./raw-log.ts";
import { createReadScheduler } from "./read-scheduler.ts";
import type { Recordings } from "./recordings.ts";
import type { Screens } from "./screens.ts";
import { type Continued, goneError, startTerminal, type Terminal } from "./terminal.ts";
import type { SpawnSpec, TerminalExit, TerminalInfo, TerminalSnapshot } from "./terminal-info.ts";
import { isTerminalId, terminalsDir, writeDescription, writeTerminalRecord } from "./terminal-record.ts";

/** What a host needs. */
export interface HostDeps {
  readonly stateDir: string;
  readonly rawLogMaxBytes: number;
  readonly clock: Clock;
  readonly screens: Screens;
  readonly recordings: Recordings;
  readonly log: Log;
}

/** All terminals of the machine's user, by id. */
export interface Host {
  spawn(spec: SpawnSpec): Promise<TerminalInfo>;
  list(): readonly TerminalInfo[];
  write(terminalId: string, data: Uint8Array): Promise<void>;
  /** Writes only while the program's output ends at `offset` and no other input waits. @returns whether it was written */
  writeIfUnchanged(terminalId: string, data: Uint8Array, offset: number): Promise<boolean>;
  resize(terminalId: string, size: { readonly cols: number; readonly rows: number }): void;
  /** `plain`: with an empty `ansi`, for who wants to know the rows and the title only. */
  snapshot(terminalId: string, options?: { readonly plain: boolean }): Promise<TerminalSnapshot>;
  /** Answers with the screen, or the place to go on at, through `begin`; then streams what follows it to `socket`. */
  attach(terminalId: string, socket: Socket, options: AttachOptions): Promise<void>;
  end(terminalId: string, graceMs: number): Promise<TerminalExit>;
  renameLease(terminalId: string, leaseKey: string): void;
  /** Lets go of an ended terminal; its recording stays, unless none is to be kept. */
  release(terminalId: string): void;
  forget(terminalId: string): void;
  onExit(listener: (terminalId: string, exit: TerminalExit) => void): void;
  terminalCount(): number;
  /** From now on the host leaves as soon as it has no terminal. Returns whether that is now; nothing is spawned any more then. */
  retire(): boolean;
  /** Called once, when a host that is to retire has no terminal. */
  onRetired(listener: () => void): void;
  status(): HostStatus;
  /** Ends all programs. */
  close(): Promise<void>;
}

/** How a reader begins. */
export interface AttachOptions {
  /** Where it goes on, if that is still possible. */
  readonly from: number | undefined;
  begin(answer: TerminalSnapshot | Continued): void;
}

/** How the host is, for diagnosis. */
export interface HostStatus {
  readonly rssBytes: number;
  readonly liveTerminals: number;
  readonly endedTerminals: number;
}

/** Live terminals at most; the gateway's own limit is far below. */
const MAX_LIVE = 256;
/** Ended terminals that nobody released: beyond this the oldest is. */
const MAX_ENDED = 256;
/** When the host itself is told to leave. */
const CLOSE_GRACE_MS = 2_000;

/** An empty host. */
export function createHost(deps: HostDeps): Host {
  const { stateDir, rawLogMaxBytes, clock, screens, recordings } = deps;
  const terminals = new Map<string, Terminal>();
  const turns = createReadScheduler(clock);
  const listeners: ((terminalId: string, exit: TerminalExit) => void)[] = [];
  let life: "serves" | "retires" | "retired" = "serves";
  let onRetired = (): void => undefined;

  function get(terminalId: string): Terminal {
    const terminal = terminals.get(terminalId);
    if (terminal === undefined) throw goneError(terminalId);
    return terminal;
  }

  function liveCount(): number {
    return [...terminals.values()].filter((one) => one.info().exit === null).length;
  }

  function refuseHeldLease(leaseKey: string, exceptId: string): void {
    for (const terminal of terminals.values()) {
      const info = terminal.info();
      if (info.exit !== null || info.leaseKey !== leaseKey || info.terminalId === exceptId) continue;
      throw new PosternError(
        "lease_held",
        `Terminal ${info.terminalId} (pid ${info.pid}) holds the lease ${leaseKey}.`,
      );
    }
  }

  function releaseOldestEnded(): void {
    const ended = [...terminals.values()].map((one) => one.info()).filter((info) => info.exit !== null);
    ended.sort((one, other) => (one.exit?.at ?? 0) - (other.exit?.at ?? 0));
    for (const { terminalId } of ended.slice(0, Math.max(0, ended.length - MAX_ENDED))) release(terminalId);
  }

  /** Undefined when there is none of this id. */
  function takeEnded(terminalId: string): Terminal | undefined {
    const terminal = terminals.get(terminalId);
    if (terminal?.info().exit === null) {
      throw new PosternError("lease_held", `Terminal ${terminalId} still runs; end it before it is forgotten.`);
    }
    terminals.delete(terminalId);
    leaveWhenEmpty();
    return terminal;
  }

  function leaveWhenEmpty(): void {
    if (life !== "retires" || terminals.size > 0) return;
    life = "retired";
    onRetired();
  }

  function release(terminalId: string): void {
    const terminal = takeEnded(terminalId);
    if (terminal === undefined) return;
    if (!terminal.keepsRecording) {
      terminal.forget();
      return;
    }
    const recording = terminal.release();
    try {
      writeDescription(join(terminalsDir(stateDir), terminalId), recording);
      recordings.add({ terminalId, ...recording });
    } catch (error) {
      deps.log.error({ terminalId, error: messageOf(error) }, "a recording cannot be kept");
      terminal.forget();
    }
  }

  function forget(terminalId: string): void {
    takeEnded(terminalId)?.forget();
    recordings.remove(terminalId);
  }

  function start(spec: SpawnSpec): Terminal {
    const dir = join(terminalsDir(stateDir), spec.terminalId);
    let log: RawLog | undefined;
    try {
      log = createRawLog(dir, { maxBytes: rawLogMaxBytes, clock, size: spec });
      const onExit = (exit: TerminalExit): void => {
        for (const listener of listeners) listener(spec.terminalId, exit);
        releaseOldestEnded();
      };
      const terminal = startTerminal(spec, { clock, turns, screens, log, rawLogMaxBytes, onExit });
      writeTerminalRecord(dir, { ...terminal.info(), keepRecording: terminal.keepsRecording });
      return terminal;
    } catch (error) {
      log?.remove();
      throw error instanceof PosternError ? error : spawnFailed(messageOf(error));
    }
  }

  return {
    async spawn(spec) {
      await screens.ready();
      if (life === "retired") throw new PosternError("terminal_host_unavailable", "This terminal host is leaving.");
      if (!isTerminalId(spec.terminalId)) throw spawnFailed(`${JSON.stringify(spec.terminalId)} is no terminal id`);
      if (terminals.has(spec.terminalId) || recordings.has(spec.terminalId)) {
        throw new PosternError("terminal_exists", `There is a terminal ${spec.terminalId} already; choose a new id.`);
      }
      refuseHeldLease(spec.leaseKey, spec.terminalId);
      if (liveCount() >= MAX_LIVE) throw spawnFailed(`${MAX_LIVE} terminals run already`);
      checkProgram(spec);
      const terminal = start(spec);
      terminals.set(spec.terminalId, terminal);
      return terminal.info();
    },
    list: () => [...terminals.values()].map((one) => one.info()),
    write: async (terminalId, data) => get(terminalId).write(data),
    writeIfUnchanged: async (terminalId, data, offset) => get(terminalId).writeIfUnchanged(data, offset),
    resize: (terminalId, size) => get(terminalId).resize(clampSize(size)),
    snapshot: async (terminalId, options) => (await get(terminalId).snapshot(options)).answer,
    async attach(terminalId, socket, { from, begin }) {
      const place = get(terminalId).continueAt(from) ?? (await get(terminalId).snapshotNow());
      const terminal = get(terminalId); // it may have been forgotten meanwhile
      begin(place.answer);
      terminal.view(socket, place);
    },
    end: async (terminalId, graceMs) => get(terminalId).end(graceMs),
    renameLease(terminalId, leaseKey) {
      const terminal = get(terminalId);
      if (terminal.info().exit !== null) throw goneError(terminalId);
      refuseHeldLease(leaseKey, terminalId);
      terminal.rename(leaseKey);
    },
    release,
    forget,
    onExit: (listener) => void listeners.push(listener),
    terminalCount: () => terminals.size,
    retire() {
      if (life === "serves") life = "retires";
      leaveWhenEmpty();
      return life === "retired";
    },
    onRetired(listener) {
      onRetired = listener;
    },
    status: () => ({
      rssBytes: process.memoryUsage.rss(),
      liveTerminals: liveCount(),
      endedTerminals: terminals.size - liveCount(),
    }),
    async close() {
      await Promise.all([...terminals.values()].map((one) => one.end(CLOSE_GRACE_MS)));
      for (const terminalId of terminals.keys()) release(terminalId);
    },
  };
}

/** The addon forks before it looks, so what can be known is checked first. */
function checkProgram({ argv: [program], cwd }: SpawnSpec): void {
  if (!program.startsWith("/")) throw spawnFailed(`${program} is no absolute path`);
  try {
    if (!statSync(program).isFile()) throw new Error(`${program} is no file`);
    accessSync(program, constants.X_OK);
    accessSync(cwd, constants.X_OK);
  } catch (error) {
    throw spawnFailed(messageOf(error));
  }
}

function spawnFailed(why: string): PosternError {
  return new PosternError("spawn_failed", `Cannot start a terminal: ${why}.`);
}
