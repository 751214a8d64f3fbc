import { type FileHandle, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { isErrno } from "../core/errors.ts";
import { openRegularFile, readSmallFile } from "../platform/regular-file.ts";
import { DEFAULT_RAW_LOG_MAX_BYTES } from "./host-options.ts";
import { MARK_BYTES, type Mark, marksName, maxMarksOf, readMarks } from "./marks.ts";
import { segmentName } from "./raw-log.ts";

/** One segment of a raw log, as another process finds it. */
export interface FoundSegment {
  /** Where it begins; a log that had a hole may hold less: see its first mark. */
  readonly begin: number;
  readonly first: Mark;
  /** Where it ended when it was looked at. */
  readonly end: number;
}

/** Output between two marks, or the part of it that was read at once. */
export interface RecordedPiece {
  readonly mark: Mark;
  readonly data: Uint8Array;
}

const BLOCK_BYTES = 64 * 1024;
/** No segment is larger than a whole log: what is, is no segment, but may take for ever to read. */
const MAX_SEGMENT_BYTES = DEFAULT_RAW_LOG_MAX_BYTES;
const MAX_MARKS_BYTES = maxMarksOf(MAX_SEGMENT_BYTES) * MARK_BYTES;
const MARKS_NAME = /^(\d{16})\.marks$/;

/** The segments in `dir`, oldest first; none when there is no such folder. */
export async function findSegments(dir: string): Promise<readonly FoundSegment[]> {
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

/** The last mark of a segment. */
export async function lastMark(dir: string, { begin, first }: FoundSegment): Promise<Mark> {
  const file = await orUndefined(stat(join(dir, marksName(begin))));
  const count = Math.floor((file?.size ?? 0) / MARK_BYTES);
  const [last] = await readMarkAt(dir, begin, Math.max(0, count - 1));
  return last ?? first;
}

/**
 * The output of one segment, cut at its marks: at least one piece for each mark, empty when only the size changed. Nothing when the
 * segment was dropped meanwhile.
 */
export async function* readPieces(dir: string, segment: FoundSegment): AsyncGenerator<RecordedPiece> {
  const file = await openRegularFile(join(dir, segmentName(segment.begin)));
  if (file === null) return;
  try {
    const bytes = await readSmallFile(join(dir, marksName(segment.begin)), MAX_MARKS_BYTES);
    if (!Buffer.isBuffer(bytes)) return;
    const marks = readMarks(bytes);
    const blocks = createBlocks(file, segment);
    let reached = 0; // marks that lead back would have the same output read again and again
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

interface Blocks {
  /** What is in memory of this range; undefined when that is nothing. */
  held(at: number, end: number): Uint8Array | undefined;
  read(at: number, end: number): Promise<Uint8Array>;
}

function createBlocks(file: FileHandle, segment: FoundSegment): Blocks {
  let block: Uint8Array = new Uint8Array(0);
  let blockAt = 0;
  function held(at: number, end: number): Uint8Array | undefined {
    if (at >= end) return new Uint8Array(0);
    if (at < blockAt || at >= blockAt + block.byteLength) return undefined;
    return block.subarray(at - blockAt, end - blockAt);
  }
  return {
    held,
    async read(at, end) {
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

/** What is not there any more was dropped. */
async function orUndefined<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return undefined;
    throw error;
  }
}
