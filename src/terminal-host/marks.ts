import { closeSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { openRegularFileSync } from "../platform/regular-file.ts";
import type { TerminalSize } from "./terminal-info.ts";

/** Output from `offset` up to the next mark came at the time `at` (milliseconds since the epoch), to a terminal of this size. */
export interface Mark extends TerminalSize {
  readonly offset: number;
  readonly at: number;
}

/** Time and offset in 6 bytes each, columns and rows in 2. */
export const MARK_BYTES = 16;
/** The shortest interval between marks, which is the precision of playback. */
const INTERVAL_MS = 25;
/** The marks of a segment may take this share of its maximum size, plus a minimum. As they fill it, the interval grows. */
const SHARE = 1 / 16;
const MIN_MARKS = 64;
const SLOWDOWNS = 8;

/** The most marks of a segment of this size. */
export function maxMarksOf(segmentBytes: number): number {
  return MIN_MARKS + Math.floor((segmentBytes * SHARE) / MARK_BYTES);
}

/** Name of the marks of the segment that begins at `startOffset`. */
export function marksName(startOffset: number): string {
  return `${String(startOffset).padStart(16, "0")}.marks`;
}

/** All complete marks of a file. */
export function readMarks(file: Buffer): Mark[] {
  const marks: Mark[] = [];
  for (let at = 0; at + MARK_BYTES <= file.byteLength; at += MARK_BYTES) {
    marks.push({
      at: file.readUIntBE(at, 6),
      offset: file.readUIntBE(at + 6, 6),
      cols: file.readUInt16BE(at + 12),
      rows: file.readUInt16BE(at + 14),
    });
  }
  return marks;
}

/** The first mark of a file; undefined when there is none. */
export function readFirstMark(path: string): Mark | undefined {
  const fd = openRegularFileSync(path);
  if (fd === null) return undefined;
  try {
    const bytes = Buffer.alloc(MARK_BYTES);
    return readMarks(bytes.subarray(0, readSync(fd, bytes, 0, MARK_BYTES, 0)))[0];
  } finally {
    closeSync(fd);
  }
}

/** Writes the marks of a raw log in `dir`: a file per segment, which begins with the time and size at the segment's first byte. */
export function createMarkLog(
  dir: string,
  { clock, size: first, segmentBytes }: { readonly clock: Clock; readonly size: TerminalSize; segmentBytes: number },
) {
  const bytes = Buffer.alloc(MARK_BYTES);
  const maxMarks = maxMarksOf(segmentBytes);
  let size = first;
  let file: { readonly segment: number; fd: number | undefined; count: number } | undefined;
  let lastAt = 0;
  /** The clock's time at the last mark, or when the clock was set back. */
  let lastClock = 0;
  let intervalMs = INTERVAL_MS;

  /** A mark is never earlier than the previous one: after the clock was set back, time runs at half its pace until the clock catches up. */
  function write(offset: number, now: number): void {
    if (file === undefined || file.count >= maxMarks) return;
    const at = Math.max(now, lastAt + Math.floor(Math.max(0, now - lastClock) / 2));
    file.fd ??= openSync(join(dir, marksName(file.segment)), file.count === 0 ? "w" : "r+", 0o600);
    bytes.writeUIntBE(at, 0, 6);
    bytes.writeUIntBE(offset, 6, 6);
    bytes.writeUInt16BE(size.cols, 12);
    bytes.writeUInt16BE(size.rows, 14);
    writeSync(file.fd, bytes, 0, MARK_BYTES, file.count * MARK_BYTES);
    file.count++;
    lastAt = at;
    lastClock = now;
    intervalMs = INTERVAL_MS * 2 ** Math.floor((file.count / maxMarks) * SLOWDOWNS);
  }

  function release(): void {
    if (file?.fd === undefined) return;
    closeSync(file.fd);
    file.fd = undefined;
  }

  return {
    /** Notes that output came at `offset`, in the segment that begins at `segment`. @throws if writing fails */
    note(segment: number, offset: number): void {
      const now = clock.now();
      if (file?.segment === segment) {
        if (now < lastClock) lastClock = now;
        if (now - lastClock < intervalMs) return;
      } else {
        release();
        file = { segment, fd: undefined, count: 0 };
      }
      write(offset, now);
    },
    resize(offset: number, changed: TerminalSize): void {
      size = changed;
      try {
        write(offset, clock.now());
      } catch {
        // the next mark has the size
      }
    },
    drop(segment: number): void {
      if (file?.segment === segment) {
        release();
        file = undefined;
      }
      rmSync(join(dir, marksName(segment)), { force: true });
    },
    release,
  };
}
