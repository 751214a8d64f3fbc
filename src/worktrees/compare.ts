import { join } from "node:path";
import type { Git, GitPlace } from "../platform/git-command.ts";
import { createGitScratch } from "../platform/git-scratch.ts";
import type { ChangedFile } from "../wire/changes.ts";
import { type Differing, differingInTrees, differingInWorkTree, isSubmodule } from "./differing.ts";
import { type DeadlineGit, ownObjects, type TreeEntry } from "./git-workshop.ts";
import { type Compared, type PatchedFile, patchesOf } from "./patches.ts";
import { shownName, type TreeName } from "./tree-walk.ts";
import { createWorkFiles, isBinaryFile, type WorkFile } from "./work-files.ts";

/** What is compared with the base. */
export type OtherSide =
  /** The current files, using the checkout's index. `head` is null before the first commit. */
  | { readonly kind: "work tree"; readonly path: string; readonly gitDir: string; readonly head: string | null }
  | { readonly kind: "commit"; readonly commit: string };

export interface CompareRequest {
  readonly git: DeadlineGit;
  /** A scratch folder to create; it must not exist. */
  readonly scratchFolder: string;
  readonly commonDir: string;
  /** A commit or a tree; null compares with an empty tree. */
  readonly base: string | null;
  /** Another folder with objects of the base, or null. */
  readonly baseObjects: string | null;
  readonly other: OtherSide;
  /** The visible files among these, ordered by name. */
  readonly visible: (names: readonly TreeName[]) => Promise<readonly TreeName[]>;
  /** Whether to compare files byte for byte, ignoring line endings and encodings set by attributes. */
  readonly raw: boolean;
  readonly limits: CompareLimits;
  /** Only these files; null for all. */
  readonly only: ReadonlySet<string> | null;
  readonly ignoreWhitespace: boolean;
}

/** Limits for what a comparison reads and returns. */
export interface CompareLimits {
  readonly maxFiles: number;
  /** For both sides of all files that are read. */
  readonly maxInputBytes: number;
  /** Larger files are listed without a patch and not read. */
  readonly maxFileBytes: number;
  /** The limits for one patch (null for no patches), and for all patches together. */
  readonly maxPatchBytes: number | null;
  readonly maxTextBytes: number;
}

const mebibyte = 1024 * 1024;

export const compareLimits = {
  /** All patches at once: longer ones would not be readable on a page. */
  patches: {
    maxFiles: 500,
    maxInputBytes: 16 * mebibyte,
    maxFileBytes: mebibyte,
    maxPatchBytes: mebibyte / 4,
    maxTextBytes: 4 * mebibyte,
  },
  /** The list of a large change. */
  list: {
    maxFiles: 5_000,
    maxInputBytes: 64 * mebibyte,
    maxFileBytes: mebibyte,
    maxPatchBytes: null,
    maxTextBytes: 0,
  },
  /** One file, such as a lockfile of 50,000 lines. */
  file: {
    maxFiles: 2,
    maxInputBytes: 16 * mebibyte,
    maxFileBytes: 8 * mebibyte,
    maxPatchBytes: 8 * mebibyte,
    maxTextBytes: 8 * mebibyte,
  },
} as const satisfies Record<string, CompareLimits>;

/** The differences, within limits. */
export interface Comparison {
  readonly files: readonly ChangedFile[];
  readonly truncated: boolean;
}

const visibleAtOnce = 1_000;

/** Compares with git, using our own configuration, index and objects; the repository is only read. */
export async function compare(request: CompareRequest): Promise<Comparison> {
  const { git, commonDir, scratchFolder, other, raw, limits, only, ignoreWhitespace } = request;
  const scratch = await createGitScratch(git, { commonDir, folder: scratchFolder, raw });
  try {
    const path = other.kind === "work tree" ? other.path : scratch.folder;
    const own = ownObjects(git, commonDir, request.baseObjects);
    const at = { ...scratch.at(path), objectDir: join(scratch.folder, "objects") };
    const base = request.base ?? (await own.emptyTree(at));
    const found =
      other.kind === "work tree"
        ? await differingInWorkTree(own, at, { ...other, base })
        : await differingInTrees(own, at, { base, other: other.commit });
    const wanted = only === null ? found : found.filter(({ name }) => only.has(shownName(name)));
    const listed = await firstVisible(wanted, { visible: request.visible, ...limits });
    const sized = await sizesOf(own, at, { path, files: listed.files, ...limits });
    const places = {
      base: { ...at, indexFile: join(scratch.folder, "index.base") },
      other: { ...at, indexFile: join(scratch.folder, "index.other") },
    };
    // Compared with a look, most files that differ from the commit can be unchanged. Only reading them shows this.
    const read = request.baseObjects === null && isListOnly(sized, limits) ? [] : withinBudget(sized, limits);
    const patched = await patchesOf(own, places, read, { ...limits, ignoreWhitespace }).catch((error: unknown) => {
      if (git.isOver()) return null; // then only the list is returned
      throw error;
    });
    return assemble({ sized, read, patched, truncated: listed.truncated, limits });
  } finally {
    await scratch.close();
  }
}

