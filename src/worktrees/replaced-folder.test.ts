import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { errorCode } from "../../test/support/error-code.ts";
import { createWorktreeWorld, gitIn } from "../../test/support/worktree-world.ts";
import { newUuid } from "../core/ids.ts";
import { findExecutable } from "../platform/executables.ts";

type Scene = Awaited<ReturnType<typeof makeScene>>;

/** Replaces the repository with a link to another one, whose ignored file would be copied to a worktree. */
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

test("rejects a repository that is replaced by a link while the folder rule is checked", async () => {
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
  "rejects a repository replaced by a link after the step %s, and leaves the other one unchanged",
  async (at) => {
    const { world, other, swap, putBack } = await makeScene();
    const worktrees = world.again({ onStep: async (step) => (step === at ? swap() : undefined) });
    expect(await errorCode(worktrees.make(request(world.repository), async () => true))).toBe("dir_not_allowed");
    expect(await gitIn(other, "branch", "--list", "made")).toBe("");
    expect(existsSync(join(world.root, "made", ".env"))).toBe(false);
    await putBack();
  },
);

/** Real git, except that the repository is replaced by a link while one of its commands runs. */
async function gitThatSwaps({ world, other }: Scene, command: string): Promise<string> {
  const folder = join(world.root, "bin");
  const git = await findExecutable("git", process.env["PATH"] ?? "");
  await mkdir(folder);
  const script = `#!/bin/sh
case " $* " in *" ${command} "*) ;; *) exec '${git}' "$@" ;; esac
mv '${world.repository}' '${world.repository}.away' && ln -s '${other}' '${world.repository}' || exit 99
'${git}' "$@"; code=$?
rm '${world.repository}' && mv '${world.repository}.away' '${world.repository}' || exit 99
echo x >> '${folder}/swaps'
exit $code
`;
  await writeFile(join(folder, "git"), script, { mode: 0o755 });
  return folder;
}

// Only Linux has paths to open handles.
test.skipIf(process.platform !== "linux").each(["rev-parse", "update-ref", "ls-files", "worktree", "read-tree"])(
  "does not use another repository that a link briefly puts in place while `git %s` runs (Linux)",
  async (command) => {
    const scene = await makeScene();
    const { world, other } = scene;
    // It knows the same commits.
    await gitIn(other, "fetch", "--quiet", world.repository, "main");
    await gitIn(other, "reset", "--quiet", "--hard", "FETCH_HEAD");
    await writeFile(join(world.repository, ".worktreeinclude"), ".env\n");
    await writeFile(join(world.repository, ".env"), "KEY=own\n");
    const folder = await gitThatSwaps(scene, command);
    const worktrees = world.again({ pathVariable: folder });
    const refused = await errorCode(worktrees.make(request(world.repository), async () => true));
    expect(await readFile(join(folder, "swaps"), "utf8")).toMatch(/^x/);
    expect(await gitIn(other, "branch", "--list", "made")).toBe("");
    expect(existsSync(join(other, ".git", "worktrees"))).toBe(false);
    const made = join(world.root, "made");
    if (command === "worktree") {
      // Git writes to the repository's new location.
      expect(refused).toBe("worktree_failed");
      expect(existsSync(made)).toBe(false);
      expect(await gitIn(world.repository, "branch", "--list", "made")).toBe("");
      expect(await readdir(join(world.repository, ".git", "worktrees")).catch(() => [])).toEqual([]);
    } else {
      expect(refused).toBeNull();
      expect(await readFile(join(made, ".env"), "utf8")).toBe("KEY=own\n");
      expect(await gitIn(made, "status", "--porcelain")).toBe("");
    }
  },
);
