import { randomBytes } from "node:crypto";
import { open, rename, unlink } from "node:fs/promises";

/**
 * Puts a file with this text in the place of `path` at once: a reader sees the old file or the new one, never a part.
 * The new file has `mode` (0600 by default) whatever the umask says. The folder must exist.
 */
export async function writeFileAtomic(
  path: string,
  text: string | Uint8Array,
  options: { readonly mode?: number } = {},
): Promise<void> {
  const draft = `${path}.${randomBytes(6).toString("hex")}.tmp`;
  const mode = options.mode ?? 0o600;
  const file = await open(draft, "wx", 0o600);
  try {
    try {
      await file.writeFile(text);
      await file.chmod(mode);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } catch (error) {
    await unlink(draft).catch(() => undefined); // the first failure is the one to tell
    throw error;
  }
}
