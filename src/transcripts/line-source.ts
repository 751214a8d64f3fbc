import { closeSync, constants, createReadStream, fstatSync, openSync, readSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { pipeline } from "node:stream";
import { createZstdDecompress } from "node:zlib";
import { isErrno, PosternError } from "../core/errors.ts";
import { isUuid } from "../core/ids.ts";
import { parseLine, stringAt } from "./json-fields.ts";

/** Large enough that calls cost nothing, small enough for the cache and the event loop. */
const chunkBytes = 256 * 1024;
/** A compressed transcript is read up to here. */
const maxDecompressedBytes = 1024 * 1024 * 1024;

/** Identifies a file. */
export interface FileStamp {
  readonly dev: number;
  readonly ino: number;
  readonly sizeBytes: number;
  readonly modifiedMs: number;
}

/** An open transcript. Offsets count decompressed bytes. */
export interface LineSource {
  readonly stamp: FileStamp;
  /** Whether reading from an offset costs only what is read. */
  readonly seekable: boolean;
  /** Passes on the complete lines from `from` to offset `to`, or to the end; an unterminated last line does not count. */
  lines(from: ScanPosition, to: number | null, sink: LineSink): Promise<ScanPosition>;
  /** The bytes of a range; fewer at the end of the file. */
  bytes(start: number, length: number): Promise<Buffer>;
  close(): Promise<void>;
}

/**
 * Opens a transcript, plain or compressed (`.zst`).
 * @returns null if there is no such regular file, or, after calling `onForbidden`, if it may not be read
 * @throws PosternError `transcript_unreadable` for other failures, such as too many open files
 */
export async function openLineSource(path: string, onForbidden: () => void): Promise<LineSource | null> {
  let file: FileHandle;
  try {
    // Without O_NONBLOCK a named pipe would block a thread forever.
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    return notOpened(error, path, onForbidden);
  }
  try {
    const stat = await file.stat();
    if (!stat.isFile()) {
      await file.close();
      return null;
    }
    const stamp = { dev: stat.dev, ino: stat.ino, sizeBytes: stat.size, modifiedMs: stat.mtimeMs };
    return path.endsWith(".zst") ? compressedSource(file, stamp, path) : plainSource(file, stamp);
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** The result of a failed open. @see openLineSource */
function notOpened(error: unknown, path: string, onForbidden: () => void): null {
  if (isErrno(error, "ENOENT", "ENOTDIR", "ENXIO", "ELOOP", "ENAMETOOLONG")) return null;
  if (!isErrno(error, "EACCES", "EPERM")) {
    throw new PosternError("transcript_unreadable", `Cannot read the transcript ${path}.`, { cause: error });
  }
  onForbidden();
  return null;
}

function plainSource(file: FileHandle, stamp: FileStamp): LineSource {
  return {
    stamp,
    seekable: true,
    async lines(from, to, sink) {
      const end = Math.min(to ?? stamp.sizeBytes, stamp.sizeBytes);
      const splitter = createLineSplitter(sink, from);
      const size = Math.max(1, Math.min(chunkBytes, end - from.offset));
      // Reads one chunk while the other is processed.
      let [filling, spare] = [Buffer.allocUnsafe(size), Buffer.alloc(0)];
      const fill = (chunk: Buffer, at: number) => file.read(chunk, 0, Math.min(size, end - at), at);
      let at = from.offset;
      let next = at < end ? fill(filling, at) : null;
      while (next !== null) {
        const { bytesRead } = await next;
        const filled = filling.subarray(0, bytesRead);
        at += bytesRead;
        [filling, spare] = [spare.length > 0 || at >= end ? spare : Buffer.allocUnsafe(size), filling];
        next = bytesRead > 0 && at < end ? fill(filling, at) : null;
        splitter.push(filled);
      }
      return splitter.position();
    },
    async bytes(start, length) {
      const buffer = Buffer.alloc(length);
      const { bytesRead } = await file.read(buffer, 0, length, start);
      return buffer.subarray(0, bytesRead);
    },
    close: () => file.close(),
  };
}

function compressedSource(file: FileHandle, stamp: FileStamp, path: string): LineSource {
  return {
    stamp,
    seekable: false,
    async lines(from, to, sink) {
      const end = Math.min(to ?? maxDecompressedBytes, maxDecompressedBytes);
      const splitter = createLineSplitter(sink, from);
      let at = 0;
      const packed = createReadStream(path, { highWaterMark: chunkBytes });
      const plain = pipeline(packed, createZstdDecompress({ chunkSize: chunkBytes }), () => undefined);
      try {
        for await (const piece of plain) {
          if (!Buffer.isBuffer(piece)) break;
          const wanted = piece.subarray(Math.max(0, from.offset - at), Math.max(0, end - at));
          if (wanted.length > 0) splitter.push(wanted);
          at += piece.length;
          if (at >= end) break;
        }
        if (at >= maxDecompressedBytes) sink.skipped(splitter.position().offset);
      } catch {
        sink.skipped(splitter.position().offset); // damaged or truncated: the transcript ends here
      } finally {
        plain.destroy();
      }
      return splitter.position();
    },
    bytes: async () => Buffer.alloc(0),
    close: () => file.close(),
  };
}

/** Shared by all files: lines are processed before the next read. */
const buffer = Buffer.allocUnsafe(256 * 1024);

/**
 * {@link openLineSource} with blocking calls, for a process that reads many transcripts and serves no requests: small files take a tenth of
 * the time.
 * @throws PosternError `transcript_unreadable`
 */
export async function openBlockingSource(path: string, onForbidden: () => void): Promise<LineSource | null> {
  if (path.endsWith(".zst")) return openLineSource(path, onForbidden);
  let file: number;
  try {
    // Without O_NONBLOCK a named pipe would block the process forever.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    return notOpened(error, path, onForbidden);
  }
  const source = sourceOf(file);
  if (source === null) closeSync(file);
  return source;
}

function sourceOf(file: number): LineSource | null {
  const stat = fstatSync(file);
  if (!stat.isFile()) return null;
  const stamp = { dev: stat.dev, ino: stat.ino, sizeBytes: stat.size, modifiedMs: stat.mtimeMs };
  let isOpen = true;
  return {
    stamp,
    seekable: true,
    async lines(from, to, sink) {
      const end = Math.min(to ?? stamp.sizeBytes, stamp.sizeBytes);
      const splitter = createLineSplitter(sink, from);
      for (let at = from.offset; at < end; ) {
        const bytes = readSync(file, buffer, 0, Math.min(buffer.length, end - at), at);
        if (bytes === 0) break; // it shrank
        at += bytes;
        splitter.push(buffer.subarray(0, bytes));
      }
      return splitter.position();
    },
    async bytes(start, length) {
      const bytes = Buffer.alloc(length);
      return bytes.subarray(0, readSync(file, bytes, 0, length, start));
    },
    async close() {
      if (isOpen) closeSync(file);
      isOpen = false;
    },
  };
}

/** Longer lines are skipped and counted, to bound memory; no agent writes them. */
export const maxLineBytes = 32 * 1024 * 1024;

const NEWLINE = 0x0a;

/** Receives the lines of a transcript in order. */
export interface LineSink {
  /** A line without its newline, and its offset. The bytes are valid until `pause`. */
  line(bytes: Buffer, offset: number): void;
  /** The line at `offset` was not read: too long, or the archive is damaged. */
  skipped(offset: number): void;
  /** The bytes of all lines so far are about to be overwritten. */
  pause(): void;
}

/** The offset after the last complete line, and whether a line over the limit has started there. */
export interface ScanPosition {
  readonly offset: number;
  readonly insideTooLong: boolean;
}

/** Splits chunks into lines and buffers the last one, up to the limit. */
function createLineSplitter(sink: LineSink, from: ScanPosition) {
  let lineStart = from.offset;
  let insideTooLong = from.insideTooLong;
  let waiting: Buffer[] = [];
  let waitingBytes = 0;

  function keep(rest: Buffer): void {
    if (rest.length === 0) return;
    if (insideTooLong || waitingBytes + rest.length > maxLineBytes) {
      lineStart += waitingBytes + rest.length;
      waiting = [];
      waitingBytes = 0;
      insideTooLong = true;
      return;
    }
    waiting.push(Buffer.from(rest)); // a copy: the chunk will be overwritten
    waitingBytes += rest.length;
  }

  function endLine(part: Buffer): void {
    const bytes = waitingBytes + part.length;
    if (insideTooLong || bytes > maxLineBytes) sink.skipped(lineStart);
    else sink.line(waitingBytes === 0 ? part : Buffer.concat([...waiting, part], bytes), lineStart);
    lineStart += bytes + 1;
    insideTooLong = false;
    waiting = [];
    waitingBytes = 0;
  }

  return {
    push(chunk: Buffer): void {
      let at = 0;
      for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, at)) {
        endLine(chunk.subarray(at, end));
        at = end + 1;
      }
      keep(chunk.subarray(at));
      sink.pause();
    },
    position: (): ScanPosition => ({ offset: lineStart, insideTooLong }),
  };
}

/** Longer than any first line, which holds an id, a hash and two times. */
const maxHeadBytes = 4_096;

/**
 * The session id from the first line of a transcript whose name has only its start: a UUID in `sessionId`. Null for any other file, and
 * while the line is incomplete. Synchronous, because it reads only some hundred bytes.
 */
export function headId(path: string, beginning: string | null): string | null {
  const [head] = firstBytes(path).toString("utf8").split("\n", 2);
  const line = head === undefined ? null : parseLine(Buffer.from(head));
  const id = line === null ? null : stringAt(line, "sessionId");
  return id !== null && isUuid(id) && beginning !== null && id.startsWith(beginning) ? id : null;
}

function firstBytes(path: string): Buffer {
  let file: number;
  try {
    // A named pipe must not block.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR", "EACCES", "ELOOP", "ENXIO", "ENAMETOOLONG")) return Buffer.alloc(0);
    throw error;
  }
  try {
    const bytes = Buffer.alloc(maxHeadBytes);
    return bytes.subarray(0, readSync(file, bytes, 0, maxHeadBytes, 0));
  } catch (error) {
    if (isErrno(error, "EISDIR", "EAGAIN", "EIO", "ESPIPE")) return Buffer.alloc(0);
    throw error;
  } finally {
    closeSync(file);
  }
}
