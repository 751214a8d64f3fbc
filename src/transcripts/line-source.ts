import { closeSync, constants, createReadStream, fstatSync, openSync, readSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { pipeline } from "node:stream";
import { createZstdDecompress } from "node:zlib";
import { isErrno, PosternError } from "../core/errors.ts";
import { isUuid } from "../core/ids.ts";
import { parseLine, stringAt } from "./json-fields.ts";

/** Large enough that the calls cost nothing, small enough to stay in the cache and to keep the event loop free. */
const chunkBytes = 256 * 1024;
/** A compressed transcript is read no further than this. */
const maxDecompressedBytes = 1024 * 1024 * 1024;

/** Which file it was, to know it again. */
export interface FileStamp {
  readonly dev: number;
  readonly ino: number;
  readonly sizeBytes: number;
  readonly modifiedMs: number;
}

/** An open transcript. Offsets count decompressed bytes. */
export interface LineSource {
  readonly stamp: FileStamp;
  /** Whether lines can be read from any offset at no more than their own cost. */
  readonly seekable: boolean;
  /** Hands over the complete lines from `from` to offset `to`, or to the end; what comes after the last newline is no line yet. */
  lines(from: ScanPosition, to: number | null, sink: LineSink): Promise<ScanPosition>;
  /** The bytes of a range, for comparisons; shorter at the end of the file. */
  bytes(start: number, length: number): Promise<Buffer>;
  close(): Promise<void>;
}

/**
 * Opens a transcript, plain or compressed by zstd (`.zst`).
 * @returns null when there is no such regular file, and, after `onForbidden`, when there is one that may not be read.
 * @throws PosternError `transcript_unreadable` when it cannot be read for another reason, such as too many open files.
 */
export async function openLineSource(path: string, onForbidden: () => void): Promise<LineSource | null> {
  let file: FileHandle;
  try {
    // Without O_NONBLOCK a named pipe in the place of a transcript would hold a thread for ever.
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

/** What opening comes to that failed. @see openLineSource */
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
      // One chunk is read while the other is looked at.
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
        sink.skipped(splitter.position().offset); // damaged or cut: what came before is the transcript
      } finally {
        plain.destroy();
      }
      return splitter.position();
    },
    bytes: async () => Buffer.alloc(0),
    close: () => file.close(),
  };
}

/** One buffer for all files of a process: nothing else runs between a read and the end of its lines. */
const buffer = Buffer.allocUnsafe(256 * 1024);

/**
 * The same as {@link openLineSource}, for a process that reads many transcripts and answers nobody meanwhile: calls that wait for the disk
 * cost a small file a tenth of what the others do. A compressed one is opened as there.
 * @throws PosternError `transcript_unreadable`
 */
export async function openBlockingSource(path: string, onForbidden: () => void): Promise<LineSource | null> {
  if (path.endsWith(".zst")) return openLineSource(path, onForbidden);
  let file: number;
  try {
    // Without O_NONBLOCK a named pipe in the place of a transcript would hold the process for ever.
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
        if (bytes === 0) break; // it shrank since
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

/** Lines longer than this are skipped and counted: no agent writes them, and one must not fill the memory. */
export const maxLineBytes = 32 * 1024 * 1024;

const NEWLINE = 0x0a;

/** Gets the lines of a transcript in order. */
export interface LineSink {
  /** One line without its newline, and the offset of its first byte. The bytes are only valid during the call or until `pause`. */
  line(bytes: Buffer, offset: number): void;
  /** The line at `offset` was not read: it is over the limit, or the archive is damaged there. */
  skipped(offset: number): void;
  /** The bytes of all lines so far are about to be overwritten. */
  pause(): void;
}

/** Where a scan stands: the offset after the last complete line, and whether what follows belongs to a line over the limit. */
export interface ScanPosition {
  readonly offset: number;
  readonly insideTooLong: boolean;
}

/** Cuts chunks into lines. What is left of the last line waits, up to the limit, for the next chunk. */
export interface LineSplitter {
  push(chunk: Buffer): void;
  position(): ScanPosition;
}

/** A splitter that goes on where `from` stands. */
export function createLineSplitter(sink: LineSink, from: ScanPosition): LineSplitter {
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
    waiting.push(Buffer.from(rest)); // a copy: the chunk is the reader's and will be overwritten
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
    push(chunk) {
      let at = 0;
      for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, at)) {
        endLine(chunk.subarray(at, end));
        at = end + 1;
      }
      keep(chunk.subarray(at));
      sink.pause();
    },
    position: () => ({ offset: lineStart, insideTooLong }),
  };
}

/** Longer than any first line that was seen, which holds an id, a hash and two times. */
const maxHeadBytes = 4_096;

/**
 * The id of the session whose transcript has only its beginning in its name: `sessionId` of the first line, a UUID that begins so. Null
 * for another file, one that cannot be read, and one whose first line is not complete yet. Synchronous: some hundred bytes.
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
    // What is no file must not make anybody wait.
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
