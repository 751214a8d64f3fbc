import { chmod, cp, mkdir, readFile, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { errorCode } from "../../test/support/error-code.ts";
import { diffIn, linesOf } from "../../test/support/session-diffs.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { createWorktreeWorld, gitIn } from "../../test/support/worktree-world.ts";

test("compares a worktree with its merge base: commits, staged, unstaged and untracked files", async () => {
  const world = await createWorktreeWorld();
  const { sessionId, dir } = await world.make("feat/a");
  await writeFile(join(dir, "committed.txt"), "one\ntwo\n");
  await gitIn(dir, "add", "committed.txt");
  await gitIn(dir, "commit", "--quiet", "--message=Work");
  await writeFile(join(dir, "README.md"), "# Scratch\nMore.\n");
  await writeFile(join(dir, "staged.txt"), "staged\n");
  await gitIn(dir, "add", "staged.txt");
  await writeFile(join(dir, "new.txt"), "new\n");
  await writeFile(join(dir, "noise.log"), "ignored\n");
  await rm(join(dir, "run.sh"));
  // Later changes on the base are not part of the session.
  await writeFile(join(world.repository, "elsewhere.txt"), "x\n");
  await world.git("add", "elsewhere.txt");
  await world.git("commit", "--quiet", "--message=Elsewhere");
  const before = await readFile(join(world.repository, ".git", "worktrees", "feat-a", "index"));

  const diff = await diffIn(world, { dir, sessionId });

  expect(linesOf(diff)).toEqual([
    "modified +1 -0 README.md",
    "added +2 -0 committed.txt",
    "untracked +1 -0 new.txt",
    "deleted +0 -1 run.sh",
    "added +1 -0 staged.txt",
  ]);
  expect(diff).toMatchObject({ root: dir, base: { name: "main" }, truncated: false });
  expect(diff.base.commit).toBe((await world.git("rev-parse", "main~1")).trim());
  expect(diff.files[0]?.patch).toMatch(
    /^diff --git a\/README\.md b\/README\.md\n[\s\S]*@@ -1 \+1,2 @@\n # Scratch\n\+More\.\n$/,
  );
  expect(await readFile(join(world.repository, ".git", "worktrees", "feat-a", "index"))).toEqual(before);
});

test("a removed worktree is compared by its branch", async () => {
  const world = await createWorktreeWorld();
  const { sessionId, dir } = await world.make("feat/gone");
  await writeFile(join(dir, "kept.txt"), "kept\n");
  await gitIn(dir, "add", "kept.txt");
  await gitIn(dir, "commit", "--quiet", "--message=Work");
  await writeFile(join(dir, "lost.txt"), "rescued, not on the branch\n");
  await world.worktrees.close(sessionId, { discard: false });
  expect(linesOf(await diffIn(world, { dir, sessionId }))).toEqual(["added +1 -0 kept.txt"]);
  await world.git("branch", "-D", "feat/gone");
  expect(await errorCode(diffIn(world, { dir, sessionId }))).toBe("branch_not_found");
});

test("detects a file changed in the second of its commit, to the same size", async () => {
  const world = await createWorktreeWorld();
  const { repository } = world;
  const file = join(repository, "src", "main.c");
  const secondOf = async (path: string): Promise<number> => Math.floor((await stat(path)).ctimeMs / 1_000);
  const seconds = new Set<number>();
  for (let digit = 1; seconds.size !== 1 && digit < 10; digit++) {
    seconds.clear();
    await writeFile(file, `int main(void) { return ${digit}; }\n`);
    seconds.add(await secondOf(file));
    await world.git("commit", "--quiet", "-am", "one");
    await writeFile(file, "int main(void) { return 0; }\n");
    seconds.add(await secondOf(file)).add(await secondOf(join(repository, ".git", "index")));
  }
  const [second = 0, ...others] = seconds;
  expect(others).toEqual([]);
  await vi.waitFor(() => expect(Date.now()).toBeGreaterThan((second + 1) * 1_000), { timeout: 2_000 });
  expect(linesOf(await diffIn(world, { dir: repository }))).toEqual(["modified +1 -1 src/main.c"]);
});

test("compares other sessions with HEAD, from any folder of the repository, and rejects other directories", async () => {
  const world = await createWorktreeWorld();
  const { repository } = world;
  await writeFile(join(repository, "src", "main.c"), "int main(void) { return 1; }\n");
  const diff = await diffIn(world, { dir: join(repository, "src") });
  expect(linesOf(diff)).toEqual(["modified +1 -1 src/main.c"]);
  expect(diff).toMatchObject({ root: repository, base: { name: "HEAD" } });
  expect(await errorCode(diffIn(world, { dir: world.root }))).toBe("not_a_git_repository");
});

test("before the first commit everything is new", async () => {
  const world = await createWorktreeWorld();
  const dir = await makeTempFolder();
  await gitIn(dir, "init", "--quiet");
  expect(await diffIn(world, { dir })).toMatchObject({ base: { name: "HEAD", commit: "" }, files: [] });
  await writeFile(join(dir, "first.txt"), "1\n");
  await writeFile(join(dir, "second.txt"), "2\n");
  await gitIn(dir, "add", "second.txt");
  expect(linesOf(await diffIn(world, { dir }))).toEqual(["untracked +1 -0 first.txt", "added +1 -0 second.txt"]);
});

test("reports a moved file as moved, with or without `git mv`", async () => {
  const world = await createWorktreeWorld();
  const { repository } = world;
  await rename(join(repository, "src", "main.c"), join(repository, "src", "start.c"));
  expect(linesOf(await diffIn(world, { dir: repository }))).toEqual(["renamed +0 -0 src/main.c src/start.c"]);
});

test("reports modes, links, binary files, and a file in place of a folder", async () => {
  const world = await createWorktreeWorld();
  const { repository } = world;
  await chmod(join(repository, "README.md"), 0o755);
  await rm(join(repository, "link"));
  await writeFile(join(repository, "link"), "a file now\n");
  await rm(join(repository, "src"), { recursive: true });
  await writeFile(join(repository, "src"), "no folder\n");
  await writeFile(join(repository, "image"), Buffer.from([1, 0, 2, 0]));
  await symlink("../..", join(repository, "out"));
  const { files } = await diffIn(world, { dir: repository });
  const byPath = new Map(files.map((file) => [file.path, file]));
  expect(byPath.get("README.md")).toMatchObject({ status: "modified", additions: 0 });
  expect(byPath.get("README.md")?.patch).toContain("new mode 100755");
  expect(byPath.get("link")).toMatchObject({ status: "modified" });
  expect(byPath.get("link")?.patch).toContain("+a file now");
  expect(byPath.get("src/main.c")).toMatchObject({ status: "deleted" });
  expect(byPath.get("src")).toMatchObject({ status: "untracked", additions: 1 });
  expect(byPath.get("image")).toMatchObject({ status: "untracked", additions: null, patch: null });
  expect(byPath.get("out")?.patch).toContain("+../..");
});

test("reports no differences in a copied checkout, although the times in its index are wrong", async () => {
  const world = await createWorktreeWorld();
  const dir = join(await makeTempFolder(), "copy");
  await cp(world.repository, dir, { recursive: true, verbatimSymlinks: true });
  expect((await diffIn(world, { dir })).files).toEqual([]);
});

test("reads sparse, split and conflicting indexes as git does", async () => {
  const world = await createWorktreeWorld();
  const { repository } = world;
  await world.git("sparse-checkout", "set", "--no-cone", "/README.md");
  await world.git("update-index", "--split-index");
  await writeFile(join(repository, "README.md"), "# Other\n");
  expect(linesOf(await diffIn(world, { dir: repository }))).toEqual(["modified +1 -1 README.md"]);
  await world.git("sparse-checkout", "disable");
  await world.git("commit", "--all", "--quiet", "--message=Other");
  await world.git("switch", "--quiet", "--create", "side", "HEAD~1");
  await writeFile(join(repository, "README.md"), "# Side\n");
  await world.git("commit", "--all", "--quiet", "--message=Side");
  await world.git("merge", "main").catch(() => undefined); // it conflicts
  const [file] = (await diffIn(world, { dir: repository })).files;
  expect(file).toMatchObject({ path: "README.md", status: "modified" });
  expect(file?.patch).toContain("+<<<<<<< HEAD");
});

test("works with a broken index", async () => {
  const world = await createWorktreeWorld();
  const { repository } = world;
  await writeFile(join(repository, ".git", "index"), "nonsense");
  await writeFile(join(repository, "README.md"), "# Other\n");
  expect(linesOf(await diffIn(world, { dir: repository }))).toEqual(["modified +1 -1 README.md"]);
});

test("reports only files in folders that the caller can see", async () => {
  const world = await createWorktreeWorld();
  const { sessionId, dir } = await world.make("feat/part");
  await mkdir(join(dir, "secret"));
  await writeFile(join(dir, "secret", "plan.txt"), "x\n");
  await writeFile(join(dir, "src", "main.c"), "other\n");
  const asked: string[] = [];
  const visibleAmong = async (dirs: readonly string[]): Promise<ReadonlySet<string>> => {
    asked.push(...dirs);
    return new Set(dirs.filter((each) => !each.endsWith("secret")));
  };
  expect(linesOf(await diffIn(world, { dir, sessionId, visibleAmong }))).toEqual(["modified +1 -1 src/main.c"]);
  // For the rule, a worktree counts as its repository.
  expect(asked.toSorted()).toEqual([join(world.repository, "secret"), join(world.repository, "src")]);
});

test("reports a submodule only by its path, as new, at another commit, or gone", async () => {
  const world = await createWorktreeWorld();
  const { repository } = world;
  const library = await makeTempFolder();
  await gitIn(library, "init", "--quiet");
  await gitIn(library, "commit", "--quiet", "--allow-empty", "--message=Library");
  await world.git("submodule", "--quiet", "add", library, "lib");
  const entry = { path: "lib", additions: null, patch: null };
  const ofLibrary = async () => (await diffIn(world, { dir: repository })).files.find(({ path }) => path === "lib");
  expect(await ofLibrary()).toMatchObject({ ...entry, status: "added" });
  await world.git("commit", "--quiet", "--message=Library");
  await writeFile(join(repository, "lib", "dirty.txt"), "its own matter\n");
  expect(await ofLibrary()).toBeUndefined();
  await gitIn(join(repository, "lib"), "commit", "--quiet", "--allow-empty", "--message=More");
  expect(await ofLibrary()).toMatchObject({ ...entry, status: "modified" });
  await world.git("rm", "--quiet", "--cached", "lib");
  await rm(join(repository, "lib"), { recursive: true });
  expect(await ofLibrary()).toMatchObject({ ...entry, status: "deleted" });
});

test("without whitespace, each file still has its own counts and patch", async () => {
  const world = await createWorktreeWorld();
  const { repository } = world;
  const write = (name: string, text: string) => writeFile(join(repository, name), text);
  for (const name of ["a", "b", "c", "d", "e"]) await write(`${name}.txt`, `${name} one\n${name} two\n${name} three\n`);
  await world.git("add", ".");
  await world.git("commit", "--quiet", "--message=Files");
  await write("a.txt", "a one\n\ta two\na three  \n"); // only whitespace
  await write("b.txt", "  b one\nb 2\nb three\n");
  await write("c.txt", "c one \nc two\nc three\n"); // and its mode
  await chmod(join(repository, "c.txt"), 0o755);
  await rm(join(repository, "d.txt"));
  await symlink("a.txt", join(repository, "d.txt"));
  await rename(join(repository, "e.txt"), join(repository, "f.txt"));
  await write("f.txt", "e one\ne  two\ne three\n"); // renamed
  await write("g.txt", " new\n");
  await write("h.bin", "\0 1");

  const { files } = await diffIn(world, { dir: repository }, { ignoreWhitespace: true });
  expect(linesOf({ files })).toEqual([
    "modified +0 -0 a.txt",
    "modified +1 -1 b.txt",
    "modified +0 -0 c.txt",
    "modified +1 -3 d.txt",
    "renamed +0 -0 e.txt f.txt",
    "untracked +1 -0 g.txt",
    "untracked +? -? h.bin",
  ]);
  const patches = files.map(({ patch }) => patch);
  expect(patches[0]).toBe("");
  // Unchanged lines are those of the new file: comments are anchored to them.
  expect(patches[1]).toMatch(
    /^diff --git a\/b\.txt b\/b\.txt\n[^@]*@@ -1,3 \+1,3 @@\n {3}b one\n-b two\n\+b 2\n b three\n$/,
  );
  expect(patches[2]).toMatch(/^diff --git a\/c\.txt b\/c\.txt\nold mode 100644\nnew mode 100755\n/);
  expect(patches[3]).toMatch(
    /^diff --git a\/d\.txt b\/d\.txt\ndeleted file[^]*diff --git a\/d\.txt b\/d\.txt\nnew file/,
  );
  expect(patches[4]).toMatch(/^diff --git a\/e\.txt b\/f\.txt\nsimilarity/);
  expect(patches[5]).toMatch(/^diff --git a\/g\.txt b\/g\.txt\nnew file/);
  expect((await diffIn(world, { dir: repository }, { ignoreWhitespace: true, patches: false })).files).toHaveLength(7);
  expect(linesOf(await diffIn(world, { dir: repository }))).toContain("modified +2 -2 a.txt");
});
