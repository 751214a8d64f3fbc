/**
 * Error codes of the terminal host. `terminal_exists`: the id was used before. `input_queue_full`: more than 4 MiB wait for a program that
 * does not read; nothing of this write was accepted. `input_stalled`: the program read nothing for a minute; the rest was dropped.
 * `reader_behind`: the raw log no longer holds what an attached reader needs next.
 */
export type TerminalHostErrorCode =
  | "lease_held"
  | "terminal_exists"
  | "spawn_failed"
  | "dir_changed"
  | "terminal_gone"
  | "terminal_host_unavailable"
  | "input_queue_full"
  | "input_stalled"
  | "reader_behind";

/** What to run in a new terminal. */
export interface SpawnSpec {
  /** Chosen by the caller: a UUID that was never used before. */
  readonly terminalId: string;
  /** The host refuses a second live terminal with this key (`lease_held`), so that no two processes write one transcript. */
  readonly leaseKey: string;
  /** Program (absolute path) and its arguments; never a shell string. */
  readonly argv: readonly [string, ...string[]];
  readonly cwd: string;
  /** The whole environment; nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  /** Clamped to 2 to 1000. */
  readonly cols: number;
  /** Clamped to 1 to 500. */
  readonly rows: number;
  /** False if the output must not be readable later, so that no recording is kept. True by default. */
  readonly keepRecording?: boolean | undefined;
}

/** `exitCode` is 128 + the signal's number after a signal; `signal` is a name such as `SIGKILL`, or null. */
export interface TerminalExit {
  readonly exitCode: number;
  readonly signal: string | null;
  readonly at: number;
}

/** A terminal of the host. After its program has ended, it is kept until it is released or forgotten. */
export interface TerminalInfo {
  readonly terminalId: string;
  readonly leaseKey: string;
  readonly pid: number;
  /** Kernel start time of `pid`, which identifies the process; empty when unknown. */
  readonly pidStartTime: string;
  readonly cols: number;
  readonly rows: number;
  readonly startedAt: number;
  readonly exit: TerminalExit | null;
}

/** The current screen. */
export interface TerminalSnapshot {
  readonly cols: number;
  readonly rows: number;
  /** Escape sequences that reproduce screen, scrollback, modes and cursor on a new terminal. */
  readonly ansi: string;
  /** The visible rows as plain text, without trailing blanks. */
  readonly lines: readonly string[];
  /** The window title; null if the program set none, or if the host is too old to report it. */
  readonly title: string | null;
  /**
   * Where live output continues: the number of bytes since the start that this snapshot includes. In a {@link TerminalLook}, the last bytes
   * may be an incomplete character or sequence that is not shown yet.
   */
  readonly offset: number;
}

/** A snapshot without `ansi`. */
export interface TerminalLook extends Omit<TerminalSnapshot, "ansi"> {
  /** The rows with a blank for each faint cell: programs paint suggestions faint. Null from an older host. */
  readonly bright: readonly string[] | null;
}

export interface TerminalSize {
  readonly cols: number;
  readonly rows: number;
}

/** Live output of one terminal over a separate connection; a slow reader pauses the program. */
export interface TerminalStream {
  /** The screen at `offset`; null when output continues at the requested offset. */
  readonly snapshot: TerminalSnapshot | null;
  /** The offset at which {@link output} begins, in bytes since the start. */
  readonly offset: number;
  /** The terminal's size at `offset`. */
  readonly size: TerminalSize;
  /** Every raw byte once, with each new size at its place between them. If it is not read, the program pauses (within the host's limits). */
  readonly output: AsyncIterable<Uint8Array | TerminalSize>;
  /**
   * Resolves when the program has ended and all its output was delivered. Rejects when the stream ended earlier:
   * `terminal_host_unavailable`, or `reader_behind` (attach again for the current screen).
   */
  readonly exit: Promise<TerminalExit>;
  close(): void;
}

/** Output or a new size, at a time in milliseconds since the epoch with a precision of about 25 ms. */
export type RecordedEvent =
  | { readonly at: number; readonly data: Uint8Array }
  | { readonly at: number; readonly cols: number; readonly rows: number };

