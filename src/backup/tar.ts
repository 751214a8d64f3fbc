import { PosternError } from "../core/errors.ts";

/**
 * The form of an archive is that of `tar` (POSIX.1-2001, ustar), so that anyone can look into a backup without Postern. We write
 * regular files only, and read only what we write: no links, no folders, no names that lead elsewhere.
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
/** What eleven octal digits hold; larger sizes are written in base 256, as GNU tar does. */
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
 * What a header says; null for the end of the archive.
 * @throws PosternError `backup_unreadable`
 */
export function readTarHeader(block: Buffer): Pick<TarEntry, "name" | "sizeBytes"> | null {
  if (block.every((byte) => byte === 0)) return null;
  const written = Number.parseInt(textAt(block, checksumOffset, checksumLength), 8);
  if (written !== checksumOf(block)) throw unreadable("a header in it is damaged");
  if (block.toString("latin1", typeOffset, typeOffset + 1) !== "0") throw unreadable("it holds what is no file");
  const sizeBytes =
    block[sizeOffset] === 0x80
      ? Number(block.readBigUInt64BE(sizeOffset + 4))
      : Number.parseInt(textAt(block, sizeOffset, sizeBytesLength), 8);
  if (!Number.isSafeInteger(sizeBytes)) throw unreadable("a size in it is no number");
  return { name: textAt(block, 0, nameBytes), sizeBytes };
}

/** Zeros from the end of a content to the next block. */
export function paddingOf(sizeBytes: number): number {
  return (blockBytes - (sizeBytes % blockBytes)) % blockBytes;
}

/** @param why a part of a sentence */
export function unreadable(why: string, cause?: unknown): PosternError {
  return new PosternError("backup_unreadable", `This is no backup that can be restored: ${why}.`, { cause });
}

function octal(value: number, length: number): string {
  return `${value.toString(8).padStart(length - 1, "0")}\u0000`;
}

function textAt(block: Buffer, offset: number, length: number): string {
  const text = block.toString("utf8", offset, offset + length);
  const end = text.indexOf("\u0000");
  return end === -1 ? text : text.slice(0, end);
}

/** The sum of all bytes, those of the checksum itself taken for spaces. */
function checksumOf(block: Buffer): number {
  let sum = checksumLength * 0x20;
  for (const [at, byte] of block.entries()) {
    if (at < checksumOffset || at >= checksumOffset + checksumLength) sum += byte;
  }
  return sum;
}
