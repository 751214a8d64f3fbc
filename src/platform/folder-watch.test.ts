import { appendFile, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { silentLog } from "../core/log.ts";
import { createFolderWatch, type FolderWatch } from "./folder-watch.ts";

const patience = { timeout: 5_000, interval: 20 };

async function watchFolders(maxFolders?: number): Promise<{
  readonly root: string;
  readonly watch: FolderWatch;
  readonly changed: Set<string>;
}> {
  const root = await makeTempFolder();
  const changed = new Set<string>();
  const watch = createFolderWatch({
    log: silentLog,
    onChange: (path) => void changed.add(path),
    ...(maxFolders !== undefined && { maxFolders }),
  });
  onTestFinished(() => watch.close());
  return { root, watch, changed };
}

test("a file that appears, grows or is removed is reported by its path", async () => {
  const { root, watch, changed } = await watchFolders();
  const path = join(root, "a.jsonl");
  watch.add(root);
  watch.add(root);
  await writeFile(path, "1\n");
  await expect.poll(() => [...changed], patience).toEqual([path]);
  changed.clear();
  await appendFile(path, "2\n");
  await expect.poll(() => [...changed], patience).toEqual([path]);
  changed.clear();
  await rm(path);
  await expect.poll(() => [...changed], patience).toEqual([path]);
});

test("a folder that is not there yet is waited for, however many above it are missing", async () => {
  const { root, watch, changed } = await watchFolders();
  const folder = join(root, "one/two/three");
  watch.add(folder);
  await mkdir(folder, { recursive: true });
  await expect.poll(() => changed.has(folder), patience).toBe(true);
  const path = join(folder, "a.jsonl");
  await writeFile(path, "1\n");
  await expect.poll(() => changed.has(path), patience).toBe(true);
});

test("no folder is missed while its parents are being created, and those that came make room for others", async () => {
  const { root, watch, changed } = await watchFolders();
  for (let round = 0; round < 200; round += 1) {
    const folder = join(root, `${round}`, "one/two/three");
    watch.add(folder);
    await mkdir(folder, { recursive: true });
    await expect.poll(() => changed.has(folder), { timeout: 5_000, interval: 1 }).toBe(true);
  }
});

test("a folder that another one took the place of is watched on", async () => {
  const { root, watch, changed } = await watchFolders();
  const [folder, path] = [join(root, "project"), join(root, "project/a.jsonl")];
  await mkdir(folder);
  watch.add(root);
  watch.add(folder);
  await rename(folder, join(root, "old"));
  await mkdir(folder);
  await expect.poll(() => changed.has(folder), patience).toBe(true);
  changed.clear();
  await expect
    .poll(async () => {
      await appendFile(path, "1\n");
      return changed.has(path);
    }, patience)
    .toBe(true);
});

test("of more folders than allowed the rest is not watched, and it says so", async () => {
  const { root, watch } = await watchFolders(2);
  for (const name of ["a", "b"]) {
    await mkdir(join(root, name));
    watch.add(join(root, name));
  }
  expect(watch.isComplete()).toBe(true);
  watch.add(root);
  expect(watch.isComplete()).toBe(false);
});

test("after the end nothing is reported", async () => {
  const { root, watch, changed } = await watchFolders();
  watch.add(root);
  watch.close();
  watch.close();
  watch.add(root);
  await writeFile(join(root, "a.jsonl"), "1\n");
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect([...changed]).toEqual([]);
});
