import { existsSync } from "node:fs";
import { lstat, mkdir, readFile, realpath, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { errorCode } from "../../test/support/error-code.ts";
import { createWorktreeWorld, gitIn } from "../../test/support/worktree-world.ts";
import { newUuid } from "../core/ids.ts";

test("makes a clean worktree next to the repository, named after its branch, with the base's files", async () => {
  const world = await createWorktreeWorld();
  const { dir } = await world.make("feat/a");
  expect(dir).toBe(join(world.root, "feat-a"));
  expect(await readFile(join(dir, "README.md"), "utf8")).toBe("# Scratch\n");
  expect((await lstat(join(dir, "run.sh"))).mode & 0o777).toBe(0o755);
  expect((await lstat(join(dir, "link"))).isSymbolicLink()).toBe(true);
  expect(await gitIn(dir, "status", "--porcelain=v2", "--branch")).toContain("# branch.head feat/a");
  expect(await gitIn(dir, "status", "--porcelain")).toBe("");
  expect(await world.git("status", "--porcelain")).toBe("");
});

test("the agent starts in the same subfolder, also if the repository's path has spaces and non-ASCII letters", async () => {
  const world = await createWorktreeWorld("mein Prøjekt 名");
  const { dir } = await world.make("größer/名", { dir: join(world.repository, "src") });
  expect(dir).toBe(join(world.root, "größer-名", "src"));
  expect(await gitIn(dir, "rev-parse", "--abbrev-ref", "HEAD")).toBe("größer/名\n");
});

test("rejects a subfolder that the base does not have, and leaves nothing behind", async () => {
  const world = await createWorktreeWorld();
  await mkdir(join(world.repository, "new"));
  expect(await errorCode(world.make("b", { dir: join(world.repository, "new") }))).toBe("dir_not_found");
  expect(existsSync(join(world.root, "b"))).toBe(false);
  expect(await world.git("branch", "--list", "b")).toBe("");
  expect((await world.git("worktree", "list")).trim().split("\n")).toHaveLength(1);
});

test("a base is a local branch, a remote branch, a tag, a commit or HEAD", async () => {
  const world = await createWorktreeWorld();
  await world.git("tag", "-a", "v1", "-m", "one");
  await world.git("update-ref", "refs/remotes/origin/main", "HEAD");
  await world.git("checkout", "--quiet", "--detach");
  await world.git("commit", "--quiet", "--allow-empty", "-m", "detached");
  const head = (await world.git("rev-parse", "HEAD")).trim();
  const main = (await world.git("rev-parse", "main")).trim();
  const bases = { main, "origin/main": main, v1: main, [head]: head, HEAD: head, "refs/heads/main": main };
  for (const [index, [baseBranch, commit]] of Object.entries(bases).entries()) {
    const { dir } = await world.make(`from-${index}`, { baseBranch });
    expect((await gitIn(dir, "rev-parse", "HEAD")).trim(), baseBranch).toBe(commit);
  }
});

test.for([["nowhere"], ["main~1"], ["-f"], ["@{-1}"], [":/Begin"], ["main^{tree}"]])(
  "rejects an unknown base: %s",
  async ([baseBranch = ""]) => {
    const world = await createWorktreeWorld();
    expect(await errorCode(world.make("b", { baseBranch }))).toBe("base_branch_not_found");
    expect(existsSync(join(world.root, "b"))).toBe(false);
  },
);

test.for([
  ["-f"],
  ["--force"],
  ["a..b"],
  ["a b"],
  ["@{-1}"],
  ["a.lock"],
  ["HEAD"],
  ["@"],
  [".hidden"],
  ["a/"],
  ["a\nb"],
  ["x".repeat(300)],
])("no name for a branch: %s", async ([branch = ""]) => {
  const world = await createWorktreeWorld();
  expect(await errorCode(world.make(branch))).toBe("invalid_request");
});

test("rejects an existing branch, a checked-out branch and a colliding name", async () => {
  const world = await createWorktreeWorld();
  await world.git("branch", "old");
  await world.make("feat/a");
  expect(await errorCode(world.make("old"))).toBe("branch_exists");
  expect(await errorCode(world.make("feat/a"))).toBe("branch_checked_out");
  expect(await errorCode(world.make("main"))).toBe("branch_checked_out");
  expect(await errorCode(world.make("old/new"))).toBe("branch_exists");
  expect(existsSync(join(world.root, "old-new"))).toBe(false);
});

test("of several concurrent requests for a branch, one succeeds, and no two branches share a directory", async () => {
  const world = await createWorktreeWorld();
  const asked = await Promise.allSettled(["a/b", "a-b", "a/b", "a-b"].map((branch) => world.make(branch)));
  const made = asked.flatMap((one) => (one.status === "fulfilled" ? [one.value.dir] : []));
  expect(made.toSorted()).toEqual([join(world.root, "a-b"), join(world.root, "project-a-b")]);
  expect((await world.git("worktree", "list")).trim().split("\n")).toHaveLength(3);
});

test("rejects a directory outside a Git repository", async () => {
  const world = await createWorktreeWorld();
  expect(await errorCode(world.make("b", { dir: world.root }))).toBe("not_a_git_repository");
});

test("makes a worktree next to a bare repository", async () => {
  const world = await createWorktreeWorld();
  const bare = join(world.root, "bare.git");
  await world.git("clone", "--quiet", "--bare", ".", bare);
  const { dir, sessionId } = await world.make("b", { dir: bare });
  expect(dir).toBe(join(world.root, "b"));
  expect(await readFile(join(dir, "README.md"), "utf8")).toBe("# Scratch\n");
  await writeFile(join(dir, "new"), "");
  expect(await world.worktrees.close(sessionId, { discard: false })).toMatchObject({
    removed: true,
    rescue: { files: 1 },
  });
});

test("from a linked worktree, makes one next to the main checkout, based on that worktree's HEAD", async () => {
  const world = await createWorktreeWorld();
  const linked = join(world.root, "elsewhere", "linked");
  await world.git("worktree", "add", "--quiet", "-b", "linked", linked);
  await gitIn(linked, "commit", "--quiet", "--allow-empty", "-m", "more");
  const { dir } = await world.make("b", { dir: join(linked, "src"), baseBranch: "HEAD" });
  expect(dir).toBe(join(world.root, "b", "src"));
  expect(await gitIn(dir, "rev-parse", "HEAD")).toBe(await gitIn(linked, "rev-parse", "HEAD"));
});

test("leaves submodule folders empty; a submodule itself is a repository", async () => {
  const world = await createWorktreeWorld();
  const library = await realpath(world.root).then((root) => join(root, "library"));
  await world.git("clone", "--quiet", ".", library);
  await world.git("submodule", "--quiet", "add", library, "lib");
  await world.git("commit", "--quiet", "-m", "lib");
  const { dir, sessionId } = await world.make("b");
  expect(await gitIn(dir, "status", "--porcelain")).toBe("");
  expect(await world.worktrees.close(sessionId, { discard: false })).toMatchObject({ removed: true, rescue: null });
  const inner = await world.make("inner", { dir: join(world.repository, "lib") });
  expect(inner.dir).toBe(join(world.repository, "inner"));
  expect(await readFile(join(inner.dir, "README.md"), "utf8")).toBe("# Scratch\n");
  expect(await world.worktrees.close(inner.sessionId, { discard: false })).toMatchObject({ removed: true });
});

test("rejects a repository that the caller cannot use, also one that a `.git` file points to", async () => {
  const world = await createWorktreeWorld();
  const linked = join(world.root, "linked");
  await world.git("worktree", "add", "--quiet", "-b", "linked", linked);
  const planted = join(world.root, "planted");
  await mkdir(planted);
  await writeFile(join(planted, ".git"), `gitdir: ${world.repository}/.git\n`);
  const borrowed = join(world.root, "borrowed");
  await mkdir(borrowed);
  await writeFile(join(borrowed, ".git"), `gitdir: ${world.repository}/.git/worktrees/linked\n`);
  const only = (folder: string) => async (dir: string) => dir.startsWith(folder);
  const wanted = { sessionId: newUuid(), baseBranch: "main", branch: "b" };
  expect(await errorCode(world.worktrees.make({ ...wanted, dir: linked }, only(linked)))).toBe("dir_not_allowed");
  expect(await errorCode(world.worktrees.make({ ...wanted, dir: planted }, only(planted)))).toBe("dir_not_allowed");
  expect(await errorCode(world.worktrees.make({ ...wanted, dir: borrowed }, only(borrowed)))).toBe(
    "not_a_git_repository",
  );
});

test("applies line endings from the repository's attributes, which do not count as changes", async () => {
  const world = await createWorktreeWorld();
  await writeFile(join(world.repository, ".gitattributes"), "*.txt text eol=crlf\n");
  await writeFile(join(world.repository, "a.txt"), "one\r\ntwo\r\n");
  await world.git("add", "--all");
  await world.git("commit", "--quiet", "-m", "crlf");
  const { dir, sessionId } = await world.make("b");
  expect(await readFile(join(dir, "a.txt"), "utf8")).toBe("one\r\ntwo\r\n");
  expect(await world.worktrees.close(sessionId, { discard: false })).toMatchObject({ removed: true, rescue: null });
});
