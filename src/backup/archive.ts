import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { open, rm } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import { isErrno } from "../core/errors.ts";
import type { Manifest } from "./manifest.ts";
import { blockBytes, paddingOf, readTarHeader, tarHeader, unreadable } from "./tar.ts";

/** A file that goes into a backup. */
export interface Source {
  readonly name: string;
  readonly path: string;
}

/** What became of a file. */
export type Part = Manifest["parts"][number];

/** Half of the time of the usual level, for a tenth more bytes. */
const compression = { level: 3 };

/**
 * Writes an archive to the new file `path`, of mode 0600, and syncs it. A source that is gone meanwhile is left out; of one that grows, what
 * it had when its turn came is taken.
 *
 * @param last gives the archive's last file, when all others are in
 */
export async function writeArchive(
  path: string,
  sources: readonly Source[],
  last: (parts: readonly Part[]) => { readonly name: string; readonly text: string },
): Promise<void> {
  const modifiedAt = Math.floor(Date.now() / 1000);
  async function* bytes(): AsyncGenerator<Buffer, void> {
    const parts: Part[] = [];
    for (const source of sources) {
      const part = yield* fileBytes(source, modifiedAt);
      if (part !== null) parts.push(part);
    }
    const { name, text } = last(parts);
    const content = Buffer.from(text);
    yield tarHeader({ name, sizeBytes: content.length, modifiedAt });
    yield content;
    yield Buffer.alloc(paddingOf(content.length) + 2 * blockBytes);
  }
  const file = await open(path, "wx", 0o600);
  try {
    await pipeline(Readable.from(bytes()), createGzip(compression), file.createWriteStream({ flush: true }));
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
}

async function* fileBytes({ name, path }: Source, modifiedAt: number): AsyncGenerator<Buffer, Part | null> {
  const file = await open(path).catch((error: unknown) => {
    if (isErrno(error, "ENOENT")) return null; // removed since the folder was read
    throw error;
  });
  if (file === null) return null;
  try {
    const { size: sizeBytes } = await file.stat();
    const hash = createHash("sha256");
    let left = sizeBytes;
    yield tarHeader({ name, sizeBytes, modifiedAt });
    if (left > 0) {
      for await (const chunk of file.createReadStream({ end: sizeBytes - 1, autoClose: false })) {
        if (!Buffer.isBuffer(chunk)) throw new TypeError("A file's bytes are needed.");
        hash.update(chunk);
        left -= chunk.length;
        yield chunk;
      }
    }
    if (left !== 0) throw new Error(`${path} became shorter while it was read.`);
    yield Buffer.alloc(paddingOf(sizeBytes));
    return { name, sizeBytes, sha256: hash.digest("hex") };
  } finally {
    await file.close();
  }
}

/** A file of an archive. Its content is read once, before the next file is asked for; what is not read is passed over. */
export interface ArchivedFile {
  readonly name: string;
  readonly sizeBytes: number;
  readonly content: AsyncIterable<Buffer>;
}

/**
 * The files of the archive at `path`, read as they are taken.
 * @throws PosternError `backup_unreadable`
 */
export async function* readArchive(path: string): AsyncGenerator<ArchivedFile, void> {
  const source = createReadStream(path);
  const unzipped = source.pipe(createGunzip());
  source.on("error", (error) => unzipped.destroy(error));
  const reader = createReader(unzipped);
  try {
    for (;;) {
      const header = readTarHeader(await reader.take(blockBytes));
      if (header === null) return;
      const content = reader.next(header.sizeBytes);
      yield { ...header, content };
      for await (const _ of content); // what was not read
      await reader.take(paddingOf(header.sizeBytes));
    }
  } finally {
    source.destroy();
    unzipped.destroy();
  }
}

function createReader(source: AsyncIterable<unknown>): {
  take(bytes: number): Promise<Buffer>;
  next(bytes: number): AsyncGenerator<Buffer, void>;
} {
  const chunks: AsyncIterator<unknown, unknown> = source[Symbol.asyncIterator]();
  let rest: Buffer = Buffer.alloc(0);

  async function* next(bytes: number): AsyncGenerator<Buffer, void> {
    let left = bytes;
    while (left > 0) {
      if (rest.length === 0) rest = await nextChunk();
      const piece = rest.subarray(0, left);
      rest = rest.subarray(piece.length);
      left -= piece.length;
      yield piece;
    }
  }

  async function nextChunk(): Promise<Buffer> {
    try {
      const { done, value } = await chunks.next();
      if (done === true) throw unreadable("it ends too early");
      if (!Buffer.isBuffer(value)) throw new TypeError("A file's bytes are needed.");
      return value;
    } catch (error) {
      if (error instanceof Error && "code" in error && String(error.code).startsWith("Z_")) {
        throw unreadable("it is damaged or not an archive", error);
      }
      throw error;
    }
  }

  return {
    next,
    async take(bytes) {
      const pieces: Buffer[] = [];
      for await (const piece of next(bytes)) pieces.push(piece);
      return Buffer.concat(pieces);
    },
  };
}
