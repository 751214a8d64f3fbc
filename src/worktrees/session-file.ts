import { realpath } from "node:fs/promises";
import { dirname, join, normalize } from "node:path";
import { isErrno } from "../core/errors.ts";
import { openRegularFile } from "../platform/regular-file.ts";
import { gitUntil, lineOf, ownObjects } from "./git-workshop.ts";
import { type DiffBase, type DiffOf, type SessionDiffDeps, sidesOf, withBase } from "./session-diff.ts";
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

/** The content of a file; both are null if it is not there, and `bytes` if it is too large. */
interface FileContent {
  readonly sizeBytes: number | null;
  readonly bytes: Buffer | null;
}

/** Reads files of sessions. Runs no code from the repository. @throws PosternError as for the session's diff */
export interface SessionFiles {
  /**
   * Reads text files, in their order.
   * @returns null for a file that is not there, is too large, is not text or is not in a folder that the caller can see
   */
  texts(of: DiffOf, files: readonly SessionFile[]): Promise<readonly (string | null)[]>;
  /** Reads a file of up to 8 MB. A file in a folder that the caller cannot see is not there. */
  content(of: DiffOf, file: SessionFile, options: DiffBase): Promise<FileContent>;
}

const missing: FileContent = { sizeBytes: null, bytes: null };

/** @see SessionFiles */
export function createSessionFiles({ workshop, clock, gate }: SessionDiffDeps): SessionFiles {
  /** Reads one file after another; `maxBytes` is for each. */
  async function readerOf(of: DiffOf, options: DiffBase, paths: readonly string[]) {
    const until = gitUntil(workshop.git, { clock, withinMs });
    const { root, counted, commonDir, base, other } = withBase(await sidesOf(until, of), options);
    const git = ownObjects(until, commonDir, base.objects ?? null);
    const at = { gitDir: commonDir };
    const visible = new Set(await visibleFiles(counted, of.visibleAmong)(paths.filter(isPlain), (path) => path));
    return async ({ path, side }: SessionFile, maxBytes: number): Promise<FileContent> => {
      if (!visible.has(path)) return missing;
      if (side === "new" && other.kind === "work tree") {
        const here = { gitDir: other.gitDir, commonDir, workTree: other.path };
        // Exit code 1: not ignored. The diff does not show ignored files either, which often hold secrets. This command rejects literal
        // paths. With the prefix, none is read as a pattern.
        const ignored = ["check-ignore", "--quiet", "--", `./${path}`];
        const { exitCode } = await git.run(ignored, { at: here, env: { GIT_LITERAL_PATHSPECS: "0" } });
        return exitCode === 1 ? readInside(root, path, maxBytes) : missing;
      }
      const commit = side === "old" ? base.commit : other.kind === "commit" ? other.commit : null;
      if (commit === null) return missing;
      const object = `${commit}:${path}`;
      const sized = await git.run(["cat-file", "-s", object], { at });
      const sizeBytes = sized.exitCode === 0 ? Number(lineOf(sized.stdout)) : null;
      if (sizeBytes === null || sizeBytes > maxBytes) return { sizeBytes, bytes: null };
      // A folder has a size too, but is no blob.
      const result = await git.run(["cat-file", "blob", object], { at, maxOutputBytes: maxFileBytes });
      return result.exitCode === 0 ? { sizeBytes, bytes: result.stdout } : missing;
    };
  }

  return {
    texts: (of, files) =>
      gate.run(async () => {
        const paths = files.map(({ path }) => path);
        const read = await readerOf(of, {}, paths);
        let leftBytes = maxTotalBytes;
        const texts: (string | null)[] = [];
        for (const file of files) {
          const { bytes } = leftBytes <= 0 ? missing : await read(file, Math.min(leftBytes, maxFileBytes));
          leftBytes -= bytes?.byteLength ?? 0;
          texts.push(bytes === null ? null : textIn(bytes));
        }
        return texts;
      }),

    content: (of, file, options) =>
      gate.run(async () => (await readerOf(of, options, [file.path]))(file, maxFileBytes)),
  };
}

/** The text of a file; null if it is not text. */
export function textIn(bytes: Buffer): string | null {
  return bytes.includes(0) ? null : bytes.toString("utf8");
}

function isPlain(path: string): boolean {
  return (
    normalize(path) === path &&
    !path.startsWith("/") &&
    !/^\.\.?(?:\/|$)/.test(path) &&
    !/(?:^|\/)\.git(?:\/|$)/i.test(path)
  );
}

/** Does not follow links, because their targets are outside the work tree. */
async function readInside(root: string, path: string, maxBytes: number): Promise<FileContent> {
  const full = join(root, path);
  const file = await openRegularFile(full, { followLinks: false });
  if (file === null) return missing;
  try {
    if ((await folderOf(full)) !== join(await realpath(root), dirname(path))) return missing;
    const { size } = await file.stat();
    if (size > maxBytes) return { sizeBytes: size, bytes: null };
    const buffer = Buffer.alloc(size);
    let filled = 0;
    for (let bytesRead = 1; bytesRead > 0 && filled < size; filled += bytesRead) {
      ({ bytesRead } = await file.read(buffer, filled, size - filled, filled));
    }
    return { sizeBytes: filled, bytes: buffer.subarray(0, filled) };
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
