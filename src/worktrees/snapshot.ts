import { lstat, mkdir, readlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isErrno } from "../core/errors.ts";
import type { Git, GitPlace } from "../platform/git-command.ts";
import { createGitScratch, type GitScratch } from "../platform/git-scratch.ts";
import {
  hashFiles,
  ignoredOf,
  readIndex,
  readTree,
  type TreeEntries,
  type TreeEntry,
  writeTree,
} from "./git-workshop.ts";
import { bytesOf, shownName, type TreeName, toName, type WalkedEntry, walkTree } from "./tree-walk.ts";
import type { IgnoredLost } from "./worktree-store.ts";

/** Everything in a worktree that its removal would lose, as trees in the repository. */
export interface Snapshot {
  readonly kind: "taken";
  /** All files except ignored ones, byte for byte. */
  readonly tree: string;
  /** Staged content that is neither in the commit nor in the files; null if there is none. */
  readonly stagedTree: string | null;
  /** Paths that differ from the commit. */
  readonly changed: readonly TreeName[];
  readonly ignored: IgnoredLost;
}

/** A worktree that cannot be kept as a commit, and why. */
export interface NotTaken {
  readonly kind: "kept";
  readonly reason: string;
}

/** The input of a snapshot. */
export interface SnapshotRequest {
  readonly git: Git;
  /** A scratch folder to create; it must not exist. */
  readonly scratchFolder: string;
  readonly path: string;
  readonly commonDir: string;
  /** The worktree's own git dir, which has its index. */
  readonly gitDir: string;
  /** The checked-out commit; null if there is none yet. */
  readonly head: string | null;
  /** Never saved, regardless of the ignore rules. */
  readonly included: readonly TreeName[];
  /** Whether to list only ignored files and write nothing into the repository. */
  readonly listOnly: boolean;
  /** Throws {@link TreeTooLarge} if there are more files. A million by default. */
  readonly mostFiles?: number;
}

const submodule = "160000";

/** Reads a worktree whose processes have ended. The worktree's own `.git` is not read. */
export async function takeSnapshot(request: SnapshotRequest): Promise<Snapshot | NotTaken> {
  const { git, path, commonDir, scratchFolder } = request;
  const walk = await walkTree(path, request.mostFiles);
  const [nested] = walk.repositories;
  if (nested !== undefined) {
    const where = nested === "." ? "its root" : shownName(nested);
    return {
      kind: "kept",
      reason: `It contains another git repository at ${where}. Move it away, then close again.`,
    };
  }
  const scratch = await createGitScratch(git, { commonDir, folder: scratchFolder, raw: true });
  const at = scratch.at(path);
  const head = request.head === null ? new Map<TreeName, TreeEntry>() : await readTree(git, at, request.head);
  const staged = await readIndex(git, { gitDir: request.gitDir, commonDir });
  const stray = filesInSubmodules(walk.entries, [head, staged]);
  if (stray !== null) {
    return {
      kind: "kept",
      reason: `The submodule at ${shownName(stray)} contains files. Move them away, then close again.`,
    };
  }
  const { kept, ignored } = await divide(request, { at, entries: walk.entries, tracked: [head, staged] });
  if (request.listOnly) return { kind: "taken", tree: "", stagedTree: null, changed: [], ignored };
  const files = new Map<TreeName, TreeEntry>([
    ...(await hashed(git, scratch, { path, kept })),
    ...(await submodulesLeft(path, [head, staged])),
  ]);
  const changed = await changedPaths(request, head, files);
  const onlyStaged = [...staged].filter(
    ([name, entry]) => !same(entry, head.get(name)) && !same(entry, files.get(name)),
  );
  return {
    kind: "taken",
    tree: await writeTree(git, at, files),
    stagedTree: onlyStaged.length === 0 ? null : await writeTree(git, at, staged),
    changed,
    ignored,
  };
}

/** Whether two trees have the same entry at a path. */
export function same(left: TreeEntry | undefined, right: TreeEntry | undefined): boolean {
  return left?.mode === right?.mode && left?.oid === right?.oid;
}

/** A submodule's folder is a commit in the tree, so files in it cannot be saved. */
function filesInSubmodules(entries: readonly WalkedEntry[], trees: readonly TreeEntries[]): TreeName | null {
  const folders = trees.flatMap((tree) => [...tree].flatMap(([name, { mode }]) => (mode === submodule ? [name] : [])));
  return folders.find((folder) => entries.some(({ name }) => name.startsWith(`${folder}/`))) ?? null;
}

async function submodulesLeft(path: string, trees: readonly TreeEntries[]): Promise<[TreeName, TreeEntry][]> {
  const left: [TreeName, TreeEntry][] = [];
  for (const [name, entry] of trees.flatMap((tree) => [...tree])) {
    if (entry.mode === submodule && (await isFolder(bytesOf(path, name)))) left.push([name, entry]);
  }
  return left;
}

