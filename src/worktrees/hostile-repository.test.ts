import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { plantPrograms } from "../../test/support/planted-programs.ts";
import { createWorktreeWorld, gitIn } from "../../test/support/worktree-world.ts";

test("git runs nothing that a repository configures when a worktree is made, closed, recreated or restored", async () => {
  const world = await createWorktreeWorld();
  const marks = await plantPrograms(world);
  await writeFile(join(world.repository, ".env"), "SECRET=1\n");
  await writeFile(join(world.repository, ".worktreeinclude"), ".env\n");
  const { dir, sessionId } = await world.make("b");
  expect(await readFile(join(dir, "README.md"), "utf8")).toBe("# Scratch\n");
  expect(await readFile(join(dir, ".env"), "utf8")).toBe("SECRET=1\n");
  await writeFile(join(dir, "README.md"), "changed\n");
  await writeFile(join(dir, "new.c"), "new\n");
  await writeFile(join(dir, "new.log"), "new\n");
  expect(await marks()).toEqual([]);
  const closed = await world.worktrees.close(sessionId, { discard: false });
  expect(closed).toMatchObject({ removed: true, rescue: { files: 2 } });
  expect(await marks()).toEqual([]);
  const record = await world.worktrees.ofSession(sessionId);
  if (record === null) throw new Error("no record");
  await world.worktrees.restore(record, { force: false, visible: async (paths) => paths });
  expect(await readFile(join(dir, "README.md"), "utf8")).toBe("changed\n");
  await world.again().reconcile(async () => true);
  expect(await marks()).toEqual([]);
  // Checks that the traps work: an ordinary git command runs them.
  await gitIn(world.repository, "status").catch(() => "");
  expect(await marks()).not.toEqual([]);
});

test("git does not trust a worktree's `.git` file or its entry in the repository", async () => {
  const world = await createWorktreeWorld();
  const { dir, sessionId } = await world.make("b");
  const evil = join(world.root, "evil");
  await mkdir(evil);
  await gitIn(evil, "init", "--quiet");
  const mark = join(world.root, "mark");
  await gitIn(evil, "config", "core.fsmonitor", `touch ${mark}; false`);
  await writeFile(join(evil, ".git", "hooks", "reference-transaction"), `#!/bin/sh\ntouch ${mark}\n`, { mode: 0o755 });
  const entry = join(world.repository, ".git", "worktrees", "b");
  await writeFile(join(dir, ".git"), `gitdir: ${evil}/.git\n`);
  await writeFile(join(entry, "commondir"), `${evil}/.git\n`);
  await writeFile(join(dir, "new"), "new\n");
  const stays = await world.worktrees.close(sessionId, { discard: false });
  expect(stays).toMatchObject({ removed: false, reason: expect.stringContaining("was changed") });
  await writeFile(join(entry, "commondir"), "../..\n");
  const closed = await world.worktrees.close(sessionId, { discard: false });
  expect(closed).toMatchObject({ removed: true, rescue: { files: 1 } });
  expect(await world.git("show", `refs/postern/rescue/${sessionId}:new`)).toBe("new\n");
  expect(existsSync(mark)).toBe(false);
  expect(await readdir(join(evil, ".git", "refs"))).toEqual(["heads", "tags"]);
});

test("the environment of the gateway does not reach git", async () => {
  const world = await createWorktreeWorld();
  const mark = join(world.root, "mark"); // a trace would be written into it
  const planted = {
    GIT_TRACE: mark,
    GIT_OBJECT_DIRECTORY: join(world.root, "nowhere"),
    GIT_DIR: join(world.root, "nowhere"),
    GIT_EXTERNAL_DIFF: `touch ${mark}`,
    GIT_CONFIG_COUNT: "1",
    GIT_CONFIG_KEY_0: "core.fsmonitor",
    GIT_CONFIG_VALUE_0: `touch ${mark}; false`,
  };
  Object.assign(process.env, planted);
  try {
    const { dir, sessionId } = await world.make("b");
    await writeFile(join(dir, "new"), "new\n");
    expect(await world.worktrees.close(sessionId, { discard: false })).toMatchObject({
      removed: true,
      rescue: { files: 1 },
    });
  } finally {
    for (const name of Object.keys(planted)) delete process.env[name];
  }
  expect(existsSync(mark)).toBe(false);
});

test("closing a folder full of links follows none", async () => {
  const world = await createWorktreeWorld();
  const { dir, sessionId } = await world.make("b");
  const outside = join(world.root, "outside");
  await mkdir(outside);
  await writeFile(join(outside, "precious"), "precious");
  const { symlink } = await import("node:fs/promises");
  await symlink(outside, join(dir, "out"));
  await symlink(".", join(dir, "round"));
  const closed = await world.worktrees.close(sessionId, { discard: false });
  expect(closed).toMatchObject({ removed: true, rescue: { files: 2 } });
  expect(await readFile(join(outside, "precious"), "utf8")).toBe("precious");
  expect(await world.git("ls-tree", "-r", "--name-only", closed?.rescue?.commit ?? "")).not.toContain("precious");
});
