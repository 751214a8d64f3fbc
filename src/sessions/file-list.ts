import { createHash } from "node:crypto";
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
  /** Digest of Git's output: equal digests mean equal lists. Null outside a repository. */
  readonly digest: string | null;
}

/** Paths beyond this number are not listed: an index of this many takes about 60 MB. */
export const maxPaths = 200_000;
const maxListBytes = 48 * 1024 * 1024;
const listMs = 20_000;
const maxWalkMs = 5_000;
const maxDepth = 24;
const recentCommits = 50;
const maxRecentBytes = 4 * 1024 * 1024;
const unreadable = ["ENOENT", "ENOTDIR", "EACCES", "ELOOP", "EPERM", "ENAMETOOLONG"] as const;

/**
 * Lists what Git does not ignore, tracked or not; outside a repository, everything but hidden folders and `node_modules`. Links are not
 * followed.
 * @param options `dir` is a real path; `hidden`, the state folder of Postern, is never listed; `known`, the previous list, is returned
 * again if Git's output is the same; `pause` is awaited between steps of a few milliseconds
 */
export async function listFiles({
  dir,
  git,
  hidden,
  known,
  pause,
}: {
  readonly dir: string;
  readonly git: Git;
  readonly hidden: string;
  readonly known: FileList | null;
  readonly pause: () => Promise<void>;
}): Promise<FileList> {
  const place = await findRepository(dir);
  const said = place === null ? null : await askGit(git, place, dir);
  if (said !== null && said.digest === known?.digest) return known;
  const listed = said === null ? await walked(dir) : await fromGit(said, pause);
  const state = `${relative(dir, hidden)}/`;
  // A file with a conflict is listed once for each side.
  const files = new Set<string>();
  for (const [index, path] of listed.files.entries()) {
    if (index % pathsPerStep === 0) await pause();
    if (isWritable(path) && !`${path}/`.startsWith(state)) files.add(path);
    if (files.size > maxPaths) break;
  }
  const truncated = listed.truncated || files.size > maxPaths;
  const paths = await withFolders([...files].slice(0, maxPaths), pause);
  return { paths, recent: listed.recent, truncated, digest: said?.digest ?? null };
}

/** About 1 ms. */
const pathsPerStep = 1_000;

/** Whether a prompt can contain this path. Paths that are not UTF-8 or have invisible characters cannot be used. */
function isWritable(path: string): boolean {
  return path !== "" && !/[\p{C}\uFFFD]/u.test(path);
}

async function withFolders(files: readonly string[], pause: () => Promise<void>): Promise<readonly string[]> {
  const folders = new Set<string>();
  for (const [index, file] of files.entries()) {
    if (index % pathsPerStep === 0) await pause();
    for (let end = file.lastIndexOf("/"); end > 0; end = file.lastIndexOf("/", end - 1)) {
      const folder = file.slice(0, end + 1);
      if (folders.has(folder)) break;
      folders.add(folder);
    }
  }
  await pause();
  return [...folders, ...files.filter((file) => !folders.has(file))];
}

interface Listed {
  readonly files: readonly string[];
  readonly recent: ReadonlySet<string>;
  readonly truncated: boolean;
}

interface GitAnswer {
  readonly listing: Buffer;
  readonly history: Buffer;
  /** The directory relative to the repository's root; empty for the root. */
  readonly below: string;
  readonly digest: string;
}

/** Null if Git cannot list them, or lists nothing: the repository may ignore this directory. */
async function askGit(git: Git, place: RepositoryPlace, dir: string): Promise<GitAnswer | null> {
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
  const committed = changed.exitCode === 0 ? changed.stdout : Buffer.alloc(0);
  const digest = createHash("sha256").update(stdout).update("\0\0").update(committed).digest("hex");
  return { listing: stdout, history: committed, below, digest };
}

async function fromGit({ listing, history, below }: GitAnswer, pause: () => Promise<void>): Promise<Listed> {
  const inDir = (path: string): string => (below === "" ? path : path.slice(below.length + 1));
  const files: string[] = [];
  const untracked: string[] = [];
  for (const names of namesIn(listing)) {
    for (const tagged of names) {
      const path = inDir(tagged.slice(2));
      files.push(path);
      if (tagged.startsWith("? ")) untracked.push(path);
    }
    await pause();
  }
  // Many untracked files are the output of a program rather than a person's work.
  const recent = new Set(untracked.length <= 200 ? untracked : []);
  for (const names of namesIn(history)) {
    for (const name of names) recent.add(inDir(name));
    await pause();
  }
  return { files, recent, truncated: false };
}

/** About 1 ms. */
const bytesPerStep = 64 * 1024;

/** Yields NUL-terminated names in batches. */
function* namesIn(bytes: Buffer): Generator<readonly string[], void> {
  for (let from = 0; from < bytes.length; ) {
    const found = bytes.indexOf(0, from + bytesPerStep);
    const end = found === -1 ? bytes.length : found + 1;
    yield bytes.toString("utf8", from, end).split("\0");
    from = end;
  }
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

/** Decides which listed paths can be shown: those that exist in the directory and not in `hidden`, after resolving links. */
export function createInside(dir: string, hidden: string): (path: string) => Promise<string | null> {
  /** The real paths of folders, resolved once per list. */
  const folders = new Map<string, Promise<string | null>>();

  function realFolder(folder: string): Promise<string | null> {
    const known = folders.get(folder) ?? realOrNull(folder);
    folders.set(folder, known);
    return known;
  }

  /** @returns the path, with a trailing `/` for a folder; null if it cannot be shown */
  return async (path) => {
    // With a trailing slash, a link would be followed.
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
