import { chmod, lchown, mkdir, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { errorCode } from "../../test/support/error-code.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { hasCode, messageOf } from "../core/errors.ts";
import { makeRunFolder, makeStateFolder, requireOwnRunFolder } from "./private-folders.ts";

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

describe("the state folder", () => {
  test("is created, and one that others can enter becomes private", async () => {
    await makeStateFolder(join(path, "a", "deep"));
    expect(await modeOf(join(path, "a"))).toBe("700");
    expect(await modeOf(join(path, "a", "deep"))).toBe("700");
    for (const own of ["lost+found", "config.json", "what an agent left"]) {
      await writeFile(join(path, "a", "deep", own), "");
      await chmod(join(path, "a", "deep"), 0o775);
      await makeStateFolder(join(path, "a", "deep"));
      expect(await modeOf(join(path, "a", "deep"))).toBe("700");
    }
  });

  async function refusal(folder: string): Promise<string> {
    return makeStateFolder(folder).then(
      () => "none",
      (error: unknown) => (hasCode(error, "state_folder_unusable") ? messageOf(error) : String(error)),
    );
  }

  test("is refused, with the next step, where it cannot be created", async () => {
    await folderWithMode(0o755);
    await writeFile(join(path, "file"), "");
    await symlink("nowhere", join(path, "link"));
    const words = (place: string, why: string) =>
      `Cannot use ${place} as the state folder: ${why}. Choose another folder with POSTERN_HOME.`;
    const file = join(path, "file");
    const link = join(path, "link");
    expect(await refusal(file)).toBe(words(file, "it is not a folder"));
    expect(await refusal(join(file, "x"))).toContain("ENOTDIR");
    expect(await refusal(link)).toBe(words(link, "it is a link to a missing file"));
    expect(await refusal(join(link, "x"))).toContain("ENOENT");
    expect(await refusal(path)).toBe(
      words(
        path,
        `other users can enter it, and it has files that are not Postern's (if it is the right folder: chmod 700 ${path})`,
      ),
    );
    expect(await modeOf(path)).toBe("755");
  });

  test.runIf(process.platform === "linux")("is refused at once where nothing can be created", async () => {
    expect(await refusal("/proc/x/y")).toMatch(/^Cannot use \/proc\/x\/y as the state folder: .*ENOENT/);
    expect(await errorCode(makeRunFolder("/proc/x/run"))).toBe("state_folder_unusable");
  });
});

describe("the folder of the sockets", () => {
  test("is created, reused the next time, and closed to other users", async () => {
    await makeRunFolder(path);
    await makeRunFolder(path);
    expect(await modeOf(path)).toBe("700");
    await chmod(path, 0o755);
    await makeRunFolder(path);
    expect(await modeOf(path)).toBe("700");
  });

  test("is not created by a check for a gateway", async () => {
    await requireOwnRunFolder(join(path, "run"));
    await expect(stat(path)).rejects.toThrow("ENOENT");
    await folderWithMode(0o777);
    expect(await errorCode(requireOwnRunFolder(path))).toBe("run_dir_unsafe");
  });

  test.each([0o777, 0o1777, 0o770, 0o720])("is refused when others could write to it (%o)", async (mode) => {
    await folderWithMode(mode);
    expect(await errorCode(makeRunFolder(path))).toBe("run_dir_unsafe");
  });

  test("is refused when it is a file or a symbolic link, whatever its target", async () => {
    await writeFile(path, "");
    expect(await errorCode(makeRunFolder(path))).toBe("run_dir_unsafe");
    await symlink(".", `${path}-link`);
    expect(await errorCode(makeRunFolder(`${path}-link`))).toBe("run_dir_unsafe");
    await symlink("nowhere", `${path}-dangling`);
    expect(await errorCode(makeRunFolder(`${path}-dangling`))).toBe("run_dir_unsafe");
  });

  const root = process.geteuid?.() === 0;
  test.skipIf(!root)(
    `is refused when it belongs to another user${root ? "" : " (skipped: only root can give a folder away)"}`,
    async () => {
      await folderWithMode(0o700);
      await lchown(path, 65_534, 65_534);
      expect(await errorCode(makeRunFolder(path))).toBe("run_dir_unsafe");
      await makeStateFolder(path);
    },
  );
});
