import { closeSync, openSync, writeFileSync, writeSync } from "node:fs";
import { zstdCompressSync } from "node:zlib";

const bufferBytes = 1024 * 1024;

/** Takes a transcript piece by piece. */
export interface LineSink {
  /** Bytes so far, before compression. */
  readonly sizeBytes: number;
  /** The pieces and a newline. */
  line(...pieces: readonly (string | Buffer)[]): void;
  /** The pieces alone. */
  raw(...pieces: readonly (string | Buffer)[]): void;
  end(): void;
}

// One for all files: they are written one after another.
const buffer = Buffer.allocUnsafe(bufferBytes);

/** Writes to a new file at `path`; compressed when its name ends in `.zst`. */
export function createLineSink(path: string): LineSink {
  const packed = path.endsWith(".zst");
  const parts: Buffer[] = [];
  const file = packed ? null : openSync(path, "w", 0o600);
  let filled = 0;
  let written = 0;

  function write(bytes: Buffer): void {
    written += bytes.length;
    if (file === null) parts.push(Buffer.from(bytes));
    else writeSync(file, bytes);
  }

  function flush(): void {
    if (filled > 0) write(buffer.subarray(0, filled));
    filled = 0;
  }

  function add(piece: string | Buffer): void {
    const most = typeof piece === "string" ? piece.length * 3 : piece.length;
    if (filled + most > bufferBytes) flush();
    if (most > bufferBytes) write(typeof piece === "string" ? Buffer.from(piece) : piece);
    else filled += typeof piece === "string" ? buffer.write(piece, filled) : piece.copy(buffer, filled);
  }

  return {
    get sizeBytes() {
      return written + filled;
    },
    line(...pieces) {
      for (const piece of pieces) add(piece);
      add("\n");
    },
    raw(...pieces) {
      for (const piece of pieces) add(piece);
    },
    end() {
      flush();
      if (file === null) writeFileSync(path, zstdCompressSync(Buffer.concat(parts)), { mode: 0o600 });
      else closeSync(file);
    },
  };
}
