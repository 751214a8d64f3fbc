import { execFile } from "node:child_process";
import { mkdir, symlink, truncate, writeFile } from "node:fs/promises";
import { promisify } from "node:util";

/** Things that a repository, or a child of an agent, can put where the gateway expects a small file. */
export const endlessFiles: Readonly<Record<string, (path: string) => Promise<unknown>>> = {
  "a link to a device without an end": (path) => symlink("/dev/zero", path),
  "a pipe that nobody writes to": (path) => promisify(execFile)("mkfifo", [path]),
  "a link to a pipe": async (path) => {
    await promisify(execFile)("mkfifo", [`${path}.pipe`]);
    await symlink(`${path}.pipe`, path);
  },
  "a sparse file of 1 TB": async (path) => {
    await writeFile(path, "");
    await truncate(path, 1024 ** 4);
  },
  "a folder": (path) => mkdir(path),
};
