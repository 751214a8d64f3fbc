import { closeSync, readSync, writeSync } from "node:fs";
import { constants } from "node:os";
import { ReadStream } from "node:tty";
import type { Clock } from "../core/clock.ts";
import { sendSignal } from "../platform/processes.ts";
import { forkIn, loadNativePty } from "./fork-pty.ts";
import { createInputQueue } from "./input-queue.ts";
import type { ReadScheduler } from "./read-scheduler.ts";
import type { SpawnSpec, TerminalSize } from "./terminal-info.ts";

/** How a program ended. */
export interface PtyExit {
  readonly exitCode: number;
  readonly signal: string | null;
}

/** What to run; `env` is the whole environment. */
type PtySpec = Pick<SpawnSpec, "argv" | "cwd" | "env" | "cols" | "rows">;

/** A program in a pseudo-terminal. Its output is read to the end, even after a long pause. */
export type Pty = ReturnType<typeof startPty>;

/** The kernel returns at most 4 KB per read, so each event consists of several reads. */
const SCRATCH_BYTES = 64 * 1024;
const KERNEL_READ_BYTES = 4096;
/** After the exit, output is read until the kernel reports the end, or, if another process keeps the terminal open, for this long without output. */
const QUIET_AFTER_EXIT_MS = 250;

const signalNames = new Map<number, string>(Object.entries(constants.signals).map(([name, number]) => [number, name]));
const scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES);

/**
 * Starts `spec` in a new pseudo-terminal. A program that cannot be executed exits with 1 and prints the reason.
 * @throws PosternError `dir_changed` when `cwd` leads through a link
 */
export function startPty(
  spec: PtySpec,
  deps: {
    readonly clock: Clock;
    readonly turns: ReadScheduler;
    /** The bytes are valid only during the call. */
    onOutput(data: Buffer): void;
    /** Called once, after the last output. */
    onEnd(exit: PtyExit): void;
  },
) {
  const [file, ...args] = spec.argv;
  const env = Object.entries(spec.env).map(([name, value]) => `${name}=${value}`);
  let exit: PtyExit | undefined;
  let readToEnd = false;
  let endReported = false;
  let paused = false;
  let resting = false;
  /** Output that was read after the pause began, because Node's stream may be in the middle of a read when it is paused. */
  let held: Buffer | undefined;
  let lastActivityAt = deps.clock.now();

  const onExit = (exitCode: number, signal: number): void => {
    exit =
      signal === 0 ? { exitCode, signal: null } : { exitCode: 128 + signal, signal: signalNames.get(signal) ?? null };
    input.close();
    reportEnd();
    if (!readToEnd) deps.clock.after(QUIET_AFTER_EXIT_MS, endWhenQuiet);
  };
  const { native, helperPath } = loadNativePty();
  const { fd, pid } = forkIn(spec.cwd, (cwd) =>
    native.fork(file, args, env, cwd, spec.cols, spec.rows, -1, -1, true, helperPath, onExit),
  );
  const stream = openStream(fd, pid, onRead);
  // Once the stream has closed the descriptor, its number may belong to another file.
  const input = createInputQueue((data, at) => (stream.destroyed ? undefined : writeSync(fd, data, at)), deps.clock);
  stream.on("error", finish); // Linux reports EIO when the last process closed the terminal
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

  /** Pauses reading, to leave the processor to another program whose answer is awaited. */
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

  /**
   * Reads what the program has written so far. @returns false if that is impossible because reading is paused, or if earlier input is waiting,
   * so that new input would not be written at once
   */
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
      return 0; // no output, or the end of it: the stream's next read shows which
    }
  }

  function finish(): void {
    if (readToEnd) return;
    readToEnd = true;
    input.close();
    stream.destroy();
    reportEnd();
  }

  function reportEnd(): void {
    if (endReported || exit === undefined || !readToEnd || held !== undefined) return;
    endReported = true;
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
    write: input.push,
    readPending,
    resize({ cols, rows }: TerminalSize): void {
      if (!stream.destroyed) native.resize(fd, cols, rows, 0, 0);
    },
    /** Stops reading, so the program blocks once the kernel's buffer is full. */
    pause(): void {
      if (paused || readToEnd) return;
      paused = true;
      stream.pause();
    },
    resume(): void {
      if (!paused) return;
      paused = false;
      lastActivityAt = deps.clock.now();
      const late = held;
      held = undefined;
      if (late !== undefined) deps.onOutput(late);
      if (!paused && !resting && !readToEnd) stream.resume();
      reportEnd();
    },
  };
}

/** @throws when the system rejects the descriptor; the program is then killed */
function openStream(fd: number, pid: number, onRead: (bytes: number) => boolean): ReadStream {
  try {
    return new ReadStream(fd, { onread: { buffer: scratch, callback: onRead } });
  } catch (error) {
    closeSync(fd);
    sendSignal(-pid, "SIGKILL");
    throw error;
  }
}
