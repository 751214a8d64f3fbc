import type { Git, GitPlace } from "../platform/git-command.ts";
import type { ChangedFile } from "../wire/changes.ts";
import type { TreeEntry } from "./git-workshop.ts";
import { shownName, type TreeName } from "./tree-walk.ts";

/** Two sides of a comparison, whose objects git can read. The index entry for `other` of a work tree is made from its files. */
export interface Compared {
  readonly name: TreeName;
  readonly base: TreeEntry | null;
  readonly other: TreeEntry | null | "in work tree";
}

/** A file that differs, as git reports it; `patch` is null for a binary file or a patch that is too long. */
export interface PatchedFile
  extends Pick<ChangedFile, "additions" | "deletions" | "patch" | "previousPath" | "version"> {
  readonly name: TreeName;
  readonly change: "added" | "modified" | "deleted" | "renamed";
  /** Whether a patch was omitted because of its size. */
  readonly cut: boolean;
}

/** The input is at most a quarter of this; a patch of empty lines is twice their size. */
const maxOutputBytes = 64 * 1024 * 1024;
/** Rename detection compares each file with each other; this limits both sides. */
const renames = ["-M", "-l200"] as const;

/**
 * Compares files by content only: reads just objects and the attributes of the work tree.
 * @param places each with an index file that does not exist yet
 * @param options `maxPatchBytes`: limit for the text of one file; null for no patches. With `ignoreWhitespace`, a file in which only
 * whitespace differs has an empty patch.
 */
export async function patchesOf(
  git: Git,
  places: { readonly base: GitPlace; readonly other: GitPlace },
  files: readonly Compared[],
  { maxPatchBytes, ignoreWhitespace }: { readonly maxPatchBytes: number | null; readonly ignoreWhitespace: boolean },
): Promise<readonly PatchedFile[]> {
  if (files.length === 0) return [];
  const { base, other } = places;
  await putEntries(
    git,
    base,
    files.map(({ name, base: side }) => ({ name, side })),
  );
  const tree = (await git.must(["write-tree", "--missing-ok"], { at: base })).toString("latin1").trim();
  await putEntries(
    git,
    other,
    files.map(({ name, other: side }) => ({ name, side })),
  );
  await putWorkFiles(
    git,
    other,
    files.flatMap((file) => (file.other === "in work tree" ? [file.name] : [])),
  );
  const compare = (form: readonly string[]): Promise<Buffer> =>
    git.must([...settings, "diff-index", "--cached", ...form, ...renames, ...plain, tree, "--"], {
      at: other,
      maxOutputBytes,
    });
  const changes = readRaw(await compare(["--raw", "-z"]));
  const spaces = ignoreWhitespace ? ["--ignore-all-space"] : [];
  const counts = readCounts(await compare([...spaces, "--numstat", "-z"]));
  const sections = maxPatchBytes === null ? [] : sectionsOf(await compare([...spaces, "-p"]));
  let next = 0;
  return changes.map((change) => {
    const count = counts.get(change.name);
    // Git omits files in which only ignored whitespace differs.
    if (count === undefined) return toFile(change, { additions: 0, deletions: 0 }, { sections: [], maxPatchBytes });
    // Where the type changed, such as a file that became a link, this is a deletion and an addition.
    const first = next;
    next += change.letter === "T" ? 2 : 1;
    return toFile(change, count, { sections: sections.slice(first, next), maxPatchBytes });
  });
}

const settings = ["-c", "core.quotePath=false", "-c", "core.bigFileThreshold=8m", "-c", "core.safecrlf=false"] as const;
const plain = ["--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=all"] as const;

/** Puts one side of files into an index. */
export async function putEntries(
  git: Git,
  at: GitPlace,
  sides: readonly { readonly name: TreeName; readonly side: Compared["other"] }[],
): Promise<void> {
  const lines = sides.flatMap(({ name, side }) =>
    side === null || side === "in work tree" ? [] : [`${side.mode} ${side.oid}\t${name}\0`],
  );
  if (lines.length === 0) return;
  await git.must(["update-index", "-z", "--index-info"], { at, input: Buffer.from(lines.join(""), "latin1") });
}

