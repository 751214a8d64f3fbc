import { lstat, readdir, realpath } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { isErrno } from "../core/errors.ts";
import type { Git } from "../platform/git-command.ts";
import { findRepository, type RepositoryPlace } from "../platform/git-repository.ts";

/** The files and folders of a directory. */
export interface FileList {
  /** Relative to the directory; a folder ends in `/`. */
  readonly paths: readonly string[];
  readonly recent: ReadonlySet<string>;
  /** Whether some are missing. */
  readonly truncated: boolean;
}

/** More are not listed: an index of them takes about 60 MB. */
export const maxPaths = 200_000;
const maxListBytes = 48 * 1024 * 1024;
const listMs = 20_000;
const maxWalkMs = 5_000;
const maxDepth = 24;
const recentCommits = 50;
const maxRecentBytes = 4 * 1024 * 1024;
const unreadable = ["ENOENT", "ENOTDIR", "EACCES", "ELOOP", "EPERM", "ENAMETOOLONG"] as const;

/**
 * What Git does not ignore, tracked or not; outside of a repository everything but hidden folders and `node_modules`. Links are not
 * followed.
 * @param options `dir` is a real path; `hidden`, the state folder of Postern, is never listed
 */
export async function listFiles({
  dir,
  git,
  hidden,
}: {
  readonly dir: string;
  readonly git: Git;
  readonly hidden: string;
}): Promise<FileList> {
  const place = await findRepository(dir);
  const listed = (place === null ? null : await fromGit(git, place, dir)) ?? (await walked(dir));
  const state = `${relative(dir, hidden)}/`;
  // A file with a conflict is listed once for each side.
  const files = [...new Set(listed.files)].filter((path) => isWritable(path) && !`${path}/`.startsWith(state));
  const paths = withFolders(files.slice(0, maxPaths));
  return { paths, recent: listed.recent, truncated: listed.truncated || files.length > maxPaths };
}

/** Whether a prompt can contain this path: not one with invisible characters, or one that is not UTF-8. */
function isWritable(path: string): boolean {
  return path !== "" && !/[\p{C}\uFFFD]/u.test(path);
}

function withFolders(files: readonly string[]): readonly string[] {
  const folders = new Set<string>();
  for (const file of files) {
    for (let end = file.lastIndexOf("/"); end > 0; end = file.lastIndexOf("/", end - 1)) {
      const folder = file.slice(0, end + 1);
      if (folders.has(folder)) break;
      folders.add(folder);
    }
  }
  return [...folders, ...files.filter((file) => !folders.has(file))];
}

interface Listed {
  readonly files: readonly string[];
  readonly recent: ReadonlySet<string>;
  readonly truncated: boolean;
}

/** Null if Git cannot list them, or lists nothing: the repository may ignore this directory. */
async function fromGit(git: Git, place: RepositoryPlace, dir: string): Promise<Listed | null> {
  const { checkout, commonDir } = place;
  if (checkout === null) return null;
  const at = { gitDir: checkout.gitDir, commonDir, workTree: checkout.root };
  const below = relative(checkout.root, dir);
  const only = below === "" ? [] : ["--", `${below}/`];
  const options = { at, timeoutMs: listMs, maxOutputBytes: maxListBytes };
  const listing = git.run(["ls-files", "-z", "-t", "--cached", "--others", "--exclude-standard", ...only], options);
  const history = git.run(
    ["log", "-z", "--format=", "--name-only", "--no-renames", `--max-count=${recentCommits}`, "HEAD", ...only],
    { ...options, maxOutputBytes: maxRecentBytes },
  );
  const [{ exitCode, stdout }, changed] = await Promise.all([listing, history]);
  if (exitCode !== 0 || stdout.length === 0) return null;
  const inDir = (path: string): string => (below === "" ? path : path.slice(below.length + 1));
  const tagged = stdout.toString("utf8").split("\0");
  const files = tagged.map((each) => inDir(each.slice(2)));
  const untracked = tagged.filter((each) => each.startsWith("? ")).map((each) => inDir(each.slice(2)));
  const committed = changed.exitCode === 0 ? changed.stdout.toString("utf8").split("\0") : [];
  // Many untracked files are the output of a program rather than a person's work.
  const recent = new Set([...(untracked.length <= 200 ? untracked : []), ...committed.map(inDir)]);
  return { files, recent, truncated: false };
}

async function walked(dir: string): Promise<Listed> {
  const files: string[] = [];
  const until = performance.now() + maxWalkMs;
  let level = [""];
  for (let depth = 0; level.length > 0 && depth < maxDepth; depth += 1) {
    const next: string[] = [];
    for (const folder of level) {
      if (files.length + next.length > maxPaths || performance.now() > until) {
        return { files, recent: new Set(), truncated: true };
      }
      for (const entry of await entriesIn(join(dir, folder))) {
        const path = `${folder}${entry.name}`;
        if (!entry.isDirectory()) files.push(path);
        else if (!entry.name.startsWith(".") && entry.name !== "node_modules") next.push(`${path}/`);
      }
    }
    files.push(...next);
    level = next;
  }
  return { files, recent: new Set(), truncated: level.length > 0 };
}

async function entriesIn(folder: string) {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    if (isErrno(error, ...unreadable)) return [];
    throw error;
  }
}

/** Decides which listed paths can be shown: those that exist and are in the directory and not in `hidden`, whatever links there are. */
export function createInside(dir: string, hidden: string): (path: string) => Promise<string | null> {
  /** The real paths of folders, resolved once per list. */
  const folders = new Map<string, Promise<string | null>>();

  function realFolder(folder: string): Promise<string | null> {
    const known = folders.get(folder) ?? realOrNull(folder);
    folders.set(folder, known);
    return known;
  }

  /** @returns the path, a folder with `/` at its end; null if it cannot be shown */
  return async (path) => {
    // With a slash at its end, a link would be followed.
    const full = join(dir, path.replace(/\/$/, ""));
    const parent = await realFolder(dirname(full));
    if (parent === null || !isIn(parent, dir)) return null;
    try {
      const stats = await lstat(full);
      if (stats.isDirectory()) return path.endsWith("/") ? path : `${path}/`;
      if (!stats.isSymbolicLink()) return path.endsWith("/") ? null : path;
    } catch (error) {
      if (isErrno(error, ...unreadable)) return null;
      throw error;
    }
    const target = await realOrNull(full);
    return target !== null && isIn(target, dir) && !isIn(target, hidden) ? path : null;
  };
}

function isIn(path: string, dir: string): boolean {
  return path === dir || path.startsWith(dir.endsWith("/") ? dir : `${dir}/`);
}

async function realOrNull(path: string): Promise<string | null> {
  try {
    return await realpath(path);
  } catch (error) {
    if (isErrno(error, ...unreadable)) return null;
    throw error;
  }
}
