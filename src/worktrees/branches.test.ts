import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createWorktreeWorld } from "../../test/support/worktree-world.ts";
import type { Caller } from "../wire/caller.ts";
import { createBranches } from "./branches.ts";
import { createGitWorkshop } from "./git-workshop.ts";

const caller: Caller = { accountId: "owner", scopes: new Set(), folders: null };

async function setUp(isVisible: (dir: string) => boolean = () => true) {
  const world = await createWorktreeWorld();
  const { git } = createGitWorkshop({ home: join(world.root, "state"), pathVariable: process.env["PATH"] ?? "" });
  const branches = createBranches({
    branchPrefixOf: async () => null,
    git,
    resolveAllowedDir: async (dir) => ({ dir, trusted: true }),
    isVisibleDir: async (dir) => isVisible(dir),
  });
  return { ...world, branches: (dir: string) => branches(dir, caller) };
}

test("lists a repository's branches, most recent commit first, and the current branch", async () => {
  const { git, root, repository, branches, make } = await setUp();
  const tree = (await git("rev-parse", "HEAD^{tree}")).trim();
  for (const [branch, at] of [
    ["newest", 2e9],
    ["old/one", 1e9],
  ] as const) {
    const commit = `tree ${tree}\nauthor T <t@example.invalid> ${at} +0000\ncommitter T <t@example.invalid> ${at} +0000\n\n${branch}\n`;
    await writeFile(join(root, "commit"), commit);
    const id = (await git("hash-object", "-w", "-t", "commit", join(root, "commit"))).trim();
    await git("update-ref", `refs/heads/${branch}`, id);
  }
  const { dir } = await make("feat/worktree");
  const told = await branches(join(repository, "src"));
  expect(told).toMatchObject({ repository, current: "main" });
  expect([told.branches[0], told.branches.at(-1)]).toEqual(["newest", "old/one"]);
  expect(told.branches.toSorted()).toEqual(["feat/worktree", "main", "newest", "old/one"]);
  // A worktree belongs to the same repository.
  expect(await branches(dir)).toMatchObject({ repository, current: "feat/worktree" });
  await git("switch", "--quiet", "--detach");
  expect(await branches(repository)).toMatchObject({ current: null });
});

test("the suggested branch is free, and a worktree of that name can be made", async () => {
  const { repository, branches, make, git } = await setUp();
  const { suggested } = await branches(repository);
  expect(suggested).toMatch(/^postern\/[a-z]+-[a-z]+$/);
  await make(suggested);
  // A branch of this name rules out names below it.
  await git("branch", "--move", suggested, "elsewhere");
  await git("branch", "postern");
  const other = (await branches(repository)).suggested;
  expect(other).toMatch(/^postern-[a-z]+-[a-z]+/);
  await make(other);
});

test("lists no branches outside a repository, or if the caller cannot use it", async () => {
  const { root, repository, branches } = await setUp((dir) => !dir.endsWith("src"));
  const none = { repository: null, current: null, branches: [], suggested: expect.stringMatching(/^postern\//) };
  await mkdir(join(root, "plain"));
  expect(await branches(join(root, "plain"))).toEqual(none);
  expect(await branches(join(repository, "src"))).toEqual(none);
  expect(await branches(repository)).toMatchObject({ repository });
});
