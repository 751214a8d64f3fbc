import { chmod, lchown, mkdir, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { errorCode } from "../../test/support/error-code.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { makePrivateFolder, makeRunFolder } from "./private-folders.ts";

let path: string;

beforeEach(async () => {
  path = join(await makeTempFolder(), "postern");
});

async function modeOf(folder: string): Promise<string> {
  return ((await stat(folder)).mode & 0o777).toString(8);
}

async function folderWithMode(mode: number): Promise<void> {
  await mkdir(path);
  await chmod(path, mode);
}

test("a private folder is made, and one that others may enter is closed to them", async () => {
  await makePrivateFolder(join(path, "deep"));
  expect(await modeOf(join(path, "deep"))).toBe("700");
  await chmod(path, 0o775);
  await makePrivateFolder(path);
  expect(await modeOf(path)).toBe("700");
});

describe("the folder of the sockets", () => {
  test("is made, is there the next time, and is closed to others", async () => {
    await makeRunFolder(path);
    await makeRunFolder(path);
    expect(await modeOf(path)).toBe("700");
    await chmod(path, 0o755);
    await makeRunFolder(path);
    expect(await modeOf(path)).toBe("700");
  });

  test.each([0o777, 0o1777, 0o770, 0o720])("is refused when others could write to it (%o)", async (mode) => {
    await folderWithMode(mode);
    expect(await errorCode(makeRunFolder(path))).toBe("run_dir_unsafe");
  });

  test("is refused when it is a file or a link, wherever that leads", async () => {
    await writeFile(path, "");
    expect(await errorCode(makeRunFolder(path))).toBe("run_dir_unsafe");
    await symlink(".", `${path}-link`);
    expect(await errorCode(makeRunFolder(`${path}-link`))).toBe("run_dir_unsafe");
    await symlink("nowhere", `${path}-dangling`);
    expect(await errorCode(makeRunFolder(`${path}-dangling`))).toBe("run_dir_unsafe");
  });

  const root = process.geteuid?.() === 0;
  test.skipIf(!root)(
    `is refused when it belongs to somebody else${root ? "" : " (skipped: only root can give a folder away)"}`,
    async () => {
      await folderWithMode(0o700);
      await lchown(path, 65_534, 65_534);
      expect(await errorCode(makeRunFolder(path))).toBe("run_dir_unsafe");
      await makePrivateFolder(path);
    },
  );
});
