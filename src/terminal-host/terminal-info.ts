/**
 * The codes of every error that comes from the terminal host. `terminal_exists`: the id was used before. `input_queue_full`: more
 * than 4 MiB wait for a program that does not read, nothing of this write was taken. `input_stalled`: the program read nothing for a
 * minute, the rest was dropped. `reader_behind`: an attached reader was so slow that the raw log no longer holds what comes next.
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
  /** Chosen by the caller (a UUID, never one that was used before); every later call names the terminal by it. */
  readonly terminalId: string;
  /**
   * While a terminal with this key lives, the host refuses another one (`lease_held`): the last guard against two processes
   * on one transcript.
   */
  readonly leaseKey: string;
  /** Program (absolute path) and its arguments; never a shell string. */
  readonly argv: readonly [string, ...string[]];
  readonly cwd: string;
  /** The whole environment of the program; nothing is inherited beside it. */
  readonly env: Readonly<Record<string, string>>;
  /** Clamped to 2 to 1000. */
  readonly cols: number;
  /** Clamped to 1 to 500. */
  readonly rows: number;
  /**
   * False for output that nobody may see later: no recording is made of it, whatever becomes of terminal and host. True unless told
   * otherwise.
   */
  readonly keepRecording?: boolean | undefined;
}

/** How a program ended. `exitCode` is 128 + the signal's number after a signal; `signal` is a name such as `SIGKILL`, or null. */
export interface TerminalExit {
  readonly exitCode: number;
  readonly signal: string | null;
  readonly at: number;
}

/** A terminal that the host keeps; one that ended stays listed until it is forgotten. */
export interface TerminalInfo {
  readonly terminalId: string;
  readonly leaseKey: string;
  readonly pid: number;
  /** Kernel start time of `pid` as text, to know the process again; empty when unknown. */
  readonly pidStartTime: string;
  readonly cols: number;
  readonly rows: number;
  readonly startedAt: number;
  readonly exit: TerminalExit | null;
}

/** The screen as it is now. */
export interface TerminalSnapshot {
  readonly cols: number;
  readonly rows: number;
  /** Escape sequences that paint screen, scrollback, modes and cursor on an empty terminal. */
  readonly ansi: string;
  /** The visible rows as plain text, trailing blanks cut; for failure reports and prompt delivery. */
  readonly lines: readonly string[];
  /** The window title that the program set last; null when it set none, or when an older host does not tell. */
  readonly title: string | null;
  /**
   * The number of output bytes since the start that this snapshot contains: live output continues from here. Of a {@link TerminalLook}
   * the last of them may begin a character or sequence that shows once it is complete.
   */
  readonly offset: number;
}

/** What stands on the screen, as text: all of a snapshot but what paints it. */
export interface TerminalLook extends Omit<TerminalSnapshot, "ansi"> {
  /**
   * The rows with a blank for each faint cell: what a program suggests, and does not hold, is painted faint. Null from an older host.
   */
  readonly bright: readonly string[] | null;
}

/** Columns and rows of a terminal. */
export interface TerminalSize {
  readonly cols: number;
  readonly rows: number;
}

/** Live output of one terminal over a connection of its own; its reader's pace holds back the program. */
export interface TerminalStream {
  /** The screen at `offset`; null when output goes on at the offset that was asked for. */
  readonly snapshot: TerminalSnapshot | null;
  /** Where {@link output} begins: bytes since the start. */
  readonly offset: number;
  /** The terminal's size at `offset`. */
  readonly size: TerminalSize;
  /**
   * Raw bytes, with nothing lost and nothing twice, and between them each new size of the terminal at its place; then the end. Not
   * reading pauses the program (within the host's bounds).
   */
  readonly output: AsyncIterable<Uint8Array | TerminalSize>;
  /**
   * Resolves when the program has ended and all its output was delivered. Rejects when the stream ended before that:
   * `terminal_host_unavailable`, or `reader_behind` (attach again for the screen as it is by then).
   */
  readonly exit: Promise<TerminalExit>;
  close(): void;
}

/** What came from a program at a time (milliseconds since the epoch, to about 25): output, or a new size of its terminal. */
export type RecordedEvent =
  | { readonly at: number; readonly data: Uint8Array }
  | { readonly at: number; readonly cols: number; readonly rows: number };

