import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { draftFile, writeFileAtomic } from "./files.ts";

test("a file is replaced as a whole and readable by its owner alone, whatever it was before", async () => {
  const folder = await makeTempFolder();
  const path = join(folder, "file");
  await writeFile(path, "old", { mode: 0o644 });
  await writeFileAtomic(path, "new 🦊");
  expect(await readFile(path, "utf8")).toBe("new 🦊");
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  await writeFileAtomic(path, "wide", { mode: 0o666, durable: false });
  expect((await stat(path)).mode & 0o777).toBe(0o666);
  expect(await readdir(folder)).toEqual(["file"]);
});

test("readers always see a whole file", async () => {
  const path = join(await makeTempFolder(), "file");
  const texts = ["a".repeat(300_000), "b".repeat(300_000)];
  await writeFileAtomic(path, texts[0] ?? "");
  let writing = true;
  const writes = (async () => {
    for (let round = 0; round < 40; round += 1) await writeFileAtomic(path, texts[round % 2] ?? "", { durable: false });
    writing = false;
  })();
  while (writing) expect(texts).toContain(await readFile(path, "utf8"));
  await writes;
});

test("a failed write leaves nothing behind", async () => {
  const folder = await makeTempFolder();
  await mkdir(join(folder, "taken"));
  await expect(writeFileAtomic(join(folder, "taken"), "text")).rejects.toThrow();
  await expect(writeFileAtomic(join(folder, "missing", "file"), "text")).rejects.toThrow("ENOENT");
  expect(await readdir(folder)).toEqual(["taken"]);
});

test("a draft changes nothing until it is committed, and is removed when it is discarded", async () => {
  const folder = await makeTempFolder();
  const path = join(folder, "file");
  const draft = await draftFile(path, "text");
  await expect(stat(path)).rejects.toThrow("ENOENT");
  await draft.discard();
  await draft.discard();
  expect(await readdir(folder)).toEqual([]);
  await (await draftFile(path, "text")).commit();
  expect(await readdir(folder)).toEqual(["file"]);
});
