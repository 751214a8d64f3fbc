import { globSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { errorCode } from "../../test/support/error-code.ts";
import { plantPrograms } from "../../test/support/planted-programs.ts";
import { owner } from "../../test/support/publish-world.ts";
import { diffIn } from "../../test/support/session-diffs.ts";
import { createWorktreeWorld } from "../../test/support/worktree-world.ts";
import { createPublish } from "./publish.ts";

test("only publishing runs what a repository configures: reading a session's changes does not", async () => {
  const world = await createWorktreeWorld();
  const marks = await plantPrograms(world);
  await writeFile(join(world.repository, "README.md"), "changed\n");
  expect((await diffIn(world, { dir: world.repository })).files).toHaveLength(1);
  expect(await marks()).toEqual([]);
  const publish = createPublish({
    pathVariable: process.env["PATH"] ?? "",
    environment: () => ({ PATH: process.env["PATH"] ?? "", HOME: world.root }),
    ports: {
      placeOf: async () => ({ sessionId: "s1", dir: world.repository, worktree: null }),
      mayUse: async () => true,
      isAgentWorking: () => false,
      note: async () => undefined,
    },
  });
  // The planted filter is required, and fails.
  expect(await errorCode(publish.stage({ sessionId: "s1" }, owner))).toBe("git_failed");
  expect(await marks()).toContain("clean");
});

test("Git is started in known places only", () => {
  const root = join(import.meta.dirname, "../..");
  const starts = /(?:findExecutable\(|runProgram\(\[|runCommand\(\[|spawn\(|execFile\()\s*"git"/;
  const files = globSync("src/**/*.ts", { cwd: root }).filter(
    (file) => !file.endsWith(".test.ts") && starts.test(readFileSync(join(root, file), "utf8")),
  );
  expect(files.toSorted()).toEqual([
    "src/doctor/check-programs.ts", // its version
    "src/folders/clones.ts", // of a new folder
    "src/platform/git-command.ts", // without foreign programs
    "src/publish/user-git.ts", // as the user
  ]);
});
