import { join } from "node:path";
import type { Git, GitPlace } from "../../platform/git-command.ts";
import { createGitScratch } from "../../platform/git-scratch.ts";
import type { ChangedFile } from "../../wire/changes.ts";
import { shownName, type TreeEntry, type TreeName } from "../worktrees/index.ts";
import type { DeadlineGit } from "./deadline-git.ts";
import { type Differing, differingInTrees, differingInWorkTree } from "./differing.ts";
import { ownObjects } from "./own-objects.ts";
import { type Compared, type PatchedFile, patchesOf } from "./patches.ts";
import { createWorkFiles, type WorkFile } from "./work-files.ts";

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
export const maxFiles = 500;
/** A larger file is listed without a patch, and not read. */
export const maxFileBytes = 1024 * 1024;
/** Both sides of all files that are read. */
const maxInputBytes = 16 * 1024 * 1024;
/** Of all patches in one answer. */
export const maxTextBytes = 4 * 1024 * 1024;
const looksAtOnce = 64;
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

interface Sized extends Differing {
  readonly work: WorkFile | null;
  /** Of both sides; null when one is too large, cannot be read, or is a repository of its own. */
  readonly sizeBytes: number | null;
}

const submodule = "160000";

async function sizesOf(
  git: Git,
  at: GitPlace,
  { path, files }: { readonly path: string; readonly files: readonly Differing[] },
): Promise<readonly Sized[]> {
  const entries = files.flatMap(({ base, other }) => [base, other === "unknown" ? null : other]);
  const sizes = await objectSizes(
    git,
    at,
    entries.filter((entry) => entry !== null),
  );
  const look = createWorkFiles(path);
  const sized: Sized[] = [];
  for (let from = 0; from < files.length; from += looksAtOnce) {
    const some = files.slice(from, from + looksAtOnce);
    sized.push(...(await Promise.all(some.map((file) => sizeOf(file, { sizes, look })))));
  }
  return sized;
}

async function sizeOf(
  file: Differing,
  {
    sizes,
    look,
  }: { readonly sizes: ReadonlyMap<string, number>; readonly look: (name: TreeName) => Promise<WorkFile> },
): Promise<Sized> {
  const stored = (entry: TreeEntry | null): number | null => (entry === null ? 0 : (sizes.get(entry.oid) ?? null));
  const work = file.other === "unknown" ? await look(file.name) : null;
  const modes = [file.base?.mode, file.other === "unknown" ? undefined : file.other?.mode];
  const isRepository = modes.includes(submodule) || file.name.endsWith("/");
  const before = stored(file.base);
  const after = file.other === "unknown" ? sizeInWorkTree(work) : stored(file.other);
  const small = [before, after].every((size) => size !== null && size <= maxFileBytes);
  return { ...file, work, sizeBytes: small && !isRepository ? (before ?? 0) + (after ?? 0) : null };
}

function sizeInWorkTree(work: WorkFile | null): number | null {
  if (work === null || work.kind === "closed") return null;
  return work.kind === "gone" ? 0 : work.sizeBytes;
}

/** Of objects that are there; a partial clone has not all of them. */
async function objectSizes(
  git: Git,
  at: GitPlace,
  entries: readonly TreeEntry[],
): Promise<ReadonlyMap<string, number>> {
  const ids = [...new Set(entries.filter(({ mode }) => mode !== submodule).map(({ oid }) => oid))];
  if (ids.length === 0) return new Map();
  const args = ["cat-file", "--batch-check=%(objectname) %(objectsize)"];
  const told = (await git.must(args, { at, input: `${ids.join("\n")}\n` })).toString("latin1");
  const lines = told.split("\n").map((line) => line.split(" "));
  return new Map(lines.flatMap(([id = "", size = ""]) => (/^\d+$/.test(size) ? [[id, Number(size)]] : [])));
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
  let cut = truncated || unread.some(({ whole }) => !whole);
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

/** A file that was not read: `whole` when there is no text of it to be shown. */
function unreadFile(sized: Sized): { readonly name: TreeName; readonly file: ChangedFile; readonly whole: boolean } {
  const { name, base, other, work, untracked, sizeBytes } = sized;
  const gone = other === null || work?.kind === "gone";
  const isRepository =
    name.endsWith("/") || base?.mode === submodule || (typeof other === "object" && other?.mode === submodule);
  const status = untracked ? "untracked" : base === null ? "added" : gone && !isRepository ? "deleted" : "modified";
  return {
    name,
    file: { path: shownName(name), previousPath: null, status, additions: null, deletions: null, patch: null },
    whole: sizeBytes === null && isRepository,
  };
}
