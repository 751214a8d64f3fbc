import { access, chmod, constants, lstat, mkdir, readdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { isErrno, messageOf, PosternError } from "../core/errors.ts";

/** What is in state folders: one of the first four from the first start or command on, `config.json` perhaps before. */
const stateNames: ReadonlySet<string> = new Set([
  ...["config.json", "key", "postern.db", "gateway.lock"],
  ...["backups", "gateway-id", "run", "service.env", "sessions", "terminal-host"],
]);
/** Of a new disk, and of systems that put theirs into every folder. */
const nobodysNames: ReadonlySet<string> = new Set(["lost+found", ".DS_Store", "@eaDir"]);

/**
 * Makes the folder of all that Postern keeps, which only this user may enter; one of this user's that is there is taken out of everybody
 * else's reach, unless something that is not Postern's is in it: `/srv`, say, named by mistake.
 * @throws PosternError `state_folder_unusable` where it cannot be made or written to
 */
export async function makeStateFolder(path: string): Promise<void> {
  try {
    await makeFolders(path);
    const { uid, mode } = await statFolder(path);
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
    if (!isOwn(uid) || (mode & 0o077) === 0) return;
    if (await isInOtherUse(path))
      throw new Error(`others may enter it, and what is in it is not Postern's (if it is: chmod 700 ${path})`);
    await chmod(path, 0o700);
  } catch (error) {
    const mayLet = isErrno(error, "EACCES", "EPERM") ? "Let this user write there, or choose" : "Choose";
    const advice = `${mayLet} another folder with POSTERN_HOME.`;
    const message = `Cannot use ${path}, where Postern's state goes: ${messageOf(error)}. ${advice}`;
    throw new PosternError("state_folder_unusable", message, { cause: error });
  }
}

/** Whether something is in the folder, and nothing by which a state folder is told. */
export async function isInOtherUse(path: string): Promise<boolean> {
  const names = (await readdir(path)).filter((name) => !nobodysNames.has(name));
  return names.length > 0 && !names.some((name) => stateNames.has(name));
}

/**
 * Makes the folder of the sockets, or checks one that is there: who can write to it can put a socket of their own in a socket's
 * place, and in the common folder for temporary files anybody could have made it first.
 *
 * @throws PosternError `run_dir_unsafe` | `state_folder_unusable` where it cannot be made
 */
export async function makeRunFolder(path: string): Promise<void> {
  try {
    await makeFolders(path);
  } catch (error) {
    const message = `Cannot make ${path}, where Postern's sockets go: ${messageOf(error)}. Choose another folder with POSTERN_HOME.`;
    throw new PosternError("state_folder_unusable", message, { cause: error });
  }
  await requireOwnRunFolder(path);
  await chmod(path, 0o700);
}

/**
 * Checks it and makes nothing: where it is missing no gateway runs.
 * @throws PosternError `run_dir_unsafe`
 */
export async function requireOwnRunFolder(path: string): Promise<void> {
  const there = await lstat(path).catch((error: unknown) => {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return null;
    throw error;
  });
  if (there === null) return;
  if (!there.isDirectory()) throw unsafe(path, "is no folder");
  if (!isOwn(there.uid)) throw unsafe(path, "belongs to another user");
  if ((there.mode & 0o022) !== 0) throw unsafe(path, "can be written by other users");
}

/**
 * With those above it. Whatever is there by this name is left as it is. Node's own `recursive` never comes to an end below a folder that
 * says of everything that it is not there, as /proc does.
 */
async function makeFolders(path: string): Promise<void> {
  try {
    await makeFolder(path);
  } catch (error) {
    const above = dirname(path);
    if (!isErrno(error, "ENOENT") || above === path) throw error;
    if (!(await isThere(above))) await makeFolders(above);
    await makeFolder(path); // else somebody made it in the meantime
  }
}

async function makeFolder(path: string): Promise<void> {
  await mkdir(path, { mode: 0o700 }).catch((error: unknown) => {
    if (!isErrno(error, "EEXIST")) throw error;
  });
}

/** Also as a link that leads nowhere, below which nothing can be made. */
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
    throw isErrno(error, "ENOENT") ? new Error("it is a link to what is not there") : error;
  });
  if (!there.isDirectory()) throw new Error("it is no folder");
  return there;
}

function isOwn(uid: number): boolean {
  return uid === process.geteuid?.();
}

function unsafe(path: string, why: string): PosternError {
  const message = `${path}, where Postern's sockets go, ${why}. Remove it, or choose another folder with POSTERN_HOME.`;
  return new PosternError("run_dir_unsafe", message);
}
