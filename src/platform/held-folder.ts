import { closeSync, constants, fstatSync, openSync, readlinkSync, realpathSync, statSync } from "node:fs";

/** A folder that is held open, so that it stays known when its path leads elsewhere. */
export interface HeldFolder {
  readonly fd: number;
  /**
   * Leads any process of this user to the folder until it is closed, whatever its path leads to by now. Where the system has no such path (it is not
   * Linux), the path itself.
   */
  readonly path: string;
  /** Whether its path still leads to it, through no link. */
  isSame(): boolean;
  close(): void;
}

/** Linux's own, which Node does not name: a handle for which the folder need not be readable. */
const O_PATH = 0o10000000;

/**
 * Opens a folder that is where its path says.
 * @returns null when a part of the path is a link
 * @throws the operating system's error
 */
export function holdFolder(path: string): HeldFolder | null {
  const onLinux = process.platform === "linux";
  const fd = openSync(path, constants.O_DIRECTORY | (onLinux ? O_PATH : constants.O_RDONLY));
  const held = `/proc/${process.pid}/fd/${fd}`;
  const folder: HeldFolder = {
    fd,
    path: onLinux ? held : path,
    isSame: () => (onLinux ? readlinkSync(held) === path : leadsTo(path, fd)),
    close: () => closeSync(fd),
  };
  if (folder.isSame()) return folder;
  folder.close();
  return null;
}

function leadsTo(path: string, fd: number): boolean {
  const { dev, ino } = fstatSync(fd);
  const now = statSync(path, { throwIfNoEntry: false });
  return now?.dev === dev && now.ino === ino && realpathSync(path) === path;
}
