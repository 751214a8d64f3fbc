import { open, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { isErrno } from "../core/errors.ts";
import { type Git, GitError, type GitPlace } from "../platform/git-command.ts";
import { openRegularFile } from "../platform/regular-file.ts";
import type { TreeEntry } from "./git-workshop.ts";
import type { TreeName } from "./tree-walk.ts";

/** A path where a work tree, or another tree, differs from the base. */
export interface Differing {
  readonly name: TreeName;
  /** The base's entry. */
  readonly base: TreeEntry | null;
  /** The other tree's entry; `unknown` in a work tree, where the file must be checked. */
  readonly other: TreeEntry | null | "unknown";
  /** Whether it is untracked. */
  readonly untracked: boolean;
}

/** Larger files are compared without being held in memory. */
const streamed = ["-c", "core.bigFileThreshold=1m", "-c", "core.safecrlf=false"] as const;
const noEntry = "000000";

/** Whether it is a nested repository, of which only the commit is known. */
export function isSubmodule(entry: Differing["other"]): boolean {
  return typeof entry === "object" && entry?.mode === "160000";
}

/**
 * The paths of a work tree that differ from `base` (a commit or a tree), untracked files included. The index of `checkout` is
 * only copied.
 * @param at our own git dir, whose index is filled
 */
export async function differingInWorkTree(
  git: Git,
  at: GitPlace,
  { base, head, gitDir }: { readonly base: string; readonly head: string | null; readonly gitDir: string },
): Promise<readonly Differing[]> {
  await fillIndex(git, at, { head, gitDir });
  const listed = await git.must(
    [
      ...streamed,
      "diff-index",
      "--raw",
      "-z",
      "--no-renames",
      "--ignore-submodules=dirty",
      "--no-ext-diff",
      base,
      "--",
    ],
    { at },
  );
  const found = new Map<TreeName, Differing>(
    entriesIn(listed).map((entry) => {
      const isKnown = isSubmodule(entry.base) || isSubmodule(entry.other);
      return [entry.name, isKnown ? entry : { ...entry, other: "unknown" }];
    }),
  );
  const others = await git.must(["ls-files", "--others", "--exclude-standard", "-z"], { at });
  for (const name of partsOf(others)) {
    found.set(name, { name, base: found.get(name)?.base ?? null, other: "unknown", untracked: true });
  }
  return [...found.values()];
}

/** The paths where two trees differ. */
export async function differingInTrees(
  git: Git,
  at: GitPlace,
  { base, other }: { readonly base: string; readonly other: string },
): Promise<readonly Differing[]> {
  const args = ["diff-tree", "-r", "--raw", "-z", "--no-renames", "--no-ext-diff", base, other, "--"];
  return entriesIn(await git.must(args, { at }));
}

/** The index lists tracked paths; an unreadable index is recreated from the checked-out commit. */
async function fillIndex(
  git: Git,
  at: GitPlace,
  { head, gitDir }: { readonly head: string | null; readonly gitDir: string },
): Promise<void> {
  if (await copyIndex(gitDir, at.gitDir)) {
    const refreshed = await refresh(git, at);
    if (refreshed) return;
    await rm(join(at.gitDir, "index"));
  }
  await git.must(["read-tree", ...(head === null ? ["--empty"] : ["--reset", head])], { at });
  if (!(await refresh(git, at))) throw new Error("git wrote an index that it cannot read.");
}

/** Compares files whose times have changed. @returns false when the index is broken */
async function refresh(git: Git, at: GitPlace): Promise<boolean> {
  const args = [...streamed, "update-index", "-q", "--refresh"];
  const result = await git.run(args, { at });
  if (result.exitCode === null) throw new GitError(args, result);
  return result.exitCode <= 1; // 1: some files differ
}

/** Parses `--raw -z`; for a conflict, uses the entry that contains the base. */
function entriesIn(listed: Buffer): readonly Differing[] {
  const parts = partsOf(listed);
  const found = new Map<TreeName, Differing>();
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const name = parts[at + 1] ?? "";
    const [, oldMode = noEntry, newMode = noEntry, oldId = "", newId = ""] =
      /^:(\d+) (\d+) ([0-9a-f]+) ([0-9a-f]+) /.exec(parts[at] ?? "") ?? [];
    const base = oldMode === noEntry ? (found.get(name)?.base ?? null) : { mode: oldMode, oid: oldId };
    const other = newMode === noEntry ? null : { mode: newMode, oid: newId };
    found.set(name, { name, base, other, untracked: false });
  }
  return [...found.values()];
}

function partsOf(listed: Buffer): readonly string[] {
  return listed
    .toString("latin1")
    .split("\0")
    .filter((part) => part !== "");
}

/** An index of a million files takes some 100 MB. */
const maxIndexBytes = 256 * 1024 * 1024;
/** A split index has two files; an earlier one may be left over. */
const maxShared = 4;
const sharedName = /^sharedindex\.(?:[0-9a-f]{40}|[0-9a-f]{64})$/;
const chunkBytes = 1024 * 1024;

/**
 * Copies a checkout's index into our own git dir, with its file times, so that unchanged files need not be read.
 * @returns false if there is none that can be copied
 */
async function copyIndex(gitDir: string, folder: string): Promise<boolean> {
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
      // Git rereads files changed in the same second as the index was written; a newer time on the copy would prevent that.
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
