import { rm } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { type KeptRecording, terminalsDir } from "./terminal-record.ts";

/** What recordings may take together; beyond it, those that ended first are removed. */
export interface RecordingBounds {
  readonly recordingsMaxBytes: number;
  readonly recordingsMaxCount: number;
}

/** The recordings of terminals that are gone. */
export interface Recordings {
  has(terminalId: string): boolean;
  add(recording: KeptRecording): void;
  remove(terminalId: string): void;
}

/** An empty log takes a folder and a few small files all the same. */
const LEAST_BYTES = 16 * 1024;

/** Begins with those that were found when the host started. */
export function createRecordings(
  found: readonly KeptRecording[],
  { stateDir, log, ...bounds }: RecordingBounds & { readonly stateDir: string; readonly log: Log },
): Recordings {
  /** In the order in which they ended. */
  const kept = new Map<string, KeptRecording>();
  let totalBytes = 0;

  function add(recording: KeptRecording): void {
    kept.set(recording.terminalId, recording);
    totalBytes += Math.max(LEAST_BYTES, recording.sizeBytes);
    while (kept.size > bounds.recordingsMaxCount || totalBytes > bounds.recordingsMaxBytes) {
      const oldest = kept.keys().next();
      if (oldest.done) return;
      remove(oldest.value);
    }
  }

  function remove(terminalId: string): void {
    const recording = kept.get(terminalId);
    if (recording === undefined) return;
    kept.delete(terminalId);
    totalBytes -= Math.max(LEAST_BYTES, recording.sizeBytes);
    rm(join(terminalsDir(stateDir), terminalId), { recursive: true, force: true }).catch((error: unknown) =>
      log.error({ terminalId, error: messageOf(error) }, "a recording could not be removed"),
    );
  }

  for (const recording of found.toSorted((one, other) => one.endedAt - other.endedAt)) add(recording);
  return { has: (terminalId) => kept.has(terminalId), add, remove };
}