/** Puts files of the work tree into an index, and their content into its objects. A file deleted meanwhile counts as gone. */
export async function putWorkFiles(git: Git, at: GitPlace, files: readonly TreeName[]): Promise<void> {
  const names = files.map((name) => `${name}\0`);
  if (names.length === 0) return;
  const args = [
    ...settings,
    "-c",
    "core.looseCompression=0",
    "update-index",
    "--add",
    "--remove",
    "--replace",
    "-z",
    "--stdin",
  ];
  await git.must(args, { at, input: Buffer.from(names.join(""), "latin1") });
}

interface RawChange {
  readonly letter: string;
  readonly name: TreeName;
  readonly previous: TreeName | null;
  /** The abbreviated object ids of both sides. */
  readonly version: string;
}

function readRaw(listed: Buffer): readonly RawChange[] {
  const parts = listed.toString("latin1").split("\0");
  const changes: RawChange[] = [];
  for (let at = 0; at + 1 < parts.length; ) {
    const [, before = "", after = "", letter = ""] =
      /^:\d+ \d+ ([0-9a-f]+) ([0-9a-f]+) ([A-Z])\d*$/.exec(parts[at] ?? "") ?? [];
    const moved = letter === "R";
    const version = `${before.slice(0, 12)}-${after.slice(0, 12)}`;
    const previous = moved ? (parts[at + 1] ?? "") : null;
    changes.push({ letter, name: parts[at + (moved ? 2 : 1)] ?? "", previous, version });
    at += moved ? 3 : 2;
  }
  return changes;
}

interface Counts {
  readonly additions: number | null;
  readonly deletions: number | null;
}

/** Counts by path. Git prints `additions deletions path`; a renamed file has an empty path, then its previous and its new path. */
function readCounts(listed: Buffer): ReadonlyMap<TreeName, Counts> {
  const parts = listed.toString("latin1").split("\0");
  const counts = new Map<TreeName, Counts>();
  for (let at = 0; at + 1 < parts.length; ) {
    const [, additions = "", deletions = "", path = ""] = /^(\S+)\t(\S+)\t(.*)$/s.exec(parts[at] ?? "") ?? [];
    const numberOf = (text: string): number | null => (/^\d+$/.test(text) ? Number(text) : null);
    const name = path === "" ? (parts[at + 2] ?? "") : path;
    counts.set(name, { additions: numberOf(additions), deletions: numberOf(deletions) });
    at += path === "" ? 3 : 1;
  }
  return counts;
}

const head = Buffer.from("diff --git ");
const nextHead = Buffer.from("\ndiff --git ");

/** Splits by file: no line of a file's text starts like a patch's first line. */
function sectionsOf(patches: Buffer): readonly Buffer[] {
  const sections: Buffer[] = [];
  for (let at = patches.indexOf(head); at !== -1 && at < patches.length; ) {
    const end = patches.indexOf(nextHead, at);
    sections.push(patches.subarray(at, end === -1 ? patches.length : end + 1));
    if (end === -1) break;
    at = end + 1;
  }
  return sections;
}

const changeOf = { A: "added", D: "deleted", R: "renamed" } as const;

function toFile(
  { letter, name, previous, version }: RawChange,
  counts: Counts,
  { sections, maxPatchBytes }: { readonly sections: readonly Buffer[]; readonly maxPatchBytes: number | null },
): PatchedFile {
  const binary = counts.additions === null;
  const sizeBytes = sections.reduce((sum, { length }) => sum + length, 0);
  const cut = !binary && maxPatchBytes !== null && sizeBytes > maxPatchBytes;
  return {
    name,
    change: letter === "A" || letter === "D" || letter === "R" ? changeOf[letter] : "modified",
    previousPath: previous === null ? null : shownName(previous),
    additions: counts.additions,
    deletions: counts.deletions,
    patch: binary || cut || maxPatchBytes === null ? null : Buffer.concat(sections).toString("utf8"),
    version,
    cut,
  };
}
