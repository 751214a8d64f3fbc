import { lstat, mkdir, readlink, rmdir, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isErrno } from "../core/errors.ts";
import { createGitScratch, type GitScratch } from "../platform/git-scratch.ts";
import { commitOf, hashFiles, readTree, type TreeEntries, type TreeEntry } from "./git-workshop.ts";
import { checkoutOf, same } from "./snapshot.ts";
import { bytesOf, shownName, type TreeName, toName } from "./tree-walk.ts";
import { type VisibleFiles, type WorktreeDeps, worktreeError } from "./worktree-deps.ts";
import { removeTree } from "./worktree-files.ts";
import type { WorktreeRecord } from "./worktree-store.ts";

/** A path that a rescue changes, relative to its branch's commit at that time. */
export interface RescuedPath {
  readonly name: TreeName;
  readonly change: "added" | "modified" | "deleted";
  readonly from: TreeEntry | undefined;
  readonly to: TreeEntry | undefined;
}

/** A session's rescue: its content and its base. */
export interface Rescue {
  readonly commit: string;
  readonly paths: readonly RescuedPath[];
}

/** How a rescue is restored. */
export interface RestoreOptions {
  /** Whether to overwrite files changed since. */
  readonly force: boolean;
  /** The files that an error can name. */
  readonly visible: VisibleFiles;
}

const submodule = "160000";

/** Reads a rescue; null if the owner has dropped it. */
export async function readRescue(deps: WorktreeDeps, record: WorktreeRecord): Promise<Rescue | null> {
  const { git } = deps;
  const { commonDir, rescueRef, rescueBase } = record;
  const at = { gitDir: commonDir };
  const commit = rescueRef === null ? null : await commitOf(git, at, rescueRef);
  if (commit === null) return null;
  const from: TreeEntries = rescueBase === null ? new Map() : await readTree(git, at, rescueBase);
  const to = await readTree(git, at, commit);
  const names = [...new Set([...from.keys(), ...to.keys()])].filter((name) => !same(from.get(name), to.get(name)));
  const paths = names.toSorted().map((name) => pathOf(name, from.get(name), to.get(name)));
  return { commit, paths: paths.filter(({ from: was, to: is }) => was?.mode !== submodule && is?.mode !== submodule) };
}

function pathOf(name: TreeName, from: TreeEntry | undefined, to: TreeEntry | undefined): RescuedPath {
  return { name, from, to, change: from === undefined ? "added" : to === undefined ? "deleted" : "modified" };
}

/**
 * Restores a rescue into its session's worktree, which must exist, byte for byte.
 * @throws PosternError `worktree_conflict` when files there are neither as the branch had them nor as the rescue has them; with
 *   `force` those are overwritten
 * @returns the paths that were written or removed
 */
export async function restoreRescue(
  deps: WorktreeDeps,
  record: WorktreeRecord,
  { rescue, force, visible }: RestoreOptions & { readonly rescue: Rescue },
): Promise<readonly TreeName[]> {
  const folder = deps.scratchFolder();
  const scratch = await createGitScratch(deps.git, { commonDir: record.commonDir, folder, raw: true });
  try {
    const present = await presentEntries(deps, { record, scratch, paths: rescue.paths });
    const open = rescue.paths.filter(({ name, to }) => !same(present.get(name), to));
    const changed = open.filter(({ name, from }) => !same(present.get(name), from));
    const conflicts = force ? [] : await trulyChanged(deps, { record, folder, present, changed });
    if (conflicts.length > 0) throw conflict(record, await visible(conflicts, shownName));
    for (const { name, to } of open) if (to === undefined) await removeFile(record.path, name);
    const at = scratch.at(record.path);
    const lines = open.flatMap(({ name, to }) => (to === undefined ? [] : [`${to.mode} ${to.oid}\t${name}\0`]));
    await deps.git.must(["update-index", "-z", "--index-info"], { at, input: Buffer.from(lines.join(""), "latin1") });
    await deps.git.must(["checkout-index", "--all", "--force", "--quiet"], { at, timeoutMs: 600_000 });
    return open.map(({ name }) => name);
  } finally {
    await removeTree(folder);
  }
}

