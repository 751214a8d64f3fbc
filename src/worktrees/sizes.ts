import type { Git, GitPlace } from "../platform/git-command.ts";
import { type Differing, isSubmodule } from "./differing.ts";
import type { TreeEntry } from "./git-trees.ts";
import type { TreeName } from "./tree-walk.ts";
import { createWorkFiles, isBinaryFile, type WorkFile } from "./work-files.ts";

/** A larger file is listed without a patch, and not read. */
const maxFileBytes = 1024 * 1024;
const looksAtOnce = 64;

/** A path that differs, with what is needed to decide whether it is read. */
export interface Sized extends Differing {
  readonly work: WorkFile | null;
  /** Of both sides; null when one is too large, cannot be read, or is a repository of its own. */
  readonly sizeBytes: number | null;
  readonly isRepository: boolean;
  /** Whether a patch would show text of it, as far as is known without reading it. */
  readonly isText: boolean;
}

/** Looks at both sides of files. */
export async function sizesOf(
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
    sized.push(...(await Promise.all(some.map((file) => sizeOf(file, { path, sizes, look })))));
  }
  return sized;
}

interface Looks {
  readonly path: string;
  readonly sizes: ReadonlyMap<string, number>;
  readonly look: (name: TreeName) => Promise<WorkFile>;
}

async function sizeOf(file: Differing, { path, sizes, look }: Looks): Promise<Sized> {
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

/** Of objects that are there; a partial clone has not all of them. */
async function objectSizes(
  git: Git,
  at: GitPlace,
  entries: readonly TreeEntry[],
): Promise<ReadonlyMap<string, number>> {
  const ids = [...new Set(entries.filter((entry) => !isSubmodule(entry)).map(({ oid }) => oid))];
  if (ids.length === 0) return new Map();
  const args = ["cat-file", "--batch-check=%(objectname) %(objectsize)"];
  const told = (await git.must(args, { at, input: `${ids.join("\n")}\n` })).toString("latin1");
  const lines = told.split("\n").map((line) => line.split(" "));
  return new Map(lines.flatMap(([id = "", size = ""]) => (/^\d+$/.test(size) ? [[id, Number(size)]] : [])));
}
