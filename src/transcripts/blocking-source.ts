import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { type LineSource, notOpened, openLineSource } from "./line-source.ts";
import { createLineSplitter } from "./line-splitter.ts";

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
  let open = true;
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
      if (open) closeSync(file);
      open = false;
    },
  };
}
