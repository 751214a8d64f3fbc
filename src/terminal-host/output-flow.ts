import type { Clock } from "../core/clock.ts";
import type { Pty } from "./pty.ts";

/** Something that the program's output waits for. */
export interface OutputReader {
  backlogBytes(): number;
}

/** Decides when a program has to wait for those who read its output. */
export interface OutputFlow {
  /** To be called after output, and whenever a backlog shrank. */
  update(): void;
  close(): void;
}

/** The program waits while even the fastest reader has more than this before it, until it has less than the lower mark. */
const READER_HIGH_BYTES = 1024 * 1024;
const READER_LOW_BYTES = 256 * 1024;
/** At most so long at a time; then that reader is on its own until it has caught up. */
const READER_HOLD_MS = 1_000;
/** A program that waits for the model goes on when this part of the bound is left, a few batches later. */
const MODEL_RESUME = 0.97;

/**
 * Flow control of one terminal. `readers` may hold it back for a second at a time; the screen model, whose place in the raw log must
 * not be dropped, for as long as it is more than `modelMaxBytes` behind.
 */
export function createOutputFlow(
  pty: Pick<Pty, "pause" | "resume">,
  parts: {
    readonly readers: ReadonlySet<OutputReader>;
    readonly model: OutputReader;
    readonly modelMaxBytes: number;
    readonly clock: Clock;
  },
): OutputFlow {
  const { readers, model, modelMaxBytes, clock } = parts;
  const excused = new WeakSet<OutputReader>();
  let modelHolds = false;
  let readersHold = false;
  let cancelHold: (() => void) | undefined;

  function fastest(): number {
    let least = Number.POSITIVE_INFINITY;
    for (const reader of readers) {
      const backlog = reader.backlogBytes();
      if (backlog < READER_LOW_BYTES) excused.delete(reader);
      if (excused.has(reader)) continue;
      least = Math.min(least, backlog);
    }
    return least === Number.POSITIVE_INFINITY ? 0 : least;
  }

  function update(): void {
    const modelBacklog = model.backlogBytes();
    modelHolds = modelBacklog > (modelHolds ? modelMaxBytes * MODEL_RESUME : modelMaxBytes);
    const hold = fastest() > (readersHold ? READER_LOW_BYTES : READER_HIGH_BYTES);
    if (hold && !readersHold) cancelHold = clock.after(READER_HOLD_MS, giveUp);
    if (!hold) cancelHold?.();
    readersHold = hold;
    if (modelHolds || readersHold) pty.pause();
    else pty.resume();
  }

  function giveUp(): void {
    for (const reader of readers) excused.add(reader);
    update();
  }

  return { update, close: () => cancelHold?.() };
}
