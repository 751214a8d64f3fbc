import { closeSync, readSync, writeSync } from "node:fs";
import { constants } from "node:os";
import { ReadStream } from "node:tty";
import type { Clock } from "../core/clock.ts";
import { sendSignal } from "../platform/processes.ts";
import { createInputQueue } from "./input-queue.ts";
import { loadNativePty } from "./native-pty.ts";
import type { ReadScheduler } from "./read-scheduler.ts";
import { openWorkingDir } from "./working-dir.ts";

/** How a program ended. */
export interface PtyExit {
  readonly exitCode: number;
  readonly signal: string | null;
}

/** What to run. */
export interface PtySpec {
  readonly argv: readonly [string, ...string[]];
  readonly cwd: string;
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly cols: number;
  readonly rows: number;
}

/** What a pseudo-terminal needs around it. */
export interface PtyDeps {
  readonly clock: Clock;
  readonly turns: ReadScheduler;
  /** The bytes are valid only during the call. */
  onOutput(data: Buffer): void;
  /** Called once, after the last output. */
  onEnd(exit: PtyExit): void;
}

/** A program in a pseudo-terminal, whose output is read to the end however long it was paused. */
export interface Pty {
  readonly pid: number;
  /** Resolves when the kernel took all of it. @throws PosternError `terminal_gone` | `input_queue_full` | `input_stalled` */
  write(data: Uint8Array): Promise<void>;
  /**
   * Reads what the program has written by now. @returns false when that cannot be known, because reading is paused, and when input waits
   * for the program: what is written now would go out later
   */
  readPending(): boolean;
  resize(size: { readonly cols: number; readonly rows: number }): void;
  /** Stops reading: the program blocks when the kernel's buffer is full. */
  pause(): void;
  resume(): void;
}

type Forked = ReturnType<ReturnType<typeof loadNativePty>["native"]["fork"]>;

/** One read of the kernel never gives more than 4 KB, so several are taken for each event. */
const SCRATCH_BYTES = 64 * 1024;
const KERNEL_READ_BYTES = 4096;
/**
 * A program that exited is read until the kernel reports the end. Where that report does not come (another process kept the terminal
 * open), the output counts as read to the end when nothing came for this long.
 */
const QUIET_AFTER_EXIT_MS = 250;

const signalNames = new Map<number, string>(Object.entries(constants.signals).map(([name, number]) => [number, name]));
const scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES);

/**
 * Starts `spec` in a new pseudo-terminal. A program that cannot be executed exits with 1 and says why in its output.
 * @throws PosternError `dir_changed` when `cwd` leads through a link
 */
