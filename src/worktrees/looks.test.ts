import { chmod, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { linesOf, lookingIn } from "../../test/support/session-diffs.ts";
import { createWorktreeWorld, type WorktreeWorld } from "../../test/support/worktree-world.ts";
import { createLooks } from "./looks.ts";
import { createSessionDiff } from "./session-diff.ts";

const mine = { sessionId: "one", accountId: "me" };

/** Looks at a worktree, and what changed since. */
async function looksIn(world: WorktreeWorld) {
  const { sessionId, dir } = await world.make("feat/looks");
  const worktree = await world.worktrees.ofSession(sessionId);
  const of = { dir, worktree, visibleAmong: async (dirs: readonly string[]) => new Set(dirs) };
  const home = join(world.root, "state of postern");
  const deps = lookingIn(world.root);
  const looks = createLooks({ ...deps, home });
  const diff = createSessionDiff(deps);
  const since = (key = mine, options = {}) =>
    looks.compared(key, async (look) => diff(of, { against: "seen", look, ...options }));
  return { dir, home, looks, since, look: (key = mine) => looks.look(key, of) };
}

test("a diff since the last look has what changed since, and the repository stays as it was", async () => {
  const world = await createWorktreeWorld();
  const { dir, home, looks, look, since } = await looksIn(world);
  const write = (name: string, text: string) => writeFile(join(dir, name), text);
  await write("README.md", "# Changed\n");
  await write("same.txt", "same\n");
  await write("gone.txt", "gone\n");
  await write("noise.log", "ignored\n");
  await mkdir(join(dir, "deep"));
  await write("deep/moved.txt", "one\ntwo\nthree\nfour\n");
  const objects = join(world.repository, ".git", "objects");
  const index = join(world.repository, ".git", "worktrees", "feat-looks", "index");
  const stateOf = async () => [
    (await readdir(objects, { recursive: true })).toSorted(),
    await readFile(index),
    await world.git("for-each-ref"),
  ];
  const before = await stateOf();
  expect(await look()).toBeNull();
  expect(linesOf(await since())).toContain("modified +1 -1 README.md"); // all changes, without an earlier look

  await write("README.md", "# Changed\nAgain.\n");
  await rm(join(dir, "gone.txt"));
  await chmod(join(dir, "run.sh"), 0o644);
  await rm(join(dir, "deep/moved.txt"));
  await write("deep/there.txt", "one\ntwo\nthree\nfour\n");
  const again = await look();
  expect(again).not.toBeNull();
  const changed = [
    "modified +1 -0 README.md",
    "renamed +0 -0 deep/moved.txt deep/there.txt",
    "deleted +0 -1 gone.txt",
    "modified +0 -0 run.sh",
  ];
  const diff = await since();
  expect(linesOf(diff)).toEqual(changed);
  expect(diff).toMatchObject({ base: { name: "your last look", commit: "" }, truncated: false });
  expect(diff.files[0]?.patch).toContain(" # Changed\n+Again.\n");
  // Looked at again without a change: still the same. Another account has its own.
  expect(await look()).toEqual(again);
  expect(linesOf(await since())).toEqual(changed);
  expect(await look({ ...mine, accountId: "other" })).toBeNull();
  expect(await stateOf()).toEqual(before);

  // A commit changes no file.
  await world.git("-C", dir, "add", "--all");
  await world.git("-C", dir, "commit", "--quiet", "--message=Work");
  expect(linesOf(await since())).toEqual(changed);
  await write("late.txt", "late\n");
  await look();
  expect(linesOf(await since())).toEqual(["untracked +1 -0 late.txt"]);
  expect(linesOf(await since(mine, { patches: false }))).toEqual(["untracked +1 -0 late.txt"]);

  const [folder = ""] = await readdir(join(home, "looks"));
  const places = await readdir(join(home, "looks", folder));
  const kept = await Promise.all(places.map((place) => readdir(join(home, "looks", folder, place))));
  expect(kept.map(({ length }) => length).toSorted((a, b) => a - b)).toEqual([2, 3]); // its looks, and their list
  await looks.forget(["none", "one"]);
  expect(await readdir(join(home, "looks"))).toEqual([]);
});

test("files beyond the limits are not remembered, and do not look unchanged", async () => {
  const world = await createWorktreeWorld();
  const { dir, look, since } = await looksIn(world);
  await look();
  await writeFile(join(dir, "small.txt"), "small\n");
  expect(await look()).not.toBeNull();
  await writeFile(join(dir, "large.bin"), Buffer.alloc(9 * 1024 * 1024));
  expect(await look()).toBeNull();
  expect(linesOf(await since())).toEqual(["untracked +? -? large.bin", "untracked +1 -0 small.txt"]);
});
