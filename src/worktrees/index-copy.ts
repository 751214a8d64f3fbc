import { open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { isErrno } from "../core/errors.ts";
import { openRegularFile } from "../platform/regular-file.ts";

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

async function copyFile(from: string, to: string): Promise<boolean> {
  const source = await openRegularFile(from, { followLinks: false });
  if (source === null) return false;
  try {
    const { size, mtimeMs } = await source.stat();
    if (size > maxIndexBytes) return false;
    const target = await open(to, "w", 0o600);
    try {
      const buffer = Buffer.alloc(chunkBytes);
      for (let at = 0; at < maxIndexBytes; ) {
        const { bytesRead } = await source.read(buffer, 0, chunkBytes, at);
        if (bytesRead === 0) break;
        await target.write(buffer, 0, bytesRead, at);
        at += bytesRead;
      }
      // Files that were changed in the second of the index are read by git, whatever else it knows of them: a younger copy would hide that.
      const writtenAt = Math.floor(mtimeMs / 1_000);
      await target.utimes(writtenAt, writtenAt);
    } finally {
      await target.close();
    }
    return true;
  } finally {
    await source.close();
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