async function isFolder(path: Buffer): Promise<boolean> {
  try {
    return (await lstat(path)).isDirectory();
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return false;
    throw error;
  }
}

/** Saves files that are tracked or not ignored, except those copied by `.worktreeinclude` and those without content (sockets). */
async function divide(
  { git, included }: SnapshotRequest,
  found: {
    readonly at: GitPlace;
    readonly entries: readonly WalkedEntry[];
    readonly tracked: readonly TreeEntries[];
  },
): Promise<{ readonly kept: readonly WalkedEntry[]; readonly ignored: IgnoredLost }> {
  const { at, entries, tracked } = found;
  const isTracked = ({ name }: WalkedEntry): boolean => tracked.some((tree) => tree.has(name));
  const untracked = entries.filter((entry) => !isTracked(entry));
  const brought = new Set(included);
  const ignored = await ignoredOf(
    git,
    at,
    untracked.map(({ name }) => name),
  );
  const goes = (entry: WalkedEntry): boolean =>
    entry.kind === "special" || (!isTracked(entry) && (ignored.has(entry.name) || brought.has(entry.name)));
  const lost = entries.filter(goes);
  return {
    kept: entries.filter((entry) => !goes(entry)),
    ignored: {
      count: lost.length,
      bytes: lost.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
      first20: lost
        .map(({ name }) => shownName(name))
        .toSorted()
        .slice(0, 20),
    },
  };
}

/** Writes every file into the repository; a link's content is its target. */
async function hashed(
  git: Git,
  scratch: GitScratch,
  { path, kept }: { readonly path: string; readonly kept: readonly WalkedEntry[] },
): Promise<[TreeName, TreeEntry][]> {
  const targets = join(scratch.folder, "targets");
  await mkdir(targets);
  const sources: TreeName[] = [];
  for (const [index, { name, kind }] of kept.entries()) {
    if (kind === "file") {
      sources.push(name);
      continue;
    }
    const copy = join(targets, String(index));
    await writeFile(copy, await readlink(bytesOf(path, name), "buffer"));
    sources.push(toName(copy));
  }
  const oids = await hashFiles(git, scratch.at(path), { paths: sources, write: true });
  return kept.map(({ name, kind, executable }, index) => [
    name,
    { mode: kind === "link" ? "120000" : executable ? "100755" : "100644", oid: oids[index] ?? "" },
  ]);
}

// More differences than this are real changes.
const maxLookedAt = 10_000;

/** Files that differ from a fresh checkout. With line-ending attributes, a checkout's bytes are not the commit's. */
async function changedPaths(request: SnapshotRequest, head: TreeEntries, files: TreeEntries): Promise<TreeName[]> {
  const names = new Set([...head.keys(), ...files.keys()]);
  const differing = [...names].filter((name) => !same(head.get(name), files.get(name)));
  const doubtful = differing.filter((name) => {
    const [was, is] = [head.get(name), files.get(name)];
    return was !== undefined && was.mode === is?.mode && was.mode.startsWith("100");
  });
  if (doubtful.length === 0 || doubtful.length > maxLookedAt) return differing;
  const checkedOut = await checkoutOf(request, head, doubtful);
  return differing.filter((name) => !checkedOut.has(name) || !same(checkedOut.get(name), files.get(name)));
}

/** These files as a checkout would make them in the work tree at `path`, with line endings and encodings from its attributes. */
export async function checkoutOf(
  { git, commonDir, path, scratchFolder }: Pick<SnapshotRequest, "git" | "commonDir" | "path" | "scratchFolder">,
  head: TreeEntries,
  names: readonly TreeName[],
): Promise<TreeEntries> {
  const plain = await createGitScratch(git, { commonDir, folder: join(scratchFolder, "plain") });
  const at = plain.at(path);
  const wanted = new Map(names.flatMap((name) => [[name, head.get(name)] as const]));
  const lines = [...wanted].map(([name, entry]) => `${entry?.mode} ${entry?.oid}\t${name}\0`);
  await git.must(["update-index", "-z", "--index-info"], { at, input: Buffer.from(lines.join(""), "latin1") });
  const folder = join(scratchFolder, "checkout");
  await git.must(["checkout-index", "--all", "--quiet", `--prefix=${folder}/`], { at, timeoutMs: 600_000 });
  const paths = names.map((name) => `${toName(folder)}/${name}`);
  const oids = await hashFiles(git, at, { paths, write: false });
  return new Map(names.map((name, index) => [name, { mode: wanted.get(name)?.mode ?? "", oid: oids[index] ?? "" }]));
}
