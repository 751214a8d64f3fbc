import { closeSync, constants, fstatSync, openSync, readlinkSync, realpathSync, statSync } from "node:fs";

/** Linux's O_PATH, which Node does not define: works without read permission. */
const O_PATH = 0o10000000;

/** An open folder, which stays accessible when its path leads elsewhere. */
export type HeldFolder = NonNullable<ReturnType<typeof holdFolder>>;

/**
 * Opens a folder whose path has no links.
 * @returns null when a part of the path is a link
 * @throws the operating system's error
 */
export function holdFolder(path: string) {
  const onLinux = process.platform === "linux";
  const fd = openSync(path, constants.O_DIRECTORY | (onLinux ? O_PATH : constants.O_RDONLY));
  const held = `/proc/${process.pid}/fd/${fd}`;
  const folder = {
    fd,
    /** On Linux, leads any process of this user to the open folder; elsewhere the path itself. */
    path: onLinux ? held : path,
    /** Whether the path still leads to it, without links. */
    isSame: (): boolean => (onLinux ? readlinkSync(held) === path : leadsTo(path, fd)),
    close: (): void => closeSync(fd),
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
