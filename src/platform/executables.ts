import { access, constants, stat } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";
import { isErrno } from "../core/errors.ts";

/**
 * The absolute path of the program `name` (without a slash) in `pathVariable`, which has the form of `PATH`; null when there is none.
 * Relative and empty entries are ignored: they depend on the current directory, and no program is taken from an agent's directory.
 */
export async function findExecutable(name: string, pathVariable: string): Promise<string | null> {
  if (name === "" || name.includes("/") || name.includes("\0")) return null;
  for (const folder of pathVariable.split(delimiter)) {
    if (!isAbsolute(folder)) continue;
    const candidate = join(folder, name);
    if (await isExecutableFile(candidate)) return candidate;
  }
  return null;
}

/** Whether `path` is a regular file (or a link to one) that this user can execute. */
export async function isExecutableFile(path: string): Promise<boolean> {
  try {
    if (!(await stat(path)).isFile()) return false;
    await access(path, constants.X_OK);
    return true;
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR", "EACCES", "ELOOP", "ENAMETOOLONG", "EPERM")) return false;
    throw error;
  }
}
