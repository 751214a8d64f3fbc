import { execFileSync } from "node:child_process";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { openRegularFile, readSmallFile, readSmallFileSync } from "./regular-file.ts";

test("a small file is read whole, and a larger one is reported as too large", async () => {
  const folder = await makeTempFolder();
  const path = join(folder, "file");
  for (const sizeBytes of [0, 1, 99, 100]) {
    await writeFile(path, "x".repeat(sizeBytes));
    expect(await readSmallFile(path, 100)).toEqual(Buffer.from("x".repeat(sizeBytes)));
    expect(readSmallFileSync(path, 100)).toEqual(Buffer.from("x".repeat(sizeBytes)));
  }
  await writeFile(path, "x".repeat(101));
  expect(await readSmallFile(path, 100)).toBe("too_large");
  expect(readSmallFileSync(path, 100)).toBe("too_large");
});

test("pipes, devices, folders and links to them are not files, and never block", async () => {
  const folder = await makeTempFolder();
  const at = (name: string): string => join(folder, name);
  execFileSync("mkfifo", [at("pipe")]);
  await mkdir(at("folder"));
  for (const [name, target] of [
    ["to-pipe", "pipe"],
    ["to-folder", "folder"],
    ["to-device", "/dev/zero"],
    ["to-nothing", "nothing"],
    ["to-itself", "to-itself"],
  ] as const) {
    await symlink(target, at(name));
  }
  for (const name of ["pipe", "folder", "nothing", "to-pipe", "to-folder", "to-device", "to-nothing", "to-itself"]) {
    expect(await readSmallFile(at(name), 100), name).toBeNull();
    expect(readSmallFileSync(at(name), 100), name).toBeNull();
  }
});

test("a symbolic link is followed unless that is disabled", async () => {
  const folder = await makeTempFolder();
  await writeFile(join(folder, "file"), "text");
  await symlink("file", join(folder, "link"));
  expect(await readSmallFile(join(folder, "link"), 100)).toEqual(Buffer.from("text"));
  expect(await openRegularFile(join(folder, "link"), { followLinks: false })).toBeNull();
});
