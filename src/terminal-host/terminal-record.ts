import { mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { isErrno } from "../core/errors.ts";
import { endGroups, type ProcessTree } from "../platform/processes.ts";
import { readSmallFileSync } from "../platform/regular-file.ts";
import { booleanField, type Fields, numberField, parseFields, textField } from "./fields.ts";
import { readFirstMark } from "./marks.ts";

/** In the environment of every program: what a dead host's leftovers are known by. */
export const TERMINAL_ID_VARIABLE = "POSTERN_TERMINAL_ID";

/** What is noted of a terminal that ended. */
export interface RecordingDescription {
  readonly startedAt: number;
  readonly endedAt: number;
  readonly sizeBytes: number;
}

/** A terminal that is gone, whose raw log was kept. */
export interface KeptRecording extends Omit<RecordingDescription, "startedAt"> {
  readonly terminalId: string;
}

/** A leftover gets little time: nobody can talk to it any more, and its session waits to be resumed. */
const LEFTOVER_GRACE_MS = 500;

const RECORD = "record.json";
const DESCRIPTION = "recording.json";

const TERMINAL_ID = /^[A-Za-z0-9_-]{1,64}$/;

/** Whether `text` may be a terminal's id, which is also the name of its folder. */
export function isTerminalId(text: string): boolean {
  return TERMINAL_ID.test(text);
}

/** The folder that holds one folder for each terminal: raw log, and record or description. */
export function terminalsDir(stateDir: string): string {
  return join(stateDir, "terminals");
}

/** What is noted of a terminal whose host may die. */
export interface TerminalRecord {
  readonly pid: number;
  readonly pidStartTime: string;
  readonly startedAt: number;
  readonly keepRecording: boolean;
}

/** Notes which process runs in the terminal whose folder is `dir`, for the next host in case this one dies. */
export function writeTerminalRecord(dir: string, record: TerminalRecord): void {
  const { pid, pidStartTime, startedAt, keepRecording } = record;
  writeFileSync(join(dir, RECORD), JSON.stringify({ pid, pidStartTime, startedAt, keepRecording }), { mode: 0o600 });
}

/** Makes what is in `dir` a recording: no process is looked for there any more. */
export function writeDescription(dir: string, description: RecordingDescription): void {
  const draft = join(dir, `${DESCRIPTION}.draft`);
  writeFileSync(draft, JSON.stringify(description), { mode: 0o600 });
  renameSync(draft, join(dir, DESCRIPTION));
  rmSync(join(dir, RECORD), { force: true });
}

/** The description in `dir`; undefined while the terminal is a host's, or when there is none. */
export function readDescription(dir: string): RecordingDescription | undefined {
  const fields = readFields(join(dir, DESCRIPTION)) ?? {};
  const startedAt = numberField(fields, "startedAt");
  const endedAt = numberField(fields, "endedAt");
  if (startedAt === undefined || endedAt === undefined) return undefined;
  return { startedAt, endedAt, sizeBytes: numberField(fields, "sizeBytes") ?? 0 };
}

/** When the terminal whose folder is `dir` was started; undefined when it is no host's. */
export function readStartedAt(dir: string): number | undefined {
  return numberField(readFields(join(dir, RECORD)) ?? {}, "startedAt");
}

/**
 * Ends whatever an earlier host of `stateDir` left behind, and makes recordings of what may be kept. Only for the holder of the host lock. Resolves
 * with the number of terminals that were left, and all recordings that there are.
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

/** Undefined when nothing in `dir` can be played back, or may be. Without a record it is the rest of a folder that was being removed. */
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
    if (isErrno(error, "ENOENT", "ENOTDIR", "ENOSPC", "EDQUOT")) return undefined; // no folder, or no room to keep it
    throw error;
  }
}

function leftoverTree(root: string, terminalId: string): ProcessTree {
  const marker = { name: TERMINAL_ID_VARIABLE, value: terminalId };
  const record = readFields(join(root, terminalId, RECORD)) ?? {}; // none: the host died between folder and record
  const pid = numberField(record, "pid");
  const startTime = textField(record, "pidStartTime");
  return { leader: pid === undefined || !startTime ? null : { pid, startTime }, marker };
}

/** Four short fields. */
const MAX_RECORD_BYTES = 16 * 1024;

function readFields(path: string): Fields | undefined {
  const bytes = readSmallFileSync(path, MAX_RECORD_BYTES);
  return Buffer.isBuffer(bytes) ? parseFields(bytes.toString("utf8")) : undefined;
}
