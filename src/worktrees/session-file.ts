import { realpath } from "node:fs/promises";
import { dirname, join, normalize } from "node:path";
import { isErrno } from "../core/errors.ts";
import { openRegularFile } from "../platform/regular-file.ts";
import { gitUntil } from "./git-workshop.ts";
import { type DiffOf, type SessionDiffDeps, sidesOf } from "./session-diff.ts";
import { visibleFiles } from "./worktree-deps.ts";

/** A file on one side of a session's changes: as it is now, or in the base of its diff. */
export interface SessionFile {
  /** Relative to the root of the worktree or repository. */
  readonly path: string;
  readonly side: "new" | "old";
}

/** Larger files are not read; their diffs are not shown either. */
const maxFileBytes = 8 * 1024 * 1024;
/** For all files of a call together; files beyond it are null. */
const maxTotalBytes = 64 * 1024 * 1024;
const withinMs = 20_000;

/**
 * Reads text files of a session, in the given order. Runs no code from the repository. @returns null for a file that is missing, too large,
 * not text, or in a folder that the caller cannot see
 * @throws PosternError as the session's diff
 */
export function createReadSessionFiles({
  workshop,
  clock,
  gate,
}: SessionDiffDeps): (of: DiffOf, files: readonly SessionFile[]) => Promise<readonly (string | null)[]> {
  return (of, files) =>
    gate.run(async () => {
      const git = gitUntil(workshop.git, { clock, withinMs });
      const { root, counted, commonDir, base, other } = await sidesOf(git, of);
      const plain = files.filter(({ path }) => isPlain(path));
      const visible = new Set(
        await visibleFiles(counted, of.visibleAmong)(
          plain.map(({ path }) => path),
          (path) => path,
        ),
      );
      let leftBytes = maxTotalBytes;

      async function read({ path, side }: SessionFile): Promise<Buffer | null> {
        if (!visible.has(path)) return null;
        if (side === "new" && other.kind === "work tree")
          return readInside(root, path, Math.min(leftBytes, maxFileBytes));
        const commit = side === "old" ? base.commit : other.kind === "commit" ? other.commit : null;
        if (commit === null) return null;
        const args = ["cat-file", "blob", `${commit}:${path}`];
        const result = await git.run(args, { at: { gitDir: commonDir }, maxOutputBytes: maxFileBytes });
        return result.exitCode === 0 ? result.stdout : null;
      }

      const texts: (string | null)[] = [];
      for (const file of files) {
        const bytes = leftBytes <= 0 ? null : await read(file);
        leftBytes -= bytes?.byteLength ?? 0;
        texts.push(bytes === null || bytes.includes(0) ? null : bytes.toString("utf8"));
      }
      return texts;
    });
}

function isPlain(path: string): boolean {
  return (
    normalize(path) === path && !path.startsWith("/") && !/^\.\.?(?:\/|$)/.test(path) && !/^\.git(?:\/|$)/i.test(path)
  );
}

/** Does not follow links, because their targets are outside the work tree. */
async function readInside(root: string, path: string, maxBytes: number): Promise<Buffer | null> {
  const full = join(root, path);
  const file = await openRegularFile(full, { followLinks: false });
  if (file === null) return null;
  try {
    if ((await folderOf(full)) !== join(await realpath(root), dirname(path))) return null;
    const { size } = await file.stat();
    if (size > maxBytes) return null;
    const buffer = Buffer.alloc(size);
    let filled = 0;
    for (let bytesRead = 1; bytesRead > 0 && filled < size; filled += bytesRead) {
      ({ bytesRead } = await file.read(buffer, filled, size - filled, filled));
    }
    return buffer.subarray(0, filled);
  } finally {
    await file.close();
  }
}

async function folderOf(path: string): Promise<string | null> {
  try {
    return await realpath(dirname(path));
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR", "EACCES", "ELOOP")) return null;
    throw error;
  }
}
