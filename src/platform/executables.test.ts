import { chmod, mkdir, symlink, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { expect, test } from "vitest";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { findExecutable } from "./executables.ts";

async function makeProgram(folder: string, name: string, mode = 0o755): Promise<string> {
  await mkdir(folder, { recursive: true });
  const path = join(folder, name);
  await writeFile(path, "#!/bin/sh\n");
  await chmod(path, mode);
  return path;
}

test("the first folder of PATH that has the program wins", async () => {
  const root = await makeTempFolder();
  await makeProgram(join(root, "two"), "agent");
  const first = await makeProgram(join(root, "one"), "agent");
  expect(await findExecutable("agent", [join(root, "none"), join(root, "one"), join(root, "two")].join(":"))).toBe(
    first,
  );
});

test("folders, files without execute permission, and broken links are skipped", async () => {
  const root = await makeTempFolder();
  await mkdir(join(root, "a", "agent"), { recursive: true });
  await makeProgram(join(root, "b"), "agent", 0o644);
  await mkdir(join(root, "c"));
  await symlink(join(root, "nowhere"), join(root, "c", "agent"));
  const found = await makeProgram(join(root, "d"), "agent");
  expect(await findExecutable("agent", ["a", "b", "c", "d"].map((name) => join(root, name)).join(":"))).toBe(found);
});

test("relative and empty entries of PATH find nothing, nor does a name with a slash", async () => {
  const root = await makeTempFolder();
  const program = await makeProgram(root, "agent");
  expect(await findExecutable("agent", `${relative(process.cwd(), root)}::.`)).toBeNull();
  expect(await findExecutable(program, root)).toBeNull();
  expect(await findExecutable("../agent", join(root, "x"))).toBeNull();
});
