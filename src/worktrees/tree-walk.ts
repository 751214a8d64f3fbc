import { lstat, readdir } from "node:fs/promises";

/**
 * A path inside a work tree, one character for each of its bytes: file names are bytes, and not all of them are UTF-8.
 * @see shownName
 */
export type TreeName = string;

/** An entry in a work tree that is not a folder. */
export interface WalkedEntry {
  readonly name: TreeName;
  readonly kind: "file" | "link" | "special";
  /** Whether the file's owner can execute it, which is what git records. */
  readonly executable: boolean;
  readonly sizeBytes: number;
}

/** The content of a work tree. */
export interface Walk {
  readonly entries: readonly WalkedEntry[];
  /** Nested repositories; `.` if the root has become one. */
  readonly repositories: readonly TreeName[];
}

// Far beyond a work tree with its dependencies; the walk needs some 200 bytes of memory per entry.
const maxEntries = 1_000_000;
const readsAtOnce = 64;

/** The bytes of a path below `root`. */
export function bytesOf(root: string, name: TreeName): Buffer {
  return name === "" ? Buffer.from(root) : Buffer.concat([Buffer.from(`${root}/`), Buffer.from(name, "latin1")]);
}

/** For display; bytes that are not UTF-8 are replaced. */
export function shownName(name: TreeName): string {
  return Buffer.from(name, "latin1").toString("utf8");
}

/** For a path that is UTF-8. */
export function toName(path: string): TreeName {
  return Buffer.from(path, "utf8").toString("latin1");
}

/** The tree has more files than a walk allows. */
export class TreeTooLarge extends Error {}

/**
 * Walks a work tree without following any link. Rejects if a folder cannot be read, so that nothing is missed silently.
 * @throws TreeTooLarge if it has more files than `mostEntries`
 */
export async function walkTree(root: string, mostEntries: number = maxEntries): Promise<Walk> {
  const entries: WalkedEntry[] = [];
  const repositories: TreeName[] = [];
  const folders: TreeName[] = [""];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const found = await readdir(bytesOf(root, folder), { withFileTypes: true, encoding: "buffer" });
    const files: TreeName[] = [];
    for (const entry of found) {
      const base = entry.name.toString("latin1");
      const name = folder === "" ? base : `${folder}/${base}`;
      const isPointer = folder === "" && base === ".git" && !entry.isDirectory();
      if (base.toLowerCase() === ".git") {
        if (!isPointer) repositories.push(folder === "" ? "." : folder);
      } else if (entry.isDirectory()) folders.push(name);
      else files.push(name);
    }
    for (let at = 0; at < files.length; at += readsAtOnce) {
      entries.push(...(await Promise.all(files.slice(at, at + readsAtOnce).map((name) => entryAt(root, name)))));
    }
    if (entries.length + folders.length > mostEntries) {
      throw new TreeTooLarge(`The worktree contains more than ${mostEntries} files.`);
    }
  }
  return { entries, repositories };
}

async function entryAt(root: string, name: TreeName): Promise<WalkedEntry> {
  const stats = await lstat(bytesOf(root, name));
  const kind = stats.isFile() ? "file" : stats.isSymbolicLink() ? "link" : "special";
  return { name, kind, executable: (stats.mode & 0o100) !== 0, sizeBytes: stats.size };
}
