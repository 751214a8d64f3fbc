import { access, chmod, constants, lstat, mkdir, stat } from "node:fs/promises";
import { isErrno, messageOf, PosternError } from "../core/errors.ts";

/** Makes a folder that only this user may enter; one of this user's that is there is taken out of everybody else's reach. */
export async function makePrivateFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  const { uid, mode } = await stat(path);
  if (isOwn(uid) && (mode & 0o077) !== 0) await chmod(path, 0o700);
}

/**
 * The same for the folder of all that Postern keeps.
 * @throws PosternError `state_folder_unusable` where it cannot be made or written to
 */
export async function makeStateFolder(path: string): Promise<void> {
  try {
    await makePrivateFolder(path);
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    const advice = "Let this user write there, or choose another folder with POSTERN_HOME.";
    const message = `Cannot use ${path}, where Postern's state goes: ${messageOf(error)}. ${advice}`;
    throw new PosternError("state_folder_unusable", message, { cause: error });
  }
}

/**
 * Makes the folder of the sockets, or checks one that is there: who can write to it can put a socket of their own in a socket's
 * place, and in the common folder for temporary files anybody could have made it first.
 *
 * @throws PosternError `run_dir_unsafe`
 */
export async function makeRunFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    // A file or a link that leads nowhere is refused below; with neither there, it is the folders above that do not let us.
    if (!isErrno(error, "EEXIST", "ENOENT")) throw error;
  }
  const there = await lstat(path);
  if (!there.isDirectory()) throw unsafe(path, "is no folder");
  if (!isOwn(there.uid)) throw unsafe(path, "belongs to another user");
  if ((there.mode & 0o022) !== 0) throw unsafe(path, "can be written by other users");
  if ((there.mode & 0o077) !== 0) await chmod(path, 0o700);
}

function isOwn(uid: number): boolean {
  return uid === process.geteuid?.();
}

function unsafe(path: string, why: string): PosternError {
  const message = `${path}, where Postern's sockets go, ${why}. Remove it, or choose another folder with POSTERN_HOME.`;
  return new PosternError("run_dir_unsafe", message);
}
