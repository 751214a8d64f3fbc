import { closeSync, constants, fstatSync, openSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { messageOf, PosternError } from "../core/errors.ts";

/** The directory that a program is to work in, held open. */
export interface WorkingDir {
  /** For the program's `chdir`: leads to the directory that was opened, whatever its path leads to by then. */
  readonly path: string;
  /** Checks after the start, where `path` may lead elsewhere by then. @throws PosternError `dir_changed` */
  verify(): void;
  close(): void;
}

/** Linux's own, which Node does not name: a handle for which the directory need not be readable. */
const O_PATH = 0o10000000;

/**
 * Opens a directory that is where its path says. The folder rule allows a path; when it, or a folder above it, was replaced by a link
 * since, it leads to a directory that the rule may not allow.
 * @throws PosternError `dir_changed` when a part of the path is a link, `spawn_failed` when there is no such directory
 */
export function openWorkingDir(dir: string): WorkingDir {
  const onLinux = process.platform === "linux";
  let fd: number;
  try {
    fd = openSync(dir, constants.O_DIRECTORY | (onLinux ? O_PATH : constants.O_RDONLY));
  } catch (error) {
    throw new PosternError("spawn_failed", `Cannot start a terminal: ${messageOf(error)}.`);
  }
  const refuse = (): never => {
    closeSync(fd);
    throw changed(dir);
  };
  if (onLinux) {
    const path = `/proc/self/fd/${fd}`;
    return readlinkSync(path) === dir ? { path, verify: () => undefined, close: () => closeSync(fd) } : refuse();
  }
  // No path leads to what is open: compared before the start and after it.
  const { dev, ino } = fstatSync(fd);
  const isSame = (): boolean => {
    const now = statSync(dir, { throwIfNoEntry: false });
    return now?.dev === dev && now.ino === ino && realpathSync(dir) === dir;
  };
  if (!isSame()) refuse();
  return {
    path: dir,
    verify() {
      if (!isSame()) throw changed(dir);
    },
    close: () => closeSync(fd),
  };
}

function changed(dir: string): PosternError {
  return new PosternError(
    "dir_changed",
    `${dir} is no longer the directory that was checked: it, or a folder above it, was replaced by a link.`,
  );
}
