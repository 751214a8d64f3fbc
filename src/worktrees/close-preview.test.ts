import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { previewIn } from "../../test/support/session-diffs.ts";
import { createWorktreeWorld, gitIn } from "../../test/support/worktree-world.ts";

test("the preview matches what the close does", async () => {
  const world = await createWorktreeWorld();
  await writeFile(join(world.repository, ".env"), "SECRET=1\n");
  await writeFile(join(world.repository, ".worktreeinclude"), ".env\n");
  const { sessionId, dir } = await world.make("feat/a");
  const untouched = await previewIn(world, sessionId);
  expect(untouched).toEqual({
    path: dir,
    branch: "feat/a",
    files: 0,
    ignored: { count: 1, bytes: 9 },
    complete: true,
    keepsBecause: null,
  });
  await writeFile(join(dir, "committed.txt"), "x\n");
  await gitIn(dir, "add", "committed.txt");
  await gitIn(dir, "commit", "--quiet", "--message=Work");
  await writeFile(join(dir, "README.md"), "changed\n");
  await writeFile(join(dir, "new.txt"), "new\n");
  await gitIn(dir, "rm", "--quiet", "run.sh");
  await mkdir(join(dir, "node_modules"));
  await writeFile(join(dir, "node_modules", "module.js"), "12345678");
  const preview = await previewIn(world, sessionId);
  expect(preview).toMatchObject({ files: 3, ignored: { count: 2, bytes: 17 }, keepsBecause: null });

  const closed = await world.worktrees.close(sessionId, { discard: false });
  expect(closed).toMatchObject({ removed: true, rescue: { files: 3 }, ignoredLost: preview?.ignored });
  expect(await previewIn(world, sessionId)).toBeNull();
});

test("the preview gives the same reason as the close for keeping a worktree", async () => {
  const world = await createWorktreeWorld();
  const { sessionId, dir } = await world.make("feat/b");
  await gitIn(dir, "init", "--quiet", "nested");
  const nested = await previewIn(world, sessionId);
  expect(nested?.keepsBecause).toContain("another git repository at nested");
  expect((await world.worktrees.close(sessionId, { discard: false }))?.reason).toBe(nested?.keepsBecause);
  await world.git("worktree", "lock", "--reason", "mine", dir);
  const locked = await previewIn(world, sessionId);
  expect(locked?.keepsBecause).toContain("locked (mine)");
  expect((await world.worktrees.close(sessionId, { discard: false }))?.reason).toBe(locked?.keepsBecause);
});

test("unreadable files keep the worktree and are not an error", async () => {
  const world = await createWorktreeWorld();
  const { sessionId, dir } = await world.make("feat/c");
  await writeFile(join(world.repository, ".git", "worktrees", "feat-c", "index"), "nonsense");
  const preview = await previewIn(world, sessionId);
  expect(preview).toMatchObject({ path: dir, keepsBecause: expect.stringContaining("could not be backed up") });
  const closed = await world.worktrees.close(sessionId, { discard: false });
  expect(closed).toMatchObject({ removed: false, reason: expect.stringContaining("could not be backed up") });
});
