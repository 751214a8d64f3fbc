import type { Socket } from "node:net";
import type { Clock } from "../core/clock.ts";
import { PosternError } from "../core/errors.ts";
import { endGroup, startTimeOf } from "../platform/processes.ts";
import { createModelFeed } from "./model-feed.ts";
import { outputFrame } from "./protocol.ts";
import { type PtyExit, startPty } from "./pty.ts";
import { watchQueries } from "./queries.ts";
import type { RawLog } from "./raw-log.ts";
import type { ReadScheduler } from "./read-scheduler.ts";
import type { Screens } from "./screens.ts";
import { createSizeHistory } from "./size-history.ts";
import type { SpawnSpec, TerminalExit, TerminalInfo, TerminalSize, TerminalSnapshot } from "./terminal-info.ts";
import { type RecordingDescription, TERMINAL_ID_VARIABLE } from "./terminal-record.ts";
import { createOutputFlow, createViewer, type Viewer, type ViewerPlace } from "./viewer.ts";

/** One program with its screen, raw log and viewers; kept after the program's end until it is forgotten. */
export type Terminal = ReturnType<typeof startTerminal>;

/** The offset and size with which a reader continues, without receiving a screen. */
export interface Continued extends TerminalSize {
  readonly offset: number;
}

type PlacedSnapshot = ViewerPlace & { readonly answer: TerminalSnapshot };

/** How long a snapshot waits for the model to show all earlier output. */
const SNAPSHOT_WAIT_MS = 2_000;
/** How far the model may be behind, as a share of the raw log. The rest is for output that comes while a screen is painted. */
const MODEL_SHARE_OF_LOG = 0.85;

