import { access, chmod, constants, lstat, mkdir, readdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { isErrno, messageOf, PosternError } from "../core/errors.ts";

/** Names in a state folder, which contains one of the first four from its first use. */
const stateNames: ReadonlySet<string> = new Set([
  ...["config.json", "key", "postern.db", "gateway.lock"],
  ...["backups", "gateway-id", "run", "service.env", "sessions", "terminal-host"],
]);
/** Created by file systems and operating systems. */
const systemNames: ReadonlySet<string> = new Set(["lost+found", ".DS_Store", "@eaDir"]);

/**
 * Creates the state folder, which only this user can enter. An existing folder of this user becomes private, unless it has foreign files:
 * a folder such as `/srv`, given by mistake.
 * @throws PosternError `state_folder_unusable` when it cannot be created or written to
 */
export async function makeStateFolder(path: string): Promise<void> {
  try {
    await makeFolders(path);
    const { uid, mode } = await statFolder(path);
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
    if (!isOwn(uid) || (mode & 0o077) === 0) return;
    if (await isInOtherUse(path))
      throw new Error(
        `other users can enter it, and it has files that are not Postern's (if it is the right folder: chmod 700 ${path})`,
      );
    await chmod(path, 0o700);
  } catch (error) {
    const fix = isErrno(error, "EACCES", "EPERM") ? "Make it writable for this user, or choose" : "Choose";
    const advice = `${fix} another folder with POSTERN_HOME.`;
    const message = `Cannot use ${path} as the state folder: ${messageOf(error)}. ${advice}`;
    throw new PosternError("state_folder_unusable", message, { cause: error });
  }
}

/** Whether the folder has files, but none of those that a state folder has. */
export async function isInOtherUse(path: string): Promise<boolean> {
  const names = (await readdir(path)).filter((name) => !systemNames.has(name));
  return names.length > 0 && !names.some((name) => stateNames.has(name));
}

/**
 * Creates or checks the folder of the sockets: anyone who can write to it can replace a socket, and anyone could have created it in the
 * shared folder for temporary files.
 * @throws PosternError `run_dir_unsafe` | `state_folder_unusable` when it cannot be created
 */
export async function makeRunFolder(path: string): Promise<void> {
  try {
    await makeFolders(path);
  } catch (error) {
    const message = `Cannot create ${path} for Postern's sockets: ${messageOf(error)}. Choose another folder with POSTERN_HOME.`;
    throw new PosternError("state_folder_unusable", message, { cause: error });
  }
  await requireOwnRunFolder(path);
  await chmod(path, 0o700);
}

/**
 * Checks the folder of the sockets, if it exists.
 * @throws PosternError `run_dir_unsafe`
 */
export async function requireOwnRunFolder(path: string): Promise<void> {
  const there = await lstat(path).catch((error: unknown) => {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return null;
    throw error;
  });
  if (there === null) return;
  if (!there.isDirectory()) throw unsafe(path, "is not a folder");
  if (!isOwn(there.uid)) throw unsafe(path, "belongs to another user");
  if ((there.mode & 0o022) !== 0) throw unsafe(path, "is writable for other users");
}

/** Creates the parents too. Node's `recursive` never returns below a folder in which nothing can exist, such as /proc. */
async function makeFolders(path: string): Promise<void> {
  try {
    await makeFolder(path);
  } catch (error) {
    const above = dirname(path);
    if (!isErrno(error, "ENOENT") || above === path) throw error;
    if (!(await isThere(above))) await makeFolders(above);
    await makeFolder(path);
  }
}

async function makeFolder(path: string): Promise<void> {
  await mkdir(path, { mode: 0o700 }).catch((error: unknown) => {
    if (!isErrno(error, "EEXIST")) throw error;
  });
}

/** Also true for a broken link, because nothing can be created below it. */
async function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error: unknown) => {
      if (isErrno(error, "ENOENT")) return false;
      throw error;
    },
  );
}

async function statFolder(path: string): Promise<{ readonly uid: number; readonly mode: number }> {
  const there = await stat(path).catch((error: unknown) => {
    throw isErrno(error, "ENOENT") ? new Error("it is a link to a missing file") : error;
  });
  if (!there.isDirectory()) throw new Error("it is not a folder");
  return there;
}

function isOwn(uid: number): boolean {
  return uid === process.geteuid?.();
}

function unsafe(path: string, why: string): PosternError {
  const message = `${path}, the folder for Postern's sockets, ${why}. Remove it, or choose another folder with POSTERN_HOME.`;
  return new PosternError("run_dir_unsafe", message);
}
