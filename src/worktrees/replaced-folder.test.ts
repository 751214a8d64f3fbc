import { existsSync } from "node:fs";
import { mkdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { errorCode } from "../../test/support/error-code.ts";
import { createWorktreeWorld, gitIn } from "../../test/support/worktree-world.ts";
import { newUuid } from "../core/ids.ts";

/** The repository is replaced by a link to another one, whose ignored file a worktree would get. */
async function makeScene() {
  const world = await createWorktreeWorld();
  const other = join(world.root, "other");
  const away = join(world.root, "away");
  await mkdir(other);
  await gitIn(other, "init", "--quiet", "--initial-branch=main");
  await writeFile(join(other, ".gitignore"), ".env\n");
  await writeFile(join(other, ".worktreeinclude"), ".env\n");
  await gitIn(other, "add", "--all");
  await gitIn(other, "commit", "--quiet", "--message=Other");
  await writeFile(join(other, ".env"), "KEY=secret\n");
  const swap = async (): Promise<void> => {
    await rename(world.repository, away);
    await symlink(other, world.repository);
  };
  const putBack = async (): Promise<void> => {
    await rm(world.repository);
    await rename(away, world.repository);
  };
  return { world, other, swap, putBack };
}

const request = (dir: string) => ({ sessionId: newUuid(), dir, baseBranch: "main", branch: "made" });

test("a repository that is replaced by a link while the folder rule is asked is not used", async () => {
  const { world, other, swap, putBack } = await makeScene();
  let swapped = false;
  const mayUse = async (): Promise<boolean> => {
    if (!swapped) await swap();
    swapped = true;
    return true;
  };
  expect(await errorCode(world.worktrees.make(request(world.repository), mayUse))).toBe("dir_not_allowed");
  expect(await gitIn(other, "branch", "--list", "made")).toBe("");
  expect(existsSync(join(world.root, "made"))).toBe(false);
  await putBack();
  await world.worktrees.make(request(world.repository), async () => true);
  expect(await readFile(join(world.root, "made", "README.md"), "utf8")).toBe("# Scratch\n");
});

test.each(["intent", "branch", "checked out", "included"] as const)(
  "a repository that is replaced by a link after the step %s is refused, and the other one stays as it was",
  async (at) => {
    const { world, other, swap, putBack } = await makeScene();
    const worktrees = world.again({ onStep: async (step) => (step === at ? swap() : undefined) });
    expect(await errorCode(worktrees.make(request(world.repository), async () => true))).toBe("dir_not_allowed");
    expect(await gitIn(other, "branch", "--list", "made")).toBe("");
    expect(existsSync(join(world.root, "made", ".env"))).toBe(false);
    await putBack();
  },
);
