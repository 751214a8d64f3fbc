import { closeSync, mkdirSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { createMarkLog } from "./marks.ts";
import type { TerminalSize } from "./terminal-info.ts";

/** The output of one terminal on disk, with its times and absolute byte offsets. Its size is limited: the oldest part is dropped first. */
export type RawLog = ReturnType<typeof createRawLog>;

/** The maximum size is divided into this many segments, so that dropping the oldest loses only a small share of the output. */
const SEGMENTS = 16;

/** Name of the segment that begins at `startOffset`. Segment n begins at n times the segment size. */
export function segmentName(startOffset: number): string {
  return `${String(startOffset).padStart(16, "0")}.raw`;
}

/** Starts an empty log of at most `maxBytes` of output, with its time marks, in the new folder `dir` (0700, files 0600). */
export function createRawLog(
  dir: string,
  { maxBytes, clock, size }: { readonly maxBytes: number; readonly clock: Clock; readonly size: TerminalSize },
) {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const segmentBytes = Math.max(1, Math.floor(maxBytes / SEGMENTS));
  const marks = createMarkLog(dir, { clock, size, segmentBytes });
  /** The start of each segment, oldest first, with its descriptor while it is open. */
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
      return undefined; // someone else removed the file: treated as dropped
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

  /** Closes the files; they are opened again on demand. */
  function release(): void {
    marks.release();
    for (const [begin, fd] of segments) {
      if (fd === undefined) continue;
      segments.set(begin, undefined);
      closeSync(fd);
    }
  }

  return {
    /** Folder of the segment files, for other threads: see {@link segmentName}. */
    dir,
    segmentBytes,
    /** Bytes appended since the start. */
    get endOffset(): number {
      return endOffset;
    },
    /** The offset of the first byte that the log still holds. */
    get startOffset(): number {
      return startOffset;
    },
    /** False if writing failed; then the log is empty and continues after `data`. */
    append(data: Uint8Array): boolean {
      const end = endOffset + data.byteLength;
      try {
        write(data);
        return true;
      } catch {
        while (segments.size > 0) dropOldest(); // frees the disk; the program continues
        endOffset = end;
        startOffset = end;
        return false;
      }
    },
    /** Notes that output from here on goes to a terminal of this size. */
    resize: (changed: TerminalSize): void => marks.resize(endOffset, changed),
    /** Reads at `offset` into `target`. @returns the number of bytes: less at the end of a segment, 0 at the end of the log; undefined if that part was dropped */
    readAt(offset: number, target: Uint8Array): number | undefined {
      if (offset < startOffset) return undefined;
      if (offset >= endOffset) return 0;
      const begin = offset - (offset % segmentBytes);
      const fd = readFile(begin);
      return fd === undefined ? undefined : readSync(fd, target, 0, target.byteLength, offset - begin);
    },
    release,
    remove(): void {
      release();
      segments.clear();
      startOffset = endOffset;
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