async function firstVisible(
  found: readonly Differing[],
  { visible, maxFiles }: Pick<CompareRequest, "visible"> & Pick<CompareLimits, "maxFiles">,
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

/** Above this, a list has no line counts and renames, because git would have to read each file. */
const maxCountedFiles = 500;

function isListOnly({ length }: readonly Sized[], { maxPatchBytes }: CompareLimits): boolean {
  return maxPatchBytes === null && length > maxCountedFiles;
}

function withinBudget(sized: readonly Sized[], { maxInputBytes }: CompareLimits): readonly Compared[] {
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
  limits: { maxPatchBytes, maxTextBytes },
}: {
  readonly sized: readonly Sized[];
  readonly read: readonly Compared[];
  readonly patched: readonly PatchedFile[] | null;
  readonly truncated: boolean;
  readonly limits: CompareLimits;
}): Comparison {
  const untracked = new Set(sized.filter((file) => file.untracked).map(({ name }) => name));
  const compared = new Set(patched === null ? [] : read.map(({ name }) => name));
  const unread = sized.filter(({ name }) => !compared.has(name)).map(unreadFile);
  let leftBytes = maxTextBytes;
  let cut = truncated || (maxPatchBytes !== null && unread.some(({ isText }) => isText));
  const shown = (patched ?? []).map((file): { readonly name: TreeName; readonly file: ChangedFile } => {
    const sizeBytes = Buffer.byteLength(file.patch ?? "");
    const fits = sizeBytes <= leftBytes;
    if (fits) leftBytes -= sizeBytes;
    if (file.cut || !fits) cut = true;
    const { name, change, previousPath, additions, deletions, patch, version } = file;
    const status = change === "added" && untracked.has(name) ? "untracked" : change;
    return {
      name,
      file: { path: shownName(name), previousPath, status, additions, deletions, patch: fits ? patch : null, version },
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
    file: {
      ...{ path: shownName(name), previousPath: null, status, additions: null, deletions: null, patch: null },
      version: unreadVersion(sized),
    },
    isText,
  };
}

function unreadVersion({ base, other, work }: Sized): string {
  const after =
    other === "unknown"
      ? work !== null && "sizeBytes" in work
        ? `${work.sizeBytes}.${Math.floor(work.mtimeMs)}`
        : ""
      : other?.oid.slice(0, 12);
  return `${base?.oid.slice(0, 12) ?? ""}-${after ?? ""}`;
}

const looksAtOnce = 64;

/** A path that differs, with the data to decide whether to read it. */
export interface Sized extends Differing {
  readonly work: WorkFile | null;
  /** The size of both sides; null if one is too large, cannot be read, or is a nested repository. */
  readonly sizeBytes: number | null;
  readonly isRepository: boolean;
  /** Whether a patch would show its text, judged without reading it. */
  readonly isText: boolean;
}

/** Checks both sides of files. */
export async function sizesOf(
  git: Git,
  at: GitPlace,
  {
    path,
    files,
    maxFileBytes,
  }: Pick<CompareLimits, "maxFileBytes"> & { readonly path: string; readonly files: readonly Differing[] },
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
    sized.push(...(await Promise.all(some.map((file) => sizeOf(file, { path, sizes, look, maxFileBytes })))));
  }
  return sized;
}

interface Looks extends Pick<CompareLimits, "maxFileBytes"> {
  readonly path: string;
  readonly sizes: ReadonlyMap<string, number>;
  readonly look: (name: TreeName) => Promise<WorkFile>;
}

async function sizeOf(file: Differing, { path, sizes, look, maxFileBytes }: Looks): Promise<Sized> {
  const stored = (entry: TreeEntry | null): number | null => (entry === null ? 0 : (sizes.get(entry.oid) ?? null));
  const work = file.other === "unknown" ? await look(file.name) : null;
  const isRepository = isSubmodule(file.base) || isSubmodule(file.other) || file.name.endsWith("/");
  const before = stored(file.base);
  const after = file.other === "unknown" ? sizeInWorkTree(work) : stored(file.other);
  const small = [before, after].every((size) => size !== null && size <= maxFileBytes);
  const sizeBytes = small && !isRepository ? (before ?? 0) + (after ?? 0) : null;
  const isBinary = sizeBytes === null && work?.kind === "file" && (await isBinaryFile(path, file.name));
  return { ...file, work, sizeBytes, isRepository, isText: !isRepository && !isBinary };
}

function sizeInWorkTree(work: WorkFile | null): number | null {
  if (work === null || work.kind === "closed") return null;
  return work.kind === "gone" ? 0 : work.sizeBytes;
}

/** Only for existing objects; a partial clone does not have all of them. */
async function objectSizes(
  git: Git,
  at: GitPlace,
  entries: readonly TreeEntry[],
): Promise<ReadonlyMap<string, number>> {
  const ids = [...new Set(entries.filter((entry) => !isSubmodule(entry)).map(({ oid }) => oid))];
  if (ids.length === 0) return new Map();
  const args = ["cat-file", "--batch-check=%(objectname) %(objectsize)"];
  const listed = (await git.must(args, { at, input: `${ids.join("\n")}\n` })).toString("latin1");
  const lines = listed.split("\n").map((line) => line.split(" "));
  return new Map(lines.flatMap(([id = "", size = ""]) => (/^\d+$/.test(size) ? [[id, Number(size)]] : [])));
}
