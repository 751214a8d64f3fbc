import { closeSync, mkdirSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { createMarkLog } from "./marks.ts";
import type { TerminalSize } from "./terminal-info.ts";

/** The output of one terminal on disk, and when it came: bounded, with absolute byte offsets, the oldest part dropped first. */
export interface RawLog {
  /** Folder of the segment files, for readers in other threads: see {@link segmentName}. */
  readonly dir: string;
  readonly segmentBytes: number;
  /** Bytes appended since the start. */
  readonly endOffset: number;
  /** The first byte that is still there. */
  readonly startOffset: number;
  /** False when the disk took it not: then the log holds nothing of before either, and goes on behind `data`. */
  append(data: Uint8Array): boolean;
  /** What follows comes to a terminal of another size. */
  resize(size: TerminalSize): void;
  /** Reads at `offset` into `target`; fewer bytes at the end of a segment, 0 at the end of the log. Undefined when they were dropped. */
  readAt(offset: number, target: Uint8Array): number | undefined;
  /** Closes the files, which are opened again when they are needed. */
  release(): void;
  /** Removes everything. */
  remove(): void;
}

/** Segments per log: dropping the oldest one loses at most this part of the bound. */
const SEGMENTS = 16;

/** Name of the segment that begins at `startOffset`. Segment n begins at n times the segment size. */
export function segmentName(startOffset: number): string {
  return `${String(startOffset).padStart(16, "0")}.raw`;
}

/**
 * Starts an empty log in the new folder `dir` (0700, files 0600) that never holds more than `maxBytes` of output, and little beside it
 * to tell when that came.
 */
export function createRawLog(
  dir: string,
  { maxBytes, clock, size }: { readonly maxBytes: number; readonly clock: Clock; readonly size: TerminalSize },
): RawLog {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const segmentBytes = Math.max(1, Math.floor(maxBytes / SEGMENTS));
  const marks = createMarkLog(dir, { clock, size, segmentBytes });
  /** Where each segment begins, oldest first, with its descriptor while somebody reads or writes it. */
  const segments = new Map<number, number | undefined>();
  let startOffset = 0;
  let endOffset = 0;

  function appendFile(): number {
    const begin = endOffset - (endOffset % segmentBytes);
    const open = segments.get(begin);
    if (open !== undefined) return open;
    release();
    while (segments.size >= SEGMENTS) dropOldest();
    const fd = openSync(join(dir, segmentName(begin)), segments.has(begin) ? "r+" : "wx+", 0o600);
    segments.set(begin, fd);
    return fd;
  }

  function readFile(begin: number): number | undefined {
    if (!segments.has(begin)) return undefined;
    const open = segments.get(begin);
    if (open !== undefined) return open;
    try {
      const fd = openSync(join(dir, segmentName(begin)), "r+");
      segments.set(begin, fd);
      return fd;
    } catch {
      return undefined; // removed from outside: as good as dropped
    }
  }

  function dropOldest(): void {
    const oldest = segments.entries().next();
    if (oldest.done) return;
    const [begin, fd] = oldest.value;
    segments.delete(begin);
    startOffset = begin + segmentBytes;
    if (fd !== undefined) closeSync(fd);
    rmSync(join(dir, segmentName(begin)), { force: true });
    marks.drop(begin);
  }

  function write(data: Uint8Array): void {
    for (let at = 0; at < data.byteLength; ) {
      const place = endOffset % segmentBytes;
      const length = Math.min(segmentBytes - place, data.byteLength - at);
      marks.note(endOffset - place, endOffset);
      const written = writeSync(appendFile(), data, at, length, place);
      at += written;
      endOffset += written;
    }
  }

  function release(): void {
    marks.release();
    for (const [begin, fd] of segments) {
      if (fd === undefined) continue;
      segments.set(begin, undefined);
      closeSync(fd);
    }
  }

  return {
    dir,
    segmentBytes,
    get endOffset() {
      return endOffset;
    },
    get startOffset() {
      return startOffset;
    },
    append(data) {
      const end = endOffset + data.byteLength;
      try {
        write(data);
        return true;
      } catch {
        while (segments.size > 0) dropOldest(); // a full disk gets back what the log had, and the program goes on
        endOffset = end;
        startOffset = end;
        return false;
      }
    },
    resize: (changed) => marks.resize(endOffset, changed),
    readAt(offset, target) {
      if (offset < startOffset) return undefined;
      if (offset >= endOffset) return 0;
      const begin = offset - (offset % segmentBytes);
      const fd = readFile(begin);
      return fd === undefined ? undefined : readSync(fd, target, 0, target.byteLength, offset - begin);
    },
    release,
    remove() {
      release();
      segments.clear();
      startOffset = endOffset;
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
