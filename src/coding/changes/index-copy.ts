import { constants } from "node:fs";
import { open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { isErrno } from "../../core/errors.ts";

/** An index of a million files takes some 100 MB. */
const maxIndexBytes = 256 * 1024 * 1024;
/** A split index lies in two files; one before it may be left over. */
const maxShared = 4;
const sharedName = /^sharedindex\.(?:[0-9a-f]{40}|[0-9a-f]{64})$/;
const chunkBytes = 1024 * 1024;

/**
 * Copies a checkout's index into a git dir of ours, with what git knows of the files' times, so that unchanged ones need not be read.
 * @returns false when there is none that could be copied
 */
export async function copyIndex(gitDir: string, folder: string): Promise<boolean> {
  if (!(await copyFile(join(gitDir, "index"), join(folder, "index")))) return false;
  for (const name of (await namesIn(gitDir)).filter((each) => sharedName.test(each)).slice(0, maxShared)) {
    await copyFile(join(gitDir, name), join(folder, name));
  }
  return true;
}

/** Only a regular file: a pipe or a device would never end. */
async function copyFile(from: string, to: string): Promise<boolean> {
  const source = await openOrNull(from);
  if (source === null) return false;
  try {
    const stats = await source.stat();
    if (!stats.isFile() || stats.size > maxIndexBytes) return false;
    const target = await open(to, "w", 0o600);
    try {
      const buffer = Buffer.alloc(chunkBytes);
      for (let at = 0; at < maxIndexBytes; ) {
        const { bytesRead } = await source.read(buffer, 0, chunkBytes, at);
        if (bytesRead === 0) break;
        await target.write(buffer, 0, bytesRead, at);
        at += bytesRead;
      }
    } finally {
      await target.close();
    }
    return true;
  } finally {
    await source.close();
  }
}

async function openOrNull(path: string) {
  try {
    return await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR", "EACCES", "ELOOP", "ENXIO", "EISDIR")) return null;
    throw error;
  }
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR", "EACCES")) return [];
    throw error;
  }
}
