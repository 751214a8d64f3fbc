import { randomBytes } from "node:crypto";
import { type FileHandle, open, rename, unlink } from "node:fs/promises";

/** How a file is written. */
export interface WriteOptions {
  /** Whatever the umask says. 0600 by default. */
  readonly mode?: number;
  /** Whether it survives a power failure, for a few milliseconds. True by default; false for what only a child process reads. */
  readonly durable?: boolean;
}

/** A file that lies complete beside the place it is meant for. */
export interface Draft {
  /** Puts it in its place. */
  commit(): Promise<void>;
  /** Removes it. */
  discard(): Promise<void>;
}

/** Writes a file beside `path`, to be put in its place at once or not at all. The folder must exist. */
export async function draftFile(path: string, text: string | Uint8Array, options: WriteOptions = {}): Promise<Draft> {
  const draft = `${path}.${randomBytes(6).toString("hex")}.tmp`;
  const discard = (): Promise<void> => unlink(draft).catch(() => undefined); // gone already, or its folder is
  const file = await open(draft, "wx", 0o600);
  try {
    await fill(file, text, options);
  } catch (error) {
    await discard();
    throw error;
  }
  return { commit: () => rename(draft, path), discard };
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

/** Puts a file with this text in the place of `path` at once: a reader sees the old file or the new one, never a part. */
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
