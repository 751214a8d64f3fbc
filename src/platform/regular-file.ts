import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { isErrno } from "../core/errors.ts";

// Without O_NONBLOCK, opening a named pipe waits for a writer.
const withoutWaiting = constants.O_RDONLY | constants.O_NONBLOCK;
const notOpened = ["ENOENT", "ENOTDIR", "EISDIR", "EACCES", "ELOOP", "ENXIO"];

/**
 * Opens a regular file from an untrusted source: reading a pipe or a device could block forever.
 * @returns null when there is none that can be opened
 */
export async function openRegularFile(
  path: string,
  { followLinks = true }: { readonly followLinks?: boolean } = {},
): Promise<FileHandle | null> {
  const noFollow = followLinks ? 0 : constants.O_NOFOLLOW;
  let file: FileHandle;
  try {
    file = await open(path, withoutWaiting | noFollow);
  } catch (error) {
    if (isErrno(error, ...notOpened)) return null;
    throw error;
  }
  try {
    if ((await file.stat()).isFile()) return file;
  } catch (error) {
    await file.close();
    throw error;
  }
  await file.close();
  return null;
}

/**
 * Reads a small regular file.
 * @returns null when there is none that can be read, and `too_large` when it has more than `maxBytes`
 */
export async function readSmallFile(path: string, maxBytes: number): Promise<Buffer | "too_large" | null> {
  const file = await openRegularFile(path);
  if (file === null) return null;
  try {
    if ((await file.stat()).size > maxBytes) return "too_large";
    const buffer = Buffer.alloc(maxBytes + 1);
    let filled = 0;
    for (let bytesRead = 1; bytesRead > 0 && filled <= maxBytes; filled += bytesRead) {
      ({ bytesRead } = await file.read(buffer, filled, buffer.byteLength - filled, filled));
    }
    return filled > maxBytes ? "too_large" : buffer.subarray(0, filled);
  } finally {
    await file.close();
  }
}

/** Like {@link openRegularFile}, synchronous. @returns a descriptor */
export function openRegularFileSync(path: string): number | null {
  let file: number;
  try {
    file = openSync(path, withoutWaiting);
  } catch (error) {
    if (isErrno(error, ...notOpened)) return null;
    throw error;
  }
  if (fstatSync(file).isFile()) return file;
  closeSync(file);
  return null;
}

/** Like {@link readSmallFile}, synchronous. */
export function readSmallFileSync(path: string, maxBytes: number): Buffer | "too_large" | null {
  const file = openRegularFileSync(path);
  if (file === null) return null;
  try {
    if (fstatSync(file).size > maxBytes) return "too_large";
    const buffer = Buffer.alloc(maxBytes + 1);
    let filled = 0;
    for (let bytesRead = 1; bytesRead > 0 && filled <= maxBytes; filled += bytesRead) {
      bytesRead = readSync(file, buffer, filled, buffer.byteLength - filled, filled);
    }
    return filled > maxBytes ? "too_large" : buffer.subarray(0, filled);
  } finally {
    closeSync(file);
  }
}
