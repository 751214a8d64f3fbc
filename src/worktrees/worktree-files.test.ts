import { existsSync } from "node:fs";
import { chmod, lstat, mkdir, rename, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { makeTestFolder } from "../../test/support/test-folder.ts";
import { inodeOf, isSameFolder, makeFolder, removeOwnFolder, removeTree } from "./worktree-files.ts";

async function place(): Promise<string> {
  const root = makeTestFolder("folder");
  onTestFinished(() => removeTree(root));
  await setTimeout(20); // so that its next change time differs from its birth time, at the file system's resolution
  return join(root, "made");
}

test("recognizes the folder that was made, after changes in it and moves", async () => {
  const path = await place();
  const made = await makeFolder(path);
  await setTimeout(20);
  await writeFile(join(path, "file"), "");
  await chmod(path, 0o700);
  await rename(path, `${path}-away`);
  expect(isSameFolder(await inodeOf(path), made)).toBe(false);
  await rename(`${path}-away`, path);
  expect(isSameFolder(await inodeOf(path), made)).toBe(true);
  await removeOwnFolder(path, made);
  expect(existsSync(path)).toBe(false);
});

test("a later folder in its place is another one and is kept, even with the same inode", async () => {
  const path = await place();
  const made = await makeFolder(path);
  await rmdir(path);
  await setTimeout(20);
  await mkdir(path); // on many file systems with the same inode
  await writeFile(join(path, "file"), "another's");
  expect(isSameFolder(await inodeOf(path), made)).toBe(false);
  await removeOwnFolder(path, made);
  expect(existsSync(join(path, "file"))).toBe(true);
});

test("compares only the recorded parts of a folder's identity", async () => {
  const path = await place();
  await mkdir(path);
  const { ino, dev } = await lstat(path, { bigint: true });
  const present = await inodeOf(path);
  expect(isSameFolder(present, `${ino}`), "recorded by an earlier version").toBe(true);
  expect(isSameFolder(present, `${ino}:d${dev}`), "where there is no time of birth").toBe(true);
  for (const other of [null, "", `${dev}`, `${ino}:d${dev + 1n}`, `${ino}:b1`, `${ino + 1n}:d${dev}`])
    expect(isSameFolder(present, other), `${other}`).toBe(false);
  await writeFile(`${path}-file`, "");
  const file = await inodeOf(`${path}-file`);
  expect([file === null, isSameFolder(file, file), isSameFolder(null, null)]).toEqual([false, false, false]);
});
