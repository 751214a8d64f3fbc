import { messageOf, PosternError } from "../core/errors.ts";
import { holdFolder } from "../platform/held-folder.ts";

/** The directory that a program is to work in, held open. */
export interface WorkingDir {
  /** For the program's `chdir`: leads to the directory that was opened, whatever its path leads to by then. */
  readonly path: string;
  /** Checks after the start, where `path` may lead elsewhere by then. @throws PosternError `dir_changed` */
  verify(): void;
  close(): void;
}

/**
 * Opens a directory that is where its path says. The folder rule allows a path; when it, or a folder above it, was replaced by a link
 * since, it leads to a directory that the rule may not allow.
 * @throws PosternError `dir_changed` when a part of the path is a link, `spawn_failed` when there is no such directory
 */
export function openWorkingDir(dir: string): WorkingDir {
  const held = hold(dir);
  if (held === null) throw changed(dir);
  return {
    // The child's own copy: it may change to it after this process has closed the folder.
    path: process.platform === "linux" ? `/proc/self/fd/${held.fd}` : dir,
    verify() {
      if (!held.isSame()) throw changed(dir);
    },
    close: held.close,
  };
}

function hold(dir: string) {
  try {
    return holdFolder(dir);
  } catch (error) {
    throw new PosternError("spawn_failed", `Cannot start a terminal: ${messageOf(error)}.`);
  }
}

function changed(dir: string): PosternError {
  return new PosternError(
    "dir_changed",
    `${dir} is no longer the directory that was checked: it, or a folder above it, was replaced by a link.`,
  );
}
