import { closeSync, mkdirSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";

/** The output of one terminal on disk: bounded, with absolute byte offsets, the oldest part dropped first. */
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
  /** Reads at `offset` into `target`; fewer bytes at the end of a segment, 0 at the end of the log. Undefined when they were dropped. */
  readAt(offset: number, target: Uint8Array): number | undefined;
  /** Closes the files; they stay. */
  close(): void;
  /** Closes and removes everything. */
  remove(): void;
}

/** Segments per log: dropping the oldest one loses at most this part of the bound. */
const SEGMENTS = 16;

/** Name of the segment that begins at `startOffset`. Segment n begins at n times the segment size. */
export function segmentName(startOffset: number): string {
  return `${String(startOffset).padStart(16, "0")}.raw`;
}

/** Starts an empty log in the new folder `dir` (0700, files 0600) that never holds more than `maxBytes`. */
export function createRawLog(dir: string, maxBytes: number): RawLog {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const segmentBytes = Math.max(1, Math.floor(maxBytes / SEGMENTS));
  const files = new Map<number, number>();
  let startOffset = 0;
  let endOffset = 0;
  let closed = false;

  function appendFile(): number {
    const begin = endOffset - (endOffset % segmentBytes);
    const open = files.get(begin);
    if (open !== undefined) return open;
    while (files.size >= SEGMENTS) dropOldest();
    const fd = openSync(join(dir, segmentName(begin)), "wx+", 0o600);
    files.set(begin, fd);
    return fd;
  }

  function dropOldest(): void {
    const oldest = files.entries().next();
    if (oldest.done) return;
    const [begin, fd] = oldest.value;
    files.delete(begin);
    startOffset = begin + segmentBytes;
    closeSync(fd);
    rmSync(join(dir, segmentName(begin)), { force: true });
  }

  function write(data: Uint8Array): void {
    for (let at = 0; at < data.byteLength; ) {
      const place = endOffset % segmentBytes;
      const length = Math.min(segmentBytes - place, data.byteLength - at);
      const written = writeSync(appendFile(), data, at, length, place);
      at += written;
      endOffset += written;
    }
  }

  function close(): void {
    if (closed) return;
    closed = true;
    for (const fd of files.values()) closeSync(fd);
    files.clear();
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
        while (files.size > 0) dropOldest(); // a full disk gets back what the log had, and the program goes on
        endOffset = end;
        startOffset = end;
        return false;
      }
    },
    readAt(offset, target) {
      if (offset < startOffset) return undefined;
      if (offset >= endOffset) return 0;
      const begin = offset - (offset % segmentBytes);
      const fd = files.get(begin);
      return fd === undefined ? undefined : readSync(fd, target, 0, target.byteLength, offset - begin);
    },
    close,
    remove() {
      close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
