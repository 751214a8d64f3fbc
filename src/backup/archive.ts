import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { open, rm } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import { z } from "zod";
import { isErrno, PosternError } from "../core/errors.ts";

/** A file that goes into a backup. */
export interface Source {
  readonly name: string;
  readonly path: string;
}

/** An archived file. */
export type Part = Manifest["parts"][number];

/** Takes half as long as the default level, and produces a tenth more bytes. */
const compression = { level: 3 };

/**
 * Writes an archive to the new file `path`, of mode 0600, and syncs it. Missing sources are left
 * out; of a growing file, only its size at the start is read.
 *
 * @param last returns the last file of the archive, given all others
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
        if (!Buffer.isBuffer(chunk)) throw new TypeError("Expected bytes.");
        hash.update(chunk);
        left -= chunk.length;
        yield chunk;
      }
    }
    if (left !== 0) throw new Error(`${path} was truncated while it was read.`);
    yield Buffer.alloc(paddingOf(sizeBytes));
    return { name, sizeBytes, sha256: hash.digest("hex") };
  } finally {
    await file.close();
  }
}

/** A file of an archive. Its content can be read once, before the next file; unread content is skipped. */
export interface ArchivedFile {
  readonly name: string;
  readonly sizeBytes: number;
  readonly content: AsyncIterable<Buffer>;
}

/**
 * The files of the archive at `path`, each read when the caller requests it.
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
      if (done === true) throw unreadable("it is incomplete");
      if (!Buffer.isBuffer(value)) throw new TypeError("Expected bytes.");
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

/**
 * Archives are `tar` files (POSIX.1-2001, ustar), readable without Postern. Only regular files are written and read: no links,
 * folders or paths that lead elsewhere.
 */
export const blockBytes = 512;

const nameBytes = 100;
const sizeOffset = 124;
const sizeBytesLength = 12;
const checksumOffset = 148;
const checksumLength = 8;
const typeOffset = 156;
const magicOffset = 257;
const magic = "ustar\u000000";
/** The most that eleven octal digits hold; larger sizes are in base 256, as in GNU tar. */
const maxOctal = 8 ** 11 - 1;

/** A file in an archive. */
export interface TarEntry {
  readonly name: string;
  readonly sizeBytes: number;
  /** Seconds since the epoch. */
  readonly modifiedAt: number;
}

/** The block before a file's content. */
export function tarHeader({ name, sizeBytes, modifiedAt }: TarEntry): Buffer {
  if (Buffer.byteLength(name) > nameBytes) throw new Error(`The name ${name} is too long for an archive.`);
  const block = Buffer.alloc(blockBytes);
  block.write(name, 0);
  block.write("0000600\u0000", 100);
  block.write("0000000\u0000", 108);
  block.write("0000000\u0000", 116);
  if (sizeBytes <= maxOctal) block.write(octal(sizeBytes, sizeBytesLength), sizeOffset);
  else {
    block[sizeOffset] = 0x80;
    block.writeBigUInt64BE(BigInt(sizeBytes), sizeOffset + 4);
  }
  block.write(octal(modifiedAt, 12), 136);
  block.write("0", typeOffset);
  block.write(magic, magicOffset, "latin1");
  block.write(`${checksumOf(block).toString(8).padStart(6, "0")}\u0000 `, checksumOffset);
  return block;
}

/**
 * Reads a header; null for the end of the archive.
 * @throws PosternError `backup_unreadable`
 */
export function readTarHeader(block: Buffer): Pick<TarEntry, "name" | "sizeBytes"> | null {
  if (block.every((byte) => byte === 0)) return null;
  const written = Number.parseInt(textAt(block, checksumOffset, checksumLength), 8);
  if (written !== checksumOf(block)) throw unreadable("it has a damaged header");
  if (block.toString("latin1", typeOffset, typeOffset + 1) !== "0")
    throw unreadable("it contains an entry that is not a file");
  const sizeBytes =
    block[sizeOffset] === 0x80
      ? Number(block.readBigUInt64BE(sizeOffset + 4))
      : Number.parseInt(textAt(block, sizeOffset, sizeBytesLength), 8);
  if (!Number.isSafeInteger(sizeBytes)) throw unreadable("it has an invalid file size");
  return { name: textAt(block, 0, nameBytes), sizeBytes };
}

export function paddingOf(sizeBytes: number): number {
  return (blockBytes - (sizeBytes % blockBytes)) % blockBytes;
}

/** @param reason a part of a sentence */
export function unreadable(reason: string, cause?: unknown): PosternError {
  return new PosternError("backup_unreadable", `Cannot restore this backup: ${reason}.`, { cause });
}

function octal(value: number, length: number): string {
  return `${value.toString(8).padStart(length - 1, "0")}\u0000`;
}

function textAt(block: Buffer, offset: number, length: number): string {
  const text = block.toString("utf8", offset, offset + length);
  const end = text.indexOf("\u0000");
  return end === -1 ? text : text.slice(0, end);
}

/** The sum of all bytes, with the checksum itself as spaces. */
function checksumOf(block: Buffer): number {
  let sum = checksumLength * 0x20;
  for (const [at, byte] of block.entries()) {
    if (at < checksumOffset || at >= checksumOffset + checksumLength) sum += byte;
  }
  return sum;
}

/** The last file of a backup, with the hashes of all others. */
export const manifestName = "manifest.json";

/** Far more than hundreds of recordings need. */
export const maxManifestBytes = 16 * 1024 * 1024;

/** The only files that a backup can contain. */
export const partNameSchema = z
  .string()
  .regex(
    /^(store\.db|store\.jsonl|config\.json|key|gateway-id|recordings\/[0-9a-zA-Z-]{1,64}\/[0-9a-z][0-9a-z.-]{0,30})$/,
  );

/** The manifest of a backup. */
export const manifestSchema = z.object({
  format: z.literal("postern-backup"),
  formatVersion: z.int().min(1),
  /** The version of Postern that made it. */
  postern: z.string(),
  createdAt: z.iso.datetime(),
  /** `sqlite`: `store.db` is the file. `postgres`: `store.jsonl` holds the tables' rows. */
  store: z.enum(["sqlite", "postgres"]),
  /** The migrations that the store has, in order. */
  schema: z.array(z.string()).min(1).readonly(),
  withKey: z.boolean(),
  withRecordings: z.boolean(),
  parts: z.array(
    z.object({ name: partNameSchema, sizeBytes: z.int().min(0), sha256: z.string().regex(/^[0-9a-f]{64}$/) }),
  ),
});

export type Manifest = z.infer<typeof manifestSchema>;

/** The newest format that this version reads, and the one it writes. */
export const formatVersion = 1;
