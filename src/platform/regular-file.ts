import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { isErrno } from "../core/errors.ts";

/**
 * Opens what somebody else put there, to be read: a regular file only, since a pipe or a device would keep its reader waiting for good.
 * @returns null when there is none that can be opened
 */
export async function openRegularFile(
  path: string,
  { followLinks = true }: { readonly followLinks?: boolean } = {},
): Promise<FileHandle | null> {
  const noFollow = followLinks ? 0 : constants.O_NOFOLLOW;
  let file: FileHandle;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | noFollow);
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR", "EISDIR", "EACCES", "ELOOP", "ENXIO")) return null;
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
 * Reads a small regular file whole.
 * @returns null when there is none that can be read, and `too_large` when it has more than `maxBytes`
 */
export async function readSmallFile(path: string, maxBytes: number): Promise<Buffer | "too_large" | null> {
  const file = await openRegularFile(path);
  if (file === null) return null;
  try {
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
