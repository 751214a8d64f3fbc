import { mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { isErrno, messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { endGroups, type ProcessTree } from "../platform/processes.ts";
import { readSmallFileSync } from "../platform/regular-file.ts";
import { booleanField, type Fields, numberField, parseFields, textField } from "./fields.ts";
import { readFirstMark } from "./marks.ts";
import type { TerminalInfo } from "./terminal-info.ts";

/** Set in the environment of every program, so that a later host finds the processes that a dead host left running. */
export const TERMINAL_ID_VARIABLE = "POSTERN_TERMINAL_ID";

/** What is stored about an ended terminal. */
export interface RecordingDescription {
  readonly startedAt: number;
  readonly endedAt: number;
  readonly sizeBytes: number;
}

/** A terminal that was released or left by a dead host, whose raw log is kept. */
export interface KeptRecording extends Omit<RecordingDescription, "startedAt"> {
  readonly terminalId: string;
}

/** The grace period is short, because no gateway can reach the program, and its session waits to be resumed. */
const LEFTOVER_GRACE_MS = 500;

const RECORD = "record.json";
const DESCRIPTION = "recording.json";

/** A terminal's id is also the name of its folder. */
export function isTerminalId(text: string): boolean {
  return /^[A-Za-z0-9_-]{1,64}$/.test(text);
}

/** The folder that holds one folder for each terminal: raw log, and record or description. */
export function terminalsDir(stateDir: string): string {
  return join(stateDir, "terminals");
}

/** Records the process in the terminal whose folder is `dir`, so that the next host can find it if this host dies. */
export function writeTerminalRecord(
  dir: string,
  record: Pick<TerminalInfo, "pid" | "pidStartTime" | "startedAt"> & { readonly keepRecording: boolean },
): void {
  const { pid, pidStartTime, startedAt, keepRecording } = record;
  writeFileSync(join(dir, RECORD), JSON.stringify({ pid, pidStartTime, startedAt, keepRecording }), { mode: 0o600 });
}

/** Turns `dir` into a recording, for which the next host does not look for processes. */
export function writeDescription(dir: string, description: RecordingDescription): void {
  const draft = join(dir, `${DESCRIPTION}.draft`);
  writeFileSync(draft, JSON.stringify(description), { mode: 0o600 });
  renameSync(draft, join(dir, DESCRIPTION));
  rmSync(join(dir, RECORD), { force: true });
}

/** The description in `dir`; undefined as long as a host still has the terminal. */
export function readDescription(dir: string): RecordingDescription | undefined {
  const fields = readFields(join(dir, DESCRIPTION)) ?? {};
  const startedAt = numberField(fields, "startedAt");
  const endedAt = numberField(fields, "endedAt");
  if (startedAt === undefined || endedAt === undefined) return undefined;
  return { startedAt, endedAt, sizeBytes: numberField(fields, "sizeBytes") ?? 0 };
}

/** When the terminal in `dir` was started; undefined when no host has it. */
export function readStartedAt(dir: string): number | undefined {
  return numberField(readFields(join(dir, RECORD)) ?? {}, "startedAt");
}

/**
 * Ends the programs that an earlier host of `stateDir` left running, and turns its terminals into recordings where allowed. Call this only as the
 * holder of the host lock.
 * @returns the number of terminals that were left, and all recordings
 */
export async function clearLeftovers(
  stateDir: string,
  clock: Clock,
): Promise<{ readonly leftovers: number; readonly recordings: readonly KeptRecording[] }> {
  const root = terminalsDir(stateDir);
  mkdirSync(root, { recursive: true, mode: 0o700 });
  const recordings: KeptRecording[] = [];
  const leftovers: string[] = [];
  for (const terminalId of readdirSync(root)) {
    const description = readDescription(join(root, terminalId));
    if (description === undefined) leftovers.push(terminalId);
    else recordings.push({ terminalId, ...description });
  }
  const trees = leftovers.map((terminalId) => leftoverTree(root, terminalId));
  if (trees.length > 0) await endGroups(trees, { graceMs: LEFTOVER_GRACE_MS, clock });
  for (const terminalId of leftovers) {
    const description = describeLeftover(join(root, terminalId));
    if (description === undefined) rmSync(join(root, terminalId), { recursive: true, force: true });
    else recordings.push({ terminalId, ...description });
  }
  return { leftovers: leftovers.length, recordings };
}

/** Undefined if `dir` contains nothing that can be played back. If it has no record, the folder was being removed. */
function describeLeftover(dir: string): RecordingDescription | undefined {
  try {
    const record = readFields(join(dir, RECORD));
    if (record === undefined || booleanField(record, "keepRecording") === false) return undefined;
    const files = readdirSync(dir);
    const firstMarks = files.filter((name) => name.endsWith(".marks")).toSorted()[0];
    const segments = files.filter((name) => name.endsWith(".raw")).map((name) => statSync(join(dir, name)));
    const first = firstMarks === undefined ? undefined : readFirstMark(join(dir, firstMarks));
    if (first === undefined || segments.length === 0) return undefined;
    const description = {
      startedAt: numberField(record, "startedAt") ?? first.at,
      endedAt: Math.max(first.at, ...segments.map((file) => Math.floor(file.mtimeMs))),
      sizeBytes: segments.reduce((sum, file) => sum + file.size, 0),
    };
    writeDescription(dir, description);
    return description;
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR", "ENOSPC", "EDQUOT")) return undefined; // no folder, or a full disk
    throw error;
  }
}

function leftoverTree(root: string, terminalId: string): ProcessTree {
  const marker = { name: TERMINAL_ID_VARIABLE, value: terminalId };
  const record = readFields(join(root, terminalId, RECORD)) ?? {}; // none if the host died between making folder and record
  const pid = numberField(record, "pid");
  const startTime = textField(record, "pidStartTime");
  return { leader: pid === undefined || !startTime ? null : { pid, startTime }, marker };
}

/** A record has four short fields. */
const MAX_RECORD_BYTES = 16 * 1024;

function readFields(path: string): Fields | undefined {
  const bytes = readSmallFileSync(path, MAX_RECORD_BYTES);
  return Buffer.isBuffer(bytes) ? parseFields(bytes.toString("utf8")) : undefined;
}

/** Limits for all recordings together. Beyond them, the recordings that ended first are removed. */
interface RecordingBounds {
  readonly recordingsMaxBytes: number;
  readonly recordingsMaxCount: number;
}

/** The recordings of ended terminals. */
export type Recordings = ReturnType<typeof createRecordings>;

/** An empty log still takes a folder and a few small files. */
const LEAST_BYTES = 16 * 1024;

export function createRecordings(
  found: readonly KeptRecording[],
  { stateDir, log, ...bounds }: RecordingBounds & { readonly stateDir: string; readonly log: Log },
) {
  /** Ordered by their end. */
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
      log.error({ terminalId, error: messageOf(error) }, "cannot remove a recording"),
    );
  }

  for (const recording of found.toSorted((one, other) => one.endedAt - other.endedAt)) add(recording);
  return { has: (terminalId: string): boolean => kept.has(terminalId), add, remove };
}
