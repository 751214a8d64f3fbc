import { type FileHandle, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { isErrno } from "../core/errors.ts";
import { createGate, type Gate } from "../core/gate.ts";
import { openRegularFile, readSmallFile } from "../platform/regular-file.ts";
import { MARK_BYTES, type Mark, marksName, maxMarksOf, readMarks } from "./marks.ts";
import { segmentName } from "./raw-log.ts";
import { DEFAULT_RAW_LOG_MAX_BYTES } from "./start-host.ts";
import type { RecordedEvent, TerminalRecording, TerminalSize, TerminalSnapshot } from "./terminal-info.ts";
import { isTerminalId, readDescription, readStartedAt, terminalsDir } from "./terminal-record.ts";

interface Found {
  readonly dir: string;
  readonly segments: readonly FoundSegment[];
}

/** This much is parsed before checking whether to yield; it takes less than a millisecond. */
const PARSE_BYTES = 16 * 1024;
/** The most requests for screens that can wait while another screen is made. */
const MAX_WAITING = 64;
/** After this long, the event loop runs other tasks. */
const TURN_MS = 5;

/** Reads recordings from a host's folder, while the host may write to them. */
export function createRecordingReader(
  stateDir: string,
  clock: Clock,
): (terminalId: string) => Promise<TerminalRecording | null> {
  const gate = createGate({ atOnce: 1, waiting: MAX_WAITING });

  return async (terminalId) => {
    if (!isTerminalId(terminalId)) return null;
    const dir = join(terminalsDir(stateDir), terminalId);
    const segments = await findSegments(dir);
    const [first] = segments;
    const last = segments.at(-1);
    if (first === undefined || last === undefined) return null;
    const description = readDescription(dir);
    const lastAt = (await lastMark(dir, last)).at;
    return {
      terminalId,
      startedAt: description?.startedAt ?? readStartedAt(dir) ?? first.first.at,
      beginsAt: first.first.at,
      endsAt: Math.max(lastAt + 1, description?.endedAt ?? 0),
      live: description === undefined,
      sizeBytes: segments.reduce((sum, { first: { offset }, end }) => sum + end - offset, 0),
      async *events({ from = Number.NEGATIVE_INFINITY } = {}) {
        yield* readEvents({ dir, segments: await findSegments(dir) }, { from, before: Number.POSITIVE_INFINITY });
      },
      screenAt: (at, { signal } = {}) => showScreen({ dir, segments, at }, { clock, gate, signal }),
    };
  };
}

async function* readEvents(
  { dir, segments }: Found,
  { from, before }: { readonly from: number; readonly before: number },
): AsyncGenerator<RecordedEvent> {
  const begin = segments.findLastIndex(({ first }) => first.at < from);
  let sent: TerminalSize | undefined;
  let earlier: TerminalSize | undefined;
  for (const segment of segments.slice(Math.max(0, begin))) {
    if (segment.first.at >= before) break;
    for await (const { mark, data } of readPieces(dir, segment)) {
      const { at, cols, rows } = mark;
      if (at >= before) return;
      if (at < from) {
        earlier = { cols, rows };
        continue;
      }
      if (sent === undefined && earlier !== undefined) {
        sent = earlier;
        yield { at: from, ...earlier };
      }
      if (sent?.cols !== cols || sent.rows !== rows) {
        sent = { cols, rows };
        yield { at, cols, rows };
      }
      if (data.byteLength > 0) yield { at, data };
    }
  }
  if (sent === undefined && earlier !== undefined) yield { at: from, ...earlier };
}

/** Makes one screen at a time, since each takes memory and a processor. */
function showScreen(
  { at, ...found }: Found & { readonly at: number },
  { clock, gate, signal }: { readonly clock: Clock; readonly gate: Gate; readonly signal: AbortSignal | undefined },
): Promise<TerminalSnapshot> {
  return gate.run(async () => {
    signal?.throwIfAborted();
    const { createScreenModel } = await import("./screen-model.ts"); // loaded only when needed
    const { first } = found.segments[0] ?? { first: { offset: 0, cols: 80, rows: 24 } };
    const model = createScreenModel(first, () => undefined);
    let offset = first.offset;
    let turnBegan = clock.now();
    try {
      for await (const event of readEvents(found, { from: Number.NEGATIVE_INFINITY, before: at })) {
        if (!("data" in event)) {
          model.resize(event);
          continue;
        }
        for (let done = 0; done < event.data.byteLength; done += PARSE_BYTES) {
          model.write(event.data.subarray(done, done + PARSE_BYTES));
          if (clock.now() - turnBegan < TURN_MS) continue;
          await clock.sleep(0);
          signal?.throwIfAborted();
          turnBegan = clock.now();
        }
        offset += event.data.byteLength;
      }
      return { ...model.paint(), offset: offset - model.incompleteBytes() };
    } finally {
      model.close();
    }
  });
}

/** One segment of a raw log, as read by another process. */
interface FoundSegment {
  /** The segment's start offset. After a gap in the log, its data starts later, at the offset of its first mark. */
  readonly begin: number;
  readonly first: Mark;
  /** The offset at which the segment ended when it was listed. */
  readonly end: number;
}

/** Output between two marks, or the part of it that was read at once. */
interface RecordedPiece {
  readonly mark: Mark;
  readonly data: Uint8Array;
}

const BLOCK_BYTES = 64 * 1024;
/** No segment is larger than a whole log; a larger file could take forever to read. */
const MAX_SEGMENT_BYTES = DEFAULT_RAW_LOG_MAX_BYTES;
const MAX_MARKS_BYTES = maxMarksOf(MAX_SEGMENT_BYTES) * MARK_BYTES;
const MARKS_NAME = /^(\d{16})\.marks$/;

/** The segments in `dir`, oldest first. */
async function findSegments(dir: string): Promise<readonly FoundSegment[]> {
  const names = (await orUndefined(readdir(dir))) ?? [];
  const segments: FoundSegment[] = [];
  for (const name of names.toSorted()) {
    const begin = Number(MARKS_NAME.exec(name)?.[1] ?? Number.NaN);
    if (Number.isNaN(begin)) continue;
    const raw = await orUndefined(stat(join(dir, segmentName(begin))));
    const [first] = await readMarkAt(dir, begin, 0);
    if (raw?.isFile() && raw.size <= MAX_SEGMENT_BYTES && first !== undefined)
      segments.push({ begin, first, end: begin + raw.size });
  }
  return segments;
}

async function lastMark(dir: string, { begin, first }: FoundSegment): Promise<Mark> {
  const file = await orUndefined(stat(join(dir, marksName(begin))));
  const count = Math.floor((file?.size ?? 0) / MARK_BYTES);
  const [last] = await readMarkAt(dir, begin, Math.max(0, count - 1));
  return last ?? first;
}

/** The output of one segment, split at its marks; an empty piece where only the size changed. None if it has been dropped. */
async function* readPieces(dir: string, segment: FoundSegment): AsyncGenerator<RecordedPiece> {
  const file = await openRegularFile(join(dir, segmentName(segment.begin)));
  if (file === null) return;
  try {
    const bytes = await readSmallFile(join(dir, marksName(segment.begin)), MAX_MARKS_BYTES);
    if (!Buffer.isBuffer(bytes)) return;
    const marks = readMarks(bytes);
    const blocks = createBlocks(file, segment);
    let reached = 0; // never decreases, whatever the marks contain
    for (const [index, mark] of marks.entries()) {
      const end = Math.min(segment.end, marks[index + 1]?.offset ?? segment.end);
      if (mark.offset > segment.end) return;
      let at = Math.max(reached, mark.offset);
      do {
        const data = blocks.held(at, end) ?? (await blocks.read(at, end));
        yield { mark, data };
        if (data.byteLength === 0) break;
        at += data.byteLength;
      } while (at < end);
      reached = at;
    }
  } finally {
    await file.close();
  }
}

function createBlocks(file: FileHandle, segment: FoundSegment) {
  let block: Uint8Array = new Uint8Array(0);
  let blockAt = 0;
  /** The part of this range that is in memory; undefined if there is none. */
  function held(at: number, end: number): Uint8Array | undefined {
    if (at >= end) return new Uint8Array(0);
    if (at < blockAt || at >= blockAt + block.byteLength) return undefined;
    return block.subarray(at - blockAt, end - blockAt);
  }
  return {
    held,
    async read(at: number, end: number): Promise<Uint8Array> {
      const target = Buffer.allocUnsafe(Math.min(BLOCK_BYTES, segment.end - at));
      const { bytesRead } = await file.read(target, 0, target.byteLength, at - segment.begin);
      block = target.subarray(0, bytesRead);
      blockAt = at;
      return held(at, end) ?? new Uint8Array(0);
    },
  };
}

async function readMarkAt(dir: string, begin: number, index: number): Promise<readonly Mark[]> {
  const file = await openRegularFile(join(dir, marksName(begin)));
  if (file === null) return [];
  try {
    const bytes = Buffer.alloc(MARK_BYTES);
    const { bytesRead } = await file.read(bytes, 0, MARK_BYTES, index * MARK_BYTES);
    return readMarks(bytes.subarray(0, bytesRead));
  } finally {
    await file.close();
  }
}

/** Returns undefined for a missing file, because its segment was dropped. */
async function orUndefined<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return undefined;
    throw error;
  }
}