/** Marks what can be neither compared nor saved: a folder, or a path through a link. */
const inTheWay: TreeEntry = { mode: "0", oid: "in the way" };

async function presentEntries(
  { git }: WorktreeDeps,
  {
    record,
    scratch,
    paths,
  }: { readonly record: WorktreeRecord; readonly scratch: GitScratch; readonly paths: readonly RescuedPath[] },
): Promise<ReadonlyMap<TreeName, TreeEntry>> {
  const entries = new Map<TreeName, TreeEntry>();
  const modes: { readonly name: TreeName; readonly mode: string; readonly source: TreeName }[] = [];
  await mkdir(join(scratch.folder, "targets"));
  for (const [index, { name }] of paths.entries()) {
    const mode = await modeAt(record.path, name);
    if (mode === null) continue;
    if (mode === inTheWay.mode) entries.set(name, inTheWay);
    else if (mode === "120000") {
      const copy = join(scratch.folder, "targets", String(index));
      await writeFile(copy, await readlink(bytesOf(record.path, name), "buffer"));
      modes.push({ name, mode, source: toName(copy) });
    } else modes.push({ name, mode, source: name });
  }
  const sources = modes.map(({ source }) => source);
  const oids = await hashFiles(git, scratch.at(record.path), { paths: sources, write: false });
  for (const [index, { name, mode }] of modes.entries()) entries.set(name, { mode, oid: oids[index] ?? "" });
  return entries;
}

async function modeAt(root: string, name: TreeName): Promise<string | null> {
  const parts = name.split("/");
  try {
    for (let depth = 1; depth < parts.length; depth += 1) {
      const parent = await lstat(bytesOf(root, parts.slice(0, depth).join("/")));
      if (!parent.isDirectory()) return inTheWay.mode;
    }
    const stats = await lstat(bytesOf(root, name));
    if (stats.isSymbolicLink()) return "120000";
    if (!stats.isFile()) return inTheWay.mode;
    return (stats.mode & 0o100) === 0 ? "100644" : "100755";
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return null;
    throw error;
  }
}

/** A file that differs only in line endings made by the checkout counts as unchanged. */
async function trulyChanged(
  { git }: WorktreeDeps,
  found: {
    readonly record: WorktreeRecord;
    readonly folder: string;
    readonly present: ReadonlyMap<TreeName, TreeEntry>;
    readonly changed: readonly RescuedPath[];
  },
): Promise<readonly TreeName[]> {
  const { record, folder, present, changed } = found;
  const doubtful = changed.filter(({ name, from }) => from !== undefined && present.get(name)?.mode === from.mode);
  const base = new Map(doubtful.flatMap(({ name, from }) => (from === undefined ? [] : [[name, from] as const])));
  const names = [...base.keys()];
  const request = { git, commonDir: record.commonDir, path: record.path, scratchFolder: folder };
  const checkedOut = names.length === 0 ? base : await checkoutOf(request, base, names);
  const isAsMade = (name: TreeName): boolean => checkedOut.has(name) && same(checkedOut.get(name), present.get(name));
  return changed.flatMap(({ name }) => (isAsMade(name) ? [] : [name]));
}

function conflict({ path }: WorktreeRecord, names: readonly TreeName[]) {
  const shown = names.slice(0, 20).map(shownName);
  const more = names.length > shown.length ? ` and ${names.length - shown.length} more` : "";
  return worktreeError(
    "worktree_conflict",
    `Files in ${path} have changed since${shown.length === 0 ? "" : ": "}${shown.join(", ")}${more}. Nothing was restored. Commit or move them, or restore with force to overwrite them.`,
    { details: { files: shown } },
  );
}

/** Removes a file, and the folders that it leaves empty. */
async function removeFile(root: string, name: TreeName): Promise<void> {
  if ((await modeAt(root, name)) === inTheWay.mode) return;
  const parts = name.split("/");
  try {
    await unlink(bytesOf(root, name));
    for (let depth = parts.length - 1; depth > 0; depth -= 1)
      await rmdir(bytesOf(root, parts.slice(0, depth).join("/")));
  } catch (error) {
    if (!isErrno(error, "ENOENT", "ENOTDIR", "ENOTEMPTY", "EEXIST")) throw error;
  }
}
