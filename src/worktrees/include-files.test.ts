import { existsSync } from "node:fs";
import { lstat, mkdir, readFile, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { errorCode } from "../../test/support/error-code.ts";
import { createWorktreeWorld, gitIn, type WorktreeWorld } from "../../test/support/worktree-world.ts";

async function worldWith(patterns: string): Promise<WorktreeWorld> {
  const world = await createWorktreeWorld();
  await writeFile(join(world.repository, ".worktreeinclude"), patterns);
  return world;
}

test("copies only ignored files that it names: no tracked, untracked or excluded ones", async () => {
  const world = await worldWith(".env\n/config/*.log\n!/config/big.log\nREADME.md\nnotes\n");
  const { repository } = world;
  await mkdir(join(repository, "config"));
  await writeFile(join(repository, ".env"), "SECRET=1\n", { mode: 0o600 });
  await writeFile(join(repository, "config", "a.log"), "a");
  await writeFile(join(repository, "config", "big.log"), "big");
  await writeFile(join(repository, "other.log"), "other");
  await writeFile(join(repository, "notes"), "not ignored");
  await writeFile(join(repository, "README.md"), "dirty");
  const { dir, sessionId } = await world.make("b");
  expect(await readFile(join(dir, ".env"), "utf8")).toBe("SECRET=1\n");
  expect((await lstat(join(dir, ".env"))).mode & 0o777).toBe(0o600);
  expect(await readFile(join(dir, "config", "a.log"), "utf8")).toBe("a");
  for (const name of ["config/big.log", "other.log", "notes"]) expect(existsSync(join(dir, name)), name).toBe(false);
  expect(await readFile(join(dir, "README.md"), "utf8")).toBe("# Scratch\n");
  expect(await world.worktrees.close(sessionId, { discard: false })).toMatchObject({
    rescue: null,
    ignoredLost: { count: 2, first20: [".env", "config/a.log"] },
  });
});

test("copied files are in no rescue, even if the worktree does not ignore them", async () => {
  const world = await worldWith(".env\n");
  await writeFile(join(world.repository, ".env"), "SECRET=1\n");
  const { dir, sessionId } = await world.make("b");
  await writeFile(join(dir, ".gitignore"), "");
  await writeFile(join(dir, ".env"), "SECRET=2\n");
  const closed = await world.worktrees.close(sessionId, { discard: false });
  expect(closed).toMatchObject({ rescue: { files: 1 }, ignoredLost: { first20: [".env"] } });
  expect(await world.git("ls-tree", "-r", "--name-only", closed?.rescue?.commit ?? "")).not.toContain(".env");
});

test("follows no link out of the repository or into the worktree, and overwrites nothing", async () => {
  const world = await worldWith("*.log\n");
  const { repository, root } = world;
  await writeFile(join(root, "outside.log"), "outside");
  await symlink(join(root, "outside.log"), join(repository, "link.log"));
  await mkdir(join(root, "outside"));
  await writeFile(join(root, "outside", "x.log"), "outside");
  await symlink(join(root, "outside"), join(repository, "folder"));
  // On `other`, a folder of main is a link, and a file that main ignores is tracked.
  await world.git("checkout", "--quiet", "-b", "other");
  await symlink(join(root, "outside"), join(repository, "logs"));
  await writeFile(join(repository, "kept.log"), "tracked");
  await world.git("add", "--force", "logs", "kept.log");
  await world.git("commit", "--quiet", "-m", "a link");
  await world.git("checkout", "--quiet", "main");
  await mkdir(join(repository, "logs"));
  await writeFile(join(repository, "logs", "y.log"), "inside");
  await writeFile(join(repository, "kept.log"), "ignored");
  const { dir } = await world.make("b", { baseBranch: "other" });
  expect(existsSync(join(dir, "link.log"))).toBe(false);
  expect(existsSync(join(root, "outside", "y.log"))).toBe(false);
  expect(await readFile(join(dir, "kept.log"), "utf8")).toBe("tracked");
  expect(await gitIn(dir, "status", "--porcelain")).toBe("");
});

test("rejects more than 1,000 files or 100 MB and leaves nothing behind", async () => {
  const world = await worldWith("*.log\n");
  await writeFile(join(world.repository, "big.log"), "");
  await truncate(join(world.repository, "big.log"), 101 * 1024 * 1024);
  expect(await errorCode(world.make("b"))).toBe("too_large");
  await truncate(join(world.repository, "big.log"), 0);
  for (let index = 0; index < 1_000; index += 1) await writeFile(join(world.repository, `${index}.log`), "");
  expect(await errorCode(world.make("b"))).toBe("too_large");
  expect(existsSync(join(world.root, "b"))).toBe(false);
  expect(await world.git("branch", "--list", "b")).toBe("");
});