/** The part of a terminal's output that its raw log still contains. All times are milliseconds since the epoch. */
export interface TerminalRecording {
  readonly terminalId: string;
  readonly startedAt: number;
  /** The time of the first output that the log still contains; later than `startedAt` if its oldest part was dropped. */
  readonly beginsAt: number;
  /** A time after all output: `screenAt(endsAt)` is the last screen. */
  readonly endsAt: number;
  /** Whether the program is still running. If so, request the recording again for newer output. */
  readonly live: boolean;
  readonly sizeBytes: number;
  /** Everything from `from` (default: the beginning) to now, in order, beginning with the size. Parts that the log drops in the meantime are left out. */
  events(options?: { readonly from?: number }): AsyncIterable<RecordedEvent>;
  /**
   * The screen after everything before `at`; `events({ from: at })` continues from there. Takes a second for 30 MB of output, but blocks
   * the thread for about 10 ms at most. Only one is made at a time.
   * @throws PosternError `rate_limited` when too many are waiting; the signal's reason when it was aborted
   */
  screenAt(at: number, options?: { readonly signal?: AbortSignal | undefined }): Promise<TerminalSnapshot>;
}

/** The terminal host's interface for the rest of Postern. Every call rejects with `terminal_host_unavailable` when the host is not running. */
export interface TerminalHostClient {
  /** @throws PosternError `lease_held` | `spawn_failed` (program or directory missing) | `terminal_host_unavailable` */
  spawn(spec: SpawnSpec): Promise<TerminalInfo>;
  list(): Promise<readonly TerminalInfo[]>;
  /**
   * Resolves when all of `data` is in the program's input buffer. Writes to one terminal keep their order. At most 4 MiB at once.
   * @throws PosternError `terminal_gone` when there is no such live terminal | `input_queue_full` | `input_stalled`
   */
  write(terminalId: string, data: string | Uint8Array): Promise<void>;
  /**
   * Writes only while the screen is still as `look` shows it: the host first reads pending output, and writes in the same step if there is none
   * and no other input is waiting. Hosts before the protocol's minor version 6 always write.
   * @returns whether it was written
   * @throws PosternError as {@link write}
   */
  writeIfUnchanged(terminalId: string, data: string | Uint8Array, look: Pick<TerminalLook, "offset">): Promise<boolean>;
  /** @throws PosternError `terminal_gone` */
  resize(terminalId: string, size: { readonly cols: number; readonly rows: number }): Promise<void>;
  /** Works after the program's end, too. @throws PosternError `terminal_gone` */
  snapshot(terminalId: string): Promise<TerminalSnapshot>;
  /** The rows and the title alone, at a fraction of a snapshot's cost. @throws PosternError `terminal_gone` */
  look(terminalId: string): Promise<TerminalLook>;
  /**
   * Ends the program and its process group: SIGHUP and SIGTERM, then SIGKILL after `graceMs` (5,000 by default); then descendants outside
   * the group. Resolves when the program was reaped. If it had already ended, ends the processes that it left running (Linux).
   * @throws PosternError `terminal_gone`
   */
  end(terminalId: string, options?: { readonly graceMs?: number }): Promise<TerminalExit>;
  /** Changes the lease's key, once the agent's session id is known. @throws PosternError `terminal_gone` | `lease_held` */
  renameLease(terminalId: string, leaseKey: string): Promise<void>;
  /** Drops an ended terminal and keeps its recording, until {@link forget} or until newer recordings need the space. */
  release(terminalId: string): Promise<void>;
  /** Drops an ended terminal with its recording, also after {@link release}. */
  forget(terminalId: string): Promise<void>;
  /** The recording of any terminal; null when there is none. Read from the host's files, so it is the only call that must run on the same machine. */
  recording(terminalId: string): Promise<TerminalRecording | null>;
  /**
   * With `from`, output continues at this offset if the raw log still has it; otherwise it begins with the screen.
   * @throws PosternError `terminal_gone`
   */
  attach(terminalId: string, options?: { readonly from?: number }): Promise<TerminalStream>;
  /** Called for every exit and, with `null`, when the connection to the host was lost. @returns the unsubscribe function */
  onExit(listener: (ended: { readonly terminalId: string; readonly exit: TerminalExit } | null) => void): () => void;
  /** Closes the connection; the host and its terminals keep running. */
  close(): Promise<void>;
}