/** What a terminal's raw log still has, to be played back. All times are milliseconds since the epoch. */
export interface TerminalRecording {
  readonly terminalId: string;
  readonly startedAt: number;
  /** The first output that is still there; later than `startedAt` when the log dropped its oldest part. */
  readonly beginsAt: number;
  /** Behind everything that is there: `screenAt(endsAt)` is the last screen. */
  readonly endsAt: number;
  /** Whether the program still runs; then ask for the recording again to learn of what came since. */
  readonly live: boolean;
  readonly sizeBytes: number;
  /**
   * What came at `from` (default: from the beginning) or later, up to the time when this was called, in order and as raw bytes. Begins
   * with the size that the terminal had. Parts that the log drops meanwhile are left out.
   */
  events(options?: { readonly from?: number }): AsyncIterable<RecordedEvent>;
  /**
   * The screen that everything before `at` gives; `events({ from: at })` goes on from there. Takes a second for 30 MB of output, but
   * never the thread for more than some 10 ms at a time; one after the other. `lines` and `ansi` as in a live snapshot.
   * @throws PosternError `rate_limited` when too many are asked for at once; the signal's reason when it was aborted
   */
  screenAt(at: number, options?: { readonly signal?: AbortSignal | undefined }): Promise<TerminalSnapshot>;
}

/** Everything outside the terminal host knows of it. Every call rejects with `terminal_host_unavailable` when the host is gone. */
export interface TerminalHostClient {
  /** @throws PosternError `lease_held` | `spawn_failed` (program or directory missing) | `terminal_host_unavailable` */
  spawn(spec: SpawnSpec): Promise<TerminalInfo>;
  list(): Promise<readonly TerminalInfo[]>;
  /**
   * Resolves when the program's input buffer took all of it; writes to one terminal keep their order. At most 4 MiB at once.
   * @throws PosternError `terminal_gone` when there is no such live terminal | `input_queue_full` | `input_stalled`
   */
  write(terminalId: string, data: string | Uint8Array): Promise<void>;
  /**
   * Writes only while the screen is the one of `look`: the host reads what the program has written by now, and writes in the same step if
   * that is nothing and no other input waits. A host older than the protocol's minor version 6 writes in any case.
   * @returns whether it was written
   * @throws PosternError as {@link write}
   */
  writeIfUnchanged(terminalId: string, data: string | Uint8Array, look: Pick<TerminalLook, "offset">): Promise<boolean>;
  /** @throws PosternError `terminal_gone` */
  resize(terminalId: string, size: { readonly cols: number; readonly rows: number }): Promise<void>;
  /** Also of an ended terminal, until it is forgotten. @throws PosternError `terminal_gone` */
  snapshot(terminalId: string): Promise<TerminalSnapshot>;
  /** The rows and the title alone, at a fraction of a snapshot's cost. @throws PosternError `terminal_gone` */
  look(terminalId: string): Promise<TerminalLook>;
  /**
   * Ends the program and its whole process group: SIGHUP and SIGTERM, then SIGKILL after `graceMs` (5,000 by default); descendants
   * that left the group are ended too. Resolves when the program was reaped. Of an ended terminal, ends what it left behind (Linux).
   * @throws PosternError `terminal_gone`
   */
  end(terminalId: string, options?: { readonly graceMs?: number }): Promise<TerminalExit>;
  /** Gives the lease another name, when the agent told its own session id. @throws PosternError `terminal_gone` | `lease_held` */
  renameLease(terminalId: string, leaseKey: string): Promise<void>;
  /**
   * Drops an ended terminal from the host's memory and keeps its recording, until {@link forget}, or until newer recordings need the
   * room; one whose recording is not to be kept is forgotten.
   */
  release(terminalId: string): Promise<void>;
  /** Drops an ended terminal with all that was kept of it, also after {@link release}. */
  forget(terminalId: string): Promise<void>;
  /**
   * What is kept of a terminal, whether it lives, ended or was released; null when there is nothing. Read straight from the host's files
   * by this process: the only call that assumes the same machine.
   */
  recording(terminalId: string): Promise<TerminalRecording | null>;
  /**
   * `from` goes on at this offset, when the raw log still has what follows it; else, and without it, the screen comes first.
   * @throws PosternError `terminal_gone`
   */
  attach(terminalId: string, options?: { readonly from?: number }): Promise<TerminalStream>;
  /** Called for every exit and, with `null`, when the connection to the host was lost. Returns the unsubscribe function. */
  onExit(listener: (ended: { readonly terminalId: string; readonly exit: TerminalExit } | null) => void): () => void;
  /** Lets go of the connection; the host and its terminals live on. */
  close(): Promise<void>;
}
