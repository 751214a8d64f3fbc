import { constants } from "node:fs";
import { access, lstat, open } from "node:fs/promises";
import { isErrno } from "../core/errors.ts";
import { bytesOf, type TreeName } from "./tree-walk.ts";

/** The kind of file at a path of a work tree. `closed`: a file that we cannot read. `gone`: nothing that git would keep. */
export type WorkFile =
  | { readonly kind: "file" | "link"; readonly sizeBytes: number; readonly mtimeMs: number }
  | { readonly kind: "closed" }
  | { readonly kind: "gone" };

/** Checks paths of one work tree. Does not follow links in a path: their targets are not in the work tree. */
export function createWorkFiles(root: string): (name: TreeName) => Promise<WorkFile> {
  const folders = new Map<TreeName, Promise<boolean>>();

  function isFolder(name: TreeName): Promise<boolean> {
    const known = folders.get(name);
    if (known !== undefined) return known;
    const looked = look(name);
    folders.set(name, looked);
    return looked;
  }

  async function look(name: TreeName): Promise<boolean> {
    const above = parentOf(name);
    if (above !== "" && !(await isFolder(above))) return false;
    return (await statsOf(root, name))?.isDirectory() === true;
  }

  return async (name) => {
    const folder = parentOf(name);
    if (folder !== "" && !(await isFolder(folder))) return { kind: "gone" };
    const stats = await statsOf(root, name);
    const facts = { sizeBytes: stats?.size ?? 0, mtimeMs: stats?.mtimeMs ?? 0 };
    if (stats?.isSymbolicLink() === true) return { kind: "link", ...facts };
    if (stats?.isFile() !== true) return { kind: "gone" };
    return (await isReadable(root, name)) ? { kind: "file", ...facts } : { kind: "closed" };
  };
}

// The same check as git's.
const lookedAtBytes = 8_000;

/** Whether a file is binary: its beginning contains a NUL. */
export async function isBinaryFile(root: string, name: TreeName): Promise<boolean> {
  try {
    const file = await open(bytesOf(root, name), constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(lookedAtBytes), 0, lookedAtBytes, 0);
      return buffer.subarray(0, bytesRead).includes(0);
    } finally {
      await file.close();
    }
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR", "EACCES", "ELOOP", "ENXIO", "EISDIR")) return false;
    throw error;
  }
}

function parentOf(name: TreeName): TreeName {
  return name.slice(0, Math.max(0, name.lastIndexOf("/")));
}

async function statsOf(root: string, name: TreeName) {
  try {
    return await lstat(bytesOf(root, name));
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR", "EACCES", "ENAMETOOLONG")) return null;
    throw error;
  }
}

async function isReadable(root: string, name: TreeName): Promise<boolean> {
  try {
    await access(bytesOf(root, name), constants.R_OK);
    return true;
  } catch (error) {
    if (isErrno(error, "EACCES", "EPERM", "ENOENT", "ENOTDIR")) return false;
    throw error;
  }
}
