import { accessSync, constants, statSync } from "node:fs";
import type { Socket } from "node:net";
import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { messageOf, PosternError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { clampSize } from "../core/terminal-size.ts";
import { createRawLog, type RawLog } from "./raw-log.ts";
import { createReadScheduler } from "./read-scheduler.ts";
import type { Screens } from "./screens.ts";
import { type Continued, goneError, startTerminal, type Terminal } from "./terminal.ts";
import type { SpawnSpec, TerminalExit, TerminalInfo, TerminalSize, TerminalSnapshot } from "./terminal-info.ts";
import {
  isTerminalId,
  type Recordings,
  terminalsDir,
  writeDescription,
  writeTerminalRecord,
} from "./terminal-record.ts";

/** All terminals of the user, by id. */
export type Host = ReturnType<typeof createHost>;

/** What the host reports about itself, for diagnosis. */
export interface HostStatus {
  readonly rssBytes: number;
  readonly liveTerminals: number;
  readonly endedTerminals: number;
}

/** The gateway's own limit is far below. */
const MAX_LIVE = 256;
/** Ended terminals that no gateway released; beyond this the oldest is released. */
const MAX_ENDED = 256;
const CLOSE_GRACE_MS = 2_000;

export function createHost(deps: {
  readonly stateDir: string;
  readonly rawLogMaxBytes: number;
  readonly clock: Clock;
  readonly screens: Screens;
  readonly recordings: Recordings;
  readonly log: Log;
}) {
  const { stateDir, rawLogMaxBytes, clock, screens, recordings } = deps;
  const terminals = new Map<string, Terminal>();
  const turns = createReadScheduler(clock);
  const listeners: ((terminalId: string, exit: TerminalExit) => void)[] = [];
  let life: "serving" | "retiring" | "retired" = "serving";
  let onRetired = (): void => undefined;

  function get(terminalId: string): Terminal {
    const terminal = terminals.get(terminalId);
    if (terminal === undefined) throw goneError(terminalId);
    return terminal;
  }

  function infos(): readonly TerminalInfo[] {
    return [...terminals.values()].map((one) => one.info());
  }

  function liveCount(): number {
    return infos().filter(({ exit }) => exit === null).length;
  }

  function refuseHeldLease(leaseKey: string, exceptId: string): void {
    const holder = infos().find(
      (info) => info.exit === null && info.leaseKey === leaseKey && info.terminalId !== exceptId,
    );
    if (holder === undefined) return;
    const { terminalId, pid } = holder;
    throw new PosternError("lease_held", `Terminal ${terminalId} (pid ${pid}) holds the lease ${leaseKey}.`);
  }

  function releaseOldestEnded(): void {
    const ended = infos().flatMap(({ terminalId, exit }) => (exit === null ? [] : { terminalId, at: exit.at }));
    ended.sort((one, other) => one.at - other.at);
    for (const { terminalId } of ended.slice(0, Math.max(0, ended.length - MAX_ENDED))) release(terminalId);
  }

  function takeEnded(terminalId: string): Terminal | undefined {
    const terminal = terminals.get(terminalId);
    if (terminal?.info().exit === null) {
      throw new PosternError("lease_held", `Terminal ${terminalId} is still running. End it before you forget it.`);
    }
    terminals.delete(terminalId);
    retireWhenEmpty();
    return terminal;
  }

  function retireWhenEmpty(): void {
    if (life !== "retiring" || terminals.size > 0) return;
    life = "retired";
    onRetired();
  }

  /** Drops an ended terminal; its recording is kept, unless the terminal keeps none. */
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
      deps.log.error({ terminalId, error: messageOf(error) }, "cannot keep a recording");
      terminal.forget();
    }
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
    async spawn(spec: SpawnSpec): Promise<TerminalInfo> {
      await screens.ready();
      if (life === "retired") throw new PosternError("terminal_host_unavailable", "This terminal host is exiting.");
      const { terminalId } = spec;
      if (!isTerminalId(terminalId)) throw spawnFailed(`${JSON.stringify(terminalId)} is not a terminal id`);
      if (terminals.has(terminalId) || recordings.has(terminalId)) {
        throw new PosternError("terminal_exists", `Terminal ${terminalId} already exists. Choose a new id.`);
      }
      refuseHeldLease(spec.leaseKey, terminalId);
      if (liveCount() >= MAX_LIVE) throw spawnFailed(`${MAX_LIVE} terminals are already running`);
      checkProgram(spec);
      const terminal = start(spec);
      terminals.set(terminalId, terminal);
      return terminal.info();
    },
    list: infos,
    write: (terminalId: string, data: Uint8Array): Promise<void> =>
      terminals.get(terminalId)?.write(data) ?? Promise.reject(goneError(terminalId)),
    writeIfUnchanged: async (terminalId: string, data: Uint8Array, offset: number): Promise<boolean> =>
      get(terminalId).writeIfUnchanged(data, offset),
    resize: (terminalId: string, size: TerminalSize): void => get(terminalId).resize(clampSize(size)),
    snapshot: async (terminalId: string, options: { readonly plain: boolean }): Promise<TerminalSnapshot> =>
      (await get(terminalId).snapshot(options)).answer,
    /** Passes the screen, or the offset at which output continues, to `begin`; then streams output to `socket`. */
    async attach(
      terminalId: string,
      socket: Socket,
      options: { readonly from: number | undefined; begin(answer: TerminalSnapshot | Continued): void },
    ): Promise<void> {
      const place = get(terminalId).continueAt(options.from) ?? (await get(terminalId).snapshotNow());
      const terminal = get(terminalId); // it may have been forgotten in the meantime
      options.begin(place.answer);
      terminal.view(socket, place);
    },
    end: async (terminalId: string, graceMs: number): Promise<TerminalExit> => get(terminalId).end(graceMs),
    renameLease(terminalId: string, leaseKey: string): void {
      const terminal = get(terminalId);
      if (terminal.info().exit !== null) throw goneError(terminalId);
      refuseHeldLease(leaseKey, terminalId);
      terminal.rename(leaseKey);
    },
    release,
    forget(terminalId: string): void {
      takeEnded(terminalId)?.forget();
      recordings.remove(terminalId);
    },
    onExit: (listener: (terminalId: string, exit: TerminalExit) => void) => void listeners.push(listener),
    terminalCount: () => terminals.size,
    /** The host exits once it has no terminal. @returns whether it exits now and spawns nothing more */
    retire(): boolean {
      if (life === "serving") life = "retiring";
      retireWhenEmpty();
      return life === "retired";
    },
    /** Called once, when a retiring host has no terminals left. */
    onRetired(listener: () => void): void {
      onRetired = listener;
    },
    status(): HostStatus {
      const liveTerminals = liveCount();
      return {
        rssBytes: process.memoryUsage.rss(),
        liveTerminals,
        endedTerminals: terminals.size - liveTerminals,
      };
    },
    /** Ends all programs. */
    async close(): Promise<void> {
      await Promise.all([...terminals.values()].map((one) => one.end(CLOSE_GRACE_MS)));
      for (const terminalId of terminals.keys()) release(terminalId);
    },
  };
}

/** Checks the program first, because the addon forks before it does so. */
function checkProgram({ argv: [program], cwd }: SpawnSpec): void {
  if (!program.startsWith("/")) throw spawnFailed(`${program} is not an absolute path`);
  try {
    if (!statSync(program).isFile()) throw new Error(`${program} is not a file`);
    accessSync(program, constants.X_OK);
    accessSync(cwd, constants.X_OK);
  } catch (error) {
    throw spawnFailed(messageOf(error));
  }
}

function spawnFailed(why: string): PosternError {
  return new PosternError("spawn_failed", `Cannot start a terminal: ${why}.`);
}
