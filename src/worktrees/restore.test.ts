import { existsSync } from "node:fs";
import { chmod, lstat, mkdir, readFile, readlink, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { errorCode } from "../../test/support/error-code.ts";
import { createWorktreeWorld, gitIn, type WorktreeWorld } from "../../test/support/worktree-world.ts";
import type { WorktreeRecord } from "./worktree-store.ts";

const visible = async <T extends string>(paths: readonly T[]): Promise<readonly T[]> => paths;

async function recordOf(world: WorktreeWorld, sessionId: string): Promise<WorktreeRecord> {
  const record = await world.worktrees.ofSession(sessionId);
  if (record === null) throw new Error("The session has no worktree.");
  return record;
}

/** A worktree that was closed with work in it. */
async function rescued(world: WorktreeWorld) {
  const { dir, sessionId } = await world.make("b");
  await writeFile(join(dir, "README.md"), "changed\n");
  await writeFile(join(dir, "bytes"), Buffer.from([0, 255, 13, 10]), { mode: 0o755 });
  await mkdir(join(dir, "deep", "er"), { recursive: true });
  await symlink("../../README.md", join(dir, "deep", "er", "link"));
  await rm(join(dir, "src"), { recursive: true });
  await world.worktrees.close(sessionId, { discard: false });
  return { dir, sessionId };
}

test("restores a rescue byte for byte into a recreated worktree, and keeps the ref until it is dropped", async () => {
  const world = await createWorktreeWorld();
  const { dir, sessionId } = await rescued(world);
  const { paths } = await world.worktrees.rescueOf(await recordOf(world, sessionId));
  expect(paths.map(({ name, change }) => `${change} ${name}`)).toEqual([
    "modified README.md",
    "added bytes",
    "added deep/er/link",
    "deleted src/main.c",
  ]);
  expect(await world.worktrees.restore(await recordOf(world, sessionId), { force: false, visible })).toHaveLength(4);
  expect(await readFile(join(dir, "README.md"), "utf8")).toBe("changed\n");
  expect(await readFile(join(dir, "bytes"))).toEqual(Buffer.from([0, 255, 13, 10]));
  expect((await lstat(join(dir, "bytes"))).mode & 0o111).not.toBe(0);
  expect(await readlink(join(dir, "deep", "er", "link"))).toBe("../../README.md");
  expect(existsSync(join(dir, "src"))).toBe(false);
  expect(await world.worktrees.restore(await recordOf(world, sessionId), { force: false, visible }), "again").toEqual(
    [],
  );
  expect(await world.worktrees.rescued()).toHaveLength(1);
  await world.worktrees.drop(await recordOf(world, sessionId));
  expect(await world.git("for-each-ref", "refs/postern")).toBe("");
  expect(await errorCode(world.worktrees.rescueOf(await recordOf(world, sessionId)))).toBe("rescue_not_found");
});

test("without force, overwrites no changed files and restores all or nothing", async () => {
  const world = await createWorktreeWorld();
  const { dir, sessionId } = await rescued(world);
  await world.worktrees.revive(sessionId);
  await writeFile(join(dir, "bytes"), "mine");
  const refused = world.worktrees.restore(await recordOf(world, sessionId), { force: false, visible });
  await expect(refused).rejects.toThrow(/bytes.*Nothing was restored/s);
  expect(await errorCode(refused)).toBe("worktree_conflict");
  expect(await readFile(join(dir, "README.md"), "utf8")).toBe("# Scratch\n");
  expect(existsSync(join(dir, "src", "main.c"))).toBe(true);
  await world.worktrees.restore(await recordOf(world, sessionId), { force: true, visible });
  expect(await readFile(join(dir, "bytes"))).toEqual(Buffer.from([0, 255, 13, 10]));
  expect(existsSync(join(dir, "src", "main.c"))).toBe(false);
});

test("writes nothing through a link in the way", async () => {
  const world = await createWorktreeWorld();
  const { dir, sessionId } = await rescued(world);
  await world.worktrees.revive(sessionId);
  const outside = join(world.root, "outside");
  await mkdir(join(outside, "er"), { recursive: true });
  await symlink(outside, join(dir, "deep"));
  expect(await errorCode(world.worktrees.restore(await recordOf(world, sessionId), { force: false, visible }))).toBe(
    "worktree_conflict",
  );
  await world.worktrees.restore(await recordOf(world, sessionId), { force: true, visible });
  expect(existsSync(join(outside, "er", "link"))).toBe(false);
  expect(await readlink(join(dir, "deep", "er", "link"))).toBe("../../README.md");
});

test("line endings made by the checkout do not count as changes", async () => {
  const world = await createWorktreeWorld();
  await writeFile(join(world.repository, ".gitattributes"), "*.txt text eol=crlf\n");
  await writeFile(join(world.repository, "a.txt"), "one\r\n");
  await world.git("add", "--all");
  await world.git("commit", "--quiet", "-m", "crlf");
  const { dir, sessionId } = await world.make("b");
  await writeFile(join(dir, "a.txt"), "one\r\nmore\n");
  expect(await world.worktrees.close(sessionId, { discard: false })).toMatchObject({ rescue: { files: 1 } });
  await world.worktrees.revive(sessionId);
  expect(await readFile(join(dir, "a.txt"), "utf8")).toBe("one\r\n");
  await world.worktrees.restore(await recordOf(world, sessionId), { force: false, visible });
  expect(await readFile(join(dir, "a.txt"), "utf8")).toBe("one\r\nmore\n");
});

test("recreates a removed worktree from its branch at the same path, or not at all", async () => {
  const world = await createWorktreeWorld();
  const { dir, sessionId } = await world.make("b", { dir: join(world.repository, "src") });
  const root = join(world.root, "b");
  await gitIn(root, "rm", "--quiet", "-r", "src");
  await gitIn(root, "commit", "--quiet", "-m", "no src");
  await world.worktrees.close(sessionId, { discard: false });

  await world.git("checkout", "--quiet", "b");
  expect(await errorCode(world.worktrees.revive(sessionId))).toBe("branch_checked_out");
  await world.git("checkout", "--quiet", "main");
  await mkdir(root);
  expect(await errorCode(world.worktrees.revive(sessionId))).toBe("worktree_exists");
  await rm(root, { recursive: true });
  await world.worktrees.revive(sessionId);
  expect(existsSync(dir), "the agent's folder").toBe(true);
  await world.worktrees.revive(sessionId);
  await world.worktrees.close(sessionId, { discard: false });
  await world.git("branch", "-D", "b");
  expect(await errorCode(world.worktrees.revive(sessionId))).toBe("branch_not_found");
  expect(existsSync(root)).toBe(false);
});

test("recreates a worktree that was removed by hand", async () => {
  const world = await createWorktreeWorld();
  const { dir, sessionId } = await world.make("b");
  await chmod(dir, 0o700);
  await rm(dir, { recursive: true });
  await world.worktrees.revive(sessionId);
  expect(await gitIn(dir, "status", "--porcelain")).toBe("");
});

test("commits on no branch are the rescue's parent, and their files are restored with it", async () => {
  const world = await createWorktreeWorld();
  const { dir, sessionId } = await world.make("b");
  await gitIn(dir, "checkout", "--quiet", "--detach");
  await writeFile(join(dir, "committed"), "1");
  await gitIn(dir, "add", "--all");
  await gitIn(dir, "commit", "--quiet", "-m", "on no branch");
  await world.worktrees.close(sessionId, { discard: false });
  await world.worktrees.restore(await recordOf(world, sessionId), { force: false, visible });
  expect(await readFile(join(dir, "committed"), "utf8")).toBe("1");
});

test("keeps the record of a rescue if git fails to look it up", async () => {
  const world = await createWorktreeWorld();
  const { sessionId } = await rescued(world);
  const withoutGit = world.again({ pathVariable: join(world.root, "nowhere") });
  const refused = withoutGit.rescueOf(await recordOf(world, sessionId));
  await expect(refused).rejects.toThrow(/git/);
  expect(await errorCode(refused)).toBe("worktree_failed");
  const wanted = { sessionId: "other", dir: world.repository, baseBranch: "main", branch: "c" };
  expect(await errorCode(withoutGit.make(wanted, async () => true))).toBe("worktree_failed");
  expect((await world.worktrees.rescueOf(await recordOf(world, sessionId))).paths).toHaveLength(4);
});

test("only its own session can start where a worktree was removed", async () => {
  const world = await createWorktreeWorld();
  const { dir, sessionId } = await rescued(world);
  await world.worktrees.requireNotAnothers(dir, sessionId);
  for (const other of [null, "another"]) {
    const refused = world.worktrees.requireNotAnothers(join(dir, "src"), other);
    await expect(refused).rejects.toThrow(sessionId);
    expect(await errorCode(refused)).toBe("dir_not_found");
  }
  await mkdir(join(dir, "src"), { recursive: true });
  await world.worktrees.requireNotAnothers(join(dir, "src"), null);
});

test("a partly removed worktree is not reused, because the next close would remove new files in it", async () => {
  const world = await createWorktreeWorld();
  const { dir, sessionId } = await world.make("b");
  await writeFile(join(dir, "README.md"), "changed\n");
  const far = "d".repeat(200);
  const half = Array.from({ length: 12 }, () => far).join("/");
  // Too deep to be removed by its path, as ordinary files are.
  const worktrees = world.again({
    onStep: async (step) => {
      if (step !== "removing") return;
      await mkdir(join(dir, half), { recursive: true });
      await mkdir(join(world.root, "other", half), { recursive: true });
      await rename(join(world.root, "other"), join(dir, half, "other"));
    },
  });
  expect(await worktrees.close(sessionId, { discard: false })).toMatchObject({ removed: false, rescue: { files: 1 } });
  const refused = worktrees.revive(sessionId);
  expect(await errorCode(refused)).toBe("worktree_failed");
  await rename(join(dir, half, "other"), join(world.root, "other"));
  await worktrees.revive(sessionId);
  expect(await readFile(join(dir, "README.md"), "utf8")).toBe("# Scratch\n");
});