export function startPty(spec: PtySpec, deps: PtyDeps): Pty {
  const { native, helperPath } = loadNativePty();
  const [file, ...args] = spec.argv;
  const env = Object.entries(spec.env).map(([name, value]) => `${name}=${value}`);
  let exit: PtyExit | undefined;
  let readToEnd = false;
  let endTold = false;
  let paused = false;
  let resting = false;
  /** Read although paused: Node's stream may be under way with a read when it is told to pause. */
  let held: Buffer | undefined;
  let lastActivityAt = deps.clock.now();

  const onExit = (exitCode: number, signal: number): void => {
    exit =
      signal === 0 ? { exitCode, signal: null } : { exitCode: 128 + signal, signal: signalNames.get(signal) ?? null };
    input.close();
    tellEnd();
    if (!readToEnd) deps.clock.after(QUIET_AFTER_EXIT_MS, endWhenQuiet);
  };
  const { fd, pid } = forkIn(spec.cwd, (cwd) =>
    native.fork(file, args, env, cwd, spec.cols, spec.rows, -1, -1, true, helperPath, onExit),
  );
  const stream = openStream(fd, pid, onRead);
  // Once the stream let go of the descriptor, its number may belong to another file.
  const input = createInputQueue((data, at) => (stream.destroyed ? undefined : writeSync(fd, data, at)), deps.clock);
  stream.on("error", finish); // EIO is how Linux reports that the last process let go of the terminal
  stream.on("end", finish);
  stream.resume();

  function onRead(firstBytes: number): boolean {
    lastActivityAt = deps.clock.now();
    const budget = deps.turns.budget(pid);
    let filled = firstBytes;
    let lastRead = firstBytes;
    while (lastRead >= KERNEL_READ_BYTES - 1 && filled + KERNEL_READ_BYTES <= budget) {
      lastRead = readMore(filled);
      filled += lastRead;
    }
    if (paused) held = Buffer.concat([held ?? Buffer.alloc(0), scratch.subarray(0, filled)]);
    else deps.onOutput(scratch.subarray(0, filled));
    if (filled + KERNEL_READ_BYTES > budget) rest();
    return !paused && !resting;
  }

  /** Leaves the processor to another program's answer, if somebody waits for one. */
  function rest(): void {
    const restMs = deps.turns.restMs(pid);
    if (restMs === 0 || resting) return;
    resting = true;
    stream.pause();
    deps.clock.after(restMs, () => {
      resting = false;
      if (!paused && !readToEnd) stream.resume();
    });
  }

  function readPending(): boolean {
    if (paused || readToEnd || input.isWaiting) return false;
    const filled = readMore(0);
    if (filled > 0) {
      lastActivityAt = deps.clock.now();
      deps.onOutput(scratch.subarray(0, filled));
    }
    return true;
  }

  function readMore(at: number): number {
    try {
      return readSync(fd, scratch, at, SCRATCH_BYTES - at, null);
    } catch {
      return 0; // empty for now, or at its end: the stream's own next read tells which
    }
  }

  function finish(): void {
    if (readToEnd) return;
    readToEnd = true;
    input.close();
    stream.destroy();
    tellEnd();
  }

  function tellEnd(): void {
    if (endTold || exit === undefined || !readToEnd || held !== undefined) return;
    endTold = true;
    deps.onEnd(exit);
  }

  function endWhenQuiet(): void {
    if (readToEnd) return;
    const quietMs = deps.clock.now() - lastActivityAt;
    if (!paused && quietMs >= QUIET_AFTER_EXIT_MS) finish();
    else deps.clock.after(QUIET_AFTER_EXIT_MS, endWhenQuiet);
  }

  return {
    pid,
    write: (data) => input.push(data),
    readPending,
    resize: ({ cols, rows }) => {
      if (!stream.destroyed) native.resize(fd, cols, rows, 0, 0);
    },
    pause: () => {
      if (paused || readToEnd) return;
      paused = true;
      stream.pause();
    },
    resume: () => {
      if (!paused) return;
      paused = false;
      lastActivityAt = deps.clock.now();
      const late = held;
      held = undefined;
      if (late !== undefined) deps.onOutput(late);
      if (!paused && !resting && !readToEnd) stream.resume();
      tellEnd();
    },
  };
}

/** @throws PosternError `dir_changed` | `spawn_failed`; nothing runs then */
function forkIn(dir: string, fork: (cwd: string) => Forked): Forked {
  const workingDir = openWorkingDir(dir);
  try {
    const forked = fork(workingDir.path);
    try {
      workingDir.verify();
      return forked;
    } catch (error) {
      closeSync(forked.fd);
      sendSignal(-forked.pid, "SIGKILL");
      throw error;
    }
  } finally {
    workingDir.close();
  }
}

/** @throws when the system refuses the descriptor; the program is ended then */
function openStream(fd: number, pid: number, onRead: (bytes: number) => boolean): ReadStream {
  try {
    return new ReadStream(fd, { onread: { buffer: scratch, callback: onRead } });
  } catch (error) {
    closeSync(fd);
    sendSignal(-pid, "SIGKILL");
    throw error;
  }
}
