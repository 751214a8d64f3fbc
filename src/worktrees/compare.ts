import { join } from "node:path";
import { createGitScratch } from "../platform/git-scratch.ts";
import type { ChangedFile } from "../wire/changes.ts";
import { type Differing, differingInTrees, differingInWorkTree } from "./differing.ts";
import type { DeadlineGit } from "./git-workshop.ts";
import { ownObjects } from "./git-workshop.ts";
import { type Compared, type PatchedFile, patchesOf } from "./patches.ts";
import { type Sized, sizesOf } from "./sizes.ts";
import { shownName, type TreeName } from "./tree-walk.ts";

/** What is compared with the base. */
export type OtherSide =
  /** The files as they are, by the checkout's index. `head` is null before the first commit. */
  | { readonly kind: "work tree"; readonly path: string; readonly gitDir: string; readonly head: string | null }
  | { readonly kind: "commit"; readonly commit: string };

/** One comparison. */
export interface CompareRequest {
  readonly git: DeadlineGit;
  /** A folder of ours that may be filled; it must not exist. */
  readonly scratchFolder: string;
  readonly commonDir: string;
  /** A commit; null compares with nothing. */
  readonly base: string | null;
  readonly other: OtherSide;
  /** Which of these files (in the order of their names) the caller may see. */
  readonly visible: (names: readonly TreeName[]) => Promise<readonly TreeName[]>;
  /** Whether files are taken byte for byte, without line ends and encodings that attributes ask for. */
  readonly raw: boolean;
}

/** What differs, within bounds. */
export interface Comparison {
  readonly files: readonly ChangedFile[];
  readonly truncated: boolean;
}

/** Beyond that a list is no help to a reader. */
const maxFiles = 500;
/** Both sides of all files that are read. */
const maxInputBytes = 16 * 1024 * 1024;
/** Of all patches in one answer. */
const maxTextBytes = 4 * 1024 * 1024;
const visibleAtOnce = 1_000;

/** Compares by git, whose configuration, index and objects are our own; the repository is only read. */
export async function compare(request: CompareRequest): Promise<Comparison> {
  const { git, commonDir, scratchFolder, other, raw } = request;
  const scratch = await createGitScratch(git, { commonDir, folder: scratchFolder, raw });
  try {
    const path = other.kind === "work tree" ? other.path : scratch.folder;
    const own = ownObjects(git, commonDir);
    const at = { ...scratch.at(path), objectDir: join(scratch.folder, "objects") };
    const base = request.base ?? (await own.emptyTree(at));
    const found =
      other.kind === "work tree"
        ? await differingInWorkTree(own, at, { ...other, base })
        : await differingInTrees(own, at, { base, other: other.commit });
    const listed = await firstVisible(found, request.visible);
    const sized = await sizesOf(own, at, { path, files: listed.files });
    const places = {
      base: { ...at, indexFile: join(scratch.folder, "index.base") },
      other: { ...at, indexFile: join(scratch.folder, "index.other") },
    };
    const read = withinBudget(sized);
    const patched = await patchesOf(own, places, read).catch((error: unknown) => {
      if (git.isOver()) return null; // the list alone
      throw error;
    });
    return assemble({ sized, read, patched, truncated: listed.truncated });
  } finally {
    await scratch.close();
  }
}

async function firstVisible(
  found: readonly Differing[],
  visible: CompareRequest["visible"],
): Promise<{ readonly files: readonly Differing[]; readonly truncated: boolean }> {
  const sorted = found.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const files: Differing[] = [];
  for (let at = 0; at < sorted.length && files.length <= maxFiles; at += visibleAtOnce) {
    const some = sorted.slice(at, at + visibleAtOnce);
    const seen = new Set(await visible(some.map(({ name }) => name)));
    files.push(...some.filter(({ name }) => seen.has(name)));
  }
  return { files: files.slice(0, maxFiles), truncated: files.length > maxFiles };
}

function withinBudget(sized: readonly Sized[]): readonly Compared[] {
  let left = maxInputBytes;
  return sized.flatMap(({ name, base, other, work, sizeBytes }) => {
    if (sizeBytes === null || sizeBytes > left) return [];
    left -= sizeBytes;
    const stands = work !== null && work.kind !== "gone";
    return [{ name, base, other: other === "unknown" ? (stands ? ("in work tree" as const) : null) : other }];
  });
}

function assemble({
  sized,
  read,
  patched,
  truncated,
}: {
  readonly sized: readonly Sized[];
  readonly read: readonly Compared[];
  readonly patched: readonly PatchedFile[] | null;
  readonly truncated: boolean;
}): Comparison {
  const untracked = new Set(sized.filter((file) => file.untracked).map(({ name }) => name));
  const compared = new Set(patched === null ? [] : read.map(({ name }) => name));
  const unread = sized.filter(({ name }) => !compared.has(name)).map(unreadFile);
  let leftBytes = maxTextBytes;
  let cut = truncated || unread.some(({ isText }) => isText);
  const shown = (patched ?? []).map((file): { readonly name: TreeName; readonly file: ChangedFile } => {
    const sizeBytes = Buffer.byteLength(file.patch ?? "");
    const fits = sizeBytes <= leftBytes;
    if (fits) leftBytes -= sizeBytes;
    if (file.cut || !fits) cut = true;
    const { name, change, previousPath, additions, deletions, patch } = file;
    const status = change === "added" && untracked.has(name) ? "untracked" : change;
    return {
      name,
      file: { path: shownName(name), previousPath, status, additions, deletions, patch: fits ? patch : null },
    };
  });
  const files = [...shown, ...unread].toSorted((a, b) => (a.name < b.name ? -1 : 1)).map(({ file }) => file);
  return { files, truncated: cut };
}

/** A file that was not read. */
function unreadFile(sized: Sized): { readonly name: TreeName; readonly file: ChangedFile; readonly isText: boolean } {
  const { name, base, other, work, untracked, isRepository, isText } = sized;
  const gone = other === null || (work?.kind === "gone" && !isRepository);
  const status = untracked ? "untracked" : base === null ? "added" : gone ? "deleted" : "modified";
  return {
    name,
    file: { path: shownName(name), previousPath: null, status, additions: null, deletions: null, patch: null },
    isText,
  };
}