/** Starts `spec` (already checked) in a new terminal. */
export function startTerminal(
  spec: SpawnSpec,
  deps: {
    readonly clock: Clock;
    readonly turns: ReadScheduler;
    readonly screens: Screens;
    readonly log: RawLog;
    readonly rawLogMaxBytes: number;
    onExit(exit: TerminalExit): void;
  },
) {
  const { terminalId } = spec;
  const { clock, screens, log } = deps;
  const startedAt = clock.now();
  const viewers = new Set<Viewer>();
  let { leaseKey } = spec;
  const sizes = createSizeHistory(spec);
  let exit: TerminalExit | null = null;
  let reachedOffset = 0;
  let lastScreen: Promise<PlacedSnapshot> | undefined;
  let ending: Promise<TerminalExit> | undefined;
  const ended = Promise.withResolvers<TerminalExit>();

  const pty = startPty(
    { ...spec, env: { TERM: "xterm-256color", ...spec.env, PWD: spec.cwd, [TERMINAL_ID_VARIABLE]: terminalId } },
    { clock, turns: deps.turns, onOutput, onEnd },
  );
  const pidStartTime = startTimeOf(pty.pid);
  const modelMaxBytes = deps.rawLogMaxBytes * MODEL_SHARE_OF_LOG;
  const feed = createModelFeed({
    log,
    clock,
    maxBehindBytes: modelMaxBytes,
    notify: (offset, asks) => screens.output(terminalId, offset, asks),
  });
  const queries = watchQueries();
  const flow = createOutputFlow(pty, {
    readers: viewers,
    modelBacklogBytes: () => (exit === null ? log.endOffset - reachedOffset : 0),
    modelMaxBytes,
    clock,
  });
  screens.open({
    terminalId,
    log,
    sizes,
    onReached(offset) {
      reachedOffset = offset;
      feed.reached(offset);
      flow.update();
    },
    onAnswer: (data) => void pty.write(Buffer.from(data)).catch(() => undefined), // the program has ended, or does not read
  });

  function onOutput(data: Buffer): void {
    const offset = log.endOffset;
    if (viewers.size > 0) {
      const frame = outputFrame(data);
      for (const viewer of viewers) viewer.onOutput(frame, offset, data.byteLength);
    }
    const asks = queries.push(data);
    if (asks) deps.turns.awaited(pty.pid);
    if (log.append(data)) feed.logged(asks);
    else passDirectly(data, offset);
    flow.update();
  }

  /** Used when the disk is full: history then has a gap, but the screen and live viewers do not. */
  function passDirectly(data: Buffer, offset: number): void {
    feed.skipTo(log.endOffset);
    screens.direct(terminalId, { offset, data: Uint8Array.from(data) });
  }

  function onEnd({ exitCode, signal }: PtyExit): void {
    exit = { exitCode, signal, at: clock.now() };
    flow.close();
    if (feed.close()) screens.output(terminalId, log.endOffset);
    lastScreen = paint(log.endOffset);
    lastScreen.then(
      () => screens.close(terminalId),
      () => undefined, // callers of `snapshot` receive the error
    );
    for (const viewer of viewers) viewer.onEnd(exit);
    if (viewers.size === 0) log.release();
    ended.resolve(exit);
    deps.onExit(exit);
  }

  async function paint(atLeast: number, plain = false): Promise<PlacedSnapshot> {
    const { screen, offset, sizes: count } = await screens.paint(terminalId, atLeast, plain);
    return { offset, sizes: count, answer: { ...screen, offset } };
  }

  function write(data: Uint8Array): Promise<void> {
    deps.turns.awaited(pty.pid);
    return pty.write(data);
  }

  return {
    info(): TerminalInfo {
      const { cols, rows } = sizes.current;
      return { terminalId, leaseKey, pid: pty.pid, pidStartTime, cols, rows, startedAt, exit };
    },
    keepsRecording: spec.keepRecording ?? true,
    rename(newKey: string): void {
      leaseKey = newKey;
    },
    write,
    /** Writes only while the output ends at `offset`. @returns whether it was written */
    async writeIfUnchanged(data: Uint8Array, offset: number): Promise<boolean> {
      // Do not await anything before the write, because the caller has not seen output that comes in between.
      if (!pty.readPending() || log.endOffset !== offset) return false;
      await write(data);
      return true;
    },
    resize({ cols, rows }: TerminalSize): void {
      if (exit !== null) throw goneError(terminalId);
      if (cols === sizes.current.cols && rows === sizes.current.rows) return;
      const change = { offset: log.endOffset, cols, rows };
      pty.resize(change);
      log.resize(change);
      sizes.add(change);
      screens.resize(terminalId, { ...change, sizes: sizes.count });
      for (const viewer of viewers) viewer.onResize();
    },
    async snapshot({ plain } = { plain: false }): Promise<PlacedSnapshot> {
      if (lastScreen !== undefined) return lastScreen;
      feed.flush();
      const complete = paint(log.endOffset, plain);
      complete.catch(() => undefined); // handled below, unless the wait has ended
      const timeout = Promise.withResolvers<"late">();
      const cancel = clock.after(SNAPSHOT_WAIT_MS, () => timeout.resolve("late"));
      const first = await Promise.race([complete, timeout.promise]).finally(cancel);
      return first === "late" ? paint(0, plain) : first;
    },
    /** The screen of the model now, without waiting for it to catch up with a flood. */
    snapshotNow: () => lastScreen ?? paint(0),
    /** Where a reader that has everything before `offset` continues; undefined if the log no longer has the output after that. */
    continueAt(offset: number | undefined): (ViewerPlace & { readonly answer: Continued }) | undefined {
      if (offset === undefined || !Number.isSafeInteger(offset)) return undefined;
      if (offset < log.startOffset || offset > log.endOffset) return undefined;
      const there = sizes.at(offset);
      if (there === undefined) return undefined;
      const { cols, rows } = there.size;
      return { offset, sizes: there.count, answer: { offset, cols, rows } };
    },
    /** Sends live output to `socket`, beginning at `place`. */
    view(socket: Socket, place: ViewerPlace): void {
      const viewer = createViewer(
        socket,
        { log, sizes },
        {
          place,
          onProgress: flow.update,
          onClose() {
            viewers.delete(viewer);
            flow.update();
            if (exit !== null && viewers.size === 0) log.release();
          },
        },
      );
      viewers.add(viewer);
      if (exit === null) viewer.start();
      else viewer.onEnd(exit);
    },
    end(graceMs: number): Promise<TerminalExit> {
      const leader = exit === null ? { pid: pty.pid, startTime: pidStartTime } : null;
      const marker = { name: TERMINAL_ID_VARIABLE, value: terminalId };
      ending ??= endGroup({ leader, marker }, { graceMs, clock })
        .then(() => ended.promise)
        .finally(() => {
          ending = undefined;
        });
      return ending;
    },
    /** Drops the screen of an ended terminal; its readers keep reading. @returns the description of its recording */
    release(): RecordingDescription {
      screens.close(terminalId);
      if (viewers.size === 0) log.release();
      return { startedAt, endedAt: exit?.at ?? clock.now(), sizeBytes: log.endOffset - log.startOffset };
    },
    forget(): void {
      for (const viewer of viewers) viewer.close();
      screens.close(terminalId);
      log.remove();
    },
  };
}

export function goneError(terminalId: string): PosternError {
  return new PosternError("terminal_gone", `Terminal ${terminalId} is not running.`);
}
