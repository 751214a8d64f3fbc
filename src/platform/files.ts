import { randomBytes } from "node:crypto";
import { type FileHandle, open, rename, unlink } from "node:fs/promises";

interface WriteOptions {
  /** Independent of the umask; 0600 by default. */
  readonly mode?: number;
  /** Whether to sync the file, which takes a few milliseconds, so that it survives a power failure. True by default. */
  readonly durable?: boolean;
}

/** Writes a complete file next to `path`, which `commit` renames to `path` and `discard` removes. The folder must exist. */
export async function draftFile(path: string, text: string | Uint8Array, options: WriteOptions = {}) {
  const draft = `${path}.${randomBytes(6).toString("hex")}.tmp`;
  const discard = (): Promise<void> => unlink(draft).catch(() => undefined); // already removed
  const file = await open(draft, "wx", 0o600);
  try {
    await fill(file, text, options);
  } catch (error) {
    await discard();
    throw error;
  }
  return { commit: (): Promise<void> => rename(draft, path), discard };
}

async function fill(file: FileHandle, text: string | Uint8Array, options: WriteOptions): Promise<void> {
  try {
    await file.writeFile(text);
    await file.chmod(options.mode ?? 0o600);
    if (options.durable ?? true) await file.sync();
  } finally {
    await file.close();
  }
}

/** Replaces the file at `path`: a reader sees the old file or the new one, never a part. */
export async function writeFileAtomic(
  path: string,
  text: string | Uint8Array,
  options: WriteOptions = {},
): Promise<void> {
  const draft = await draftFile(path, text, options);
  try {
    await draft.commit();
  } catch (error) {
    await draft.discard();
    throw error;
  }
}
