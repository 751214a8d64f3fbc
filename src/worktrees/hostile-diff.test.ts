import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmod, mkdir, readdir, readFile, rename, rm, stat, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { errorCode } from "../../test/support/error-code.ts";
import { plantPrograms } from "../../test/support/planted-programs.ts";
import { diffIn, linesOf, previewIn } from "../../test/support/session-diffs.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { createWorktreeWorld, gitIn } from "../../test/support/worktree-world.ts";

/** Every file below a folder, with what is in it. */
async function contentsOf(folder: string): Promise<ReadonlyMap<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const hashed = files.map(async (path) => {
    const hash = createHash("sha256").update(await readFile(path));
    return [path, `${hash.digest("hex")} ${(await stat(path)).mtimeMs}`] as const;
  });
  return new Map(await Promise.all(hashed));
}

test("git runs nothing that a repository configures, and nothing in the repository changes", async () => {
  const world = await createWorktreeWorld();
  const { dir, sessionId } = await world.make("b");
  const marks = await plantPrograms(world);
  for (const root of [world.repository, dir]) {
    await writeFile(join(root, ".gitattributes"), "* filter=planted diff=planted merge=planted ident text=auto\n");
    await writeFile(join(root, "README.md"), "changed\n");
    await writeFile(join(root, "new.c"), "new\n");
  }
  // A nested repository's configuration would apply if git read it.
  await gitIn(dir, "init", "--quiet", "nested");
  await gitIn(join(dir, "nested"), "config", "core.fsmonitor", `touch ${world.root}/marks/nested; false`);
  const before = await contentsOf(join(world.repository, ".git"));

  const ofWorktree = await diffIn(world, { dir, sessionId });
  const ofRepository = await diffIn(world, { dir: world.repository });
  const preview = await previewIn(world, sessionId);

  expect(linesOf(ofWorktree)).toEqual(
    expect.arrayContaining(["modified +1 -1 README.md", "untracked +1 -0 new.c", "untracked +? -? nested/"]),
  );
  expect(ofWorktree.files[0]?.path).toBe(".gitattributes");
  expect(linesOf(ofRepository)).toEqual(expect.arrayContaining(["modified +1 -1 README.md", "untracked +1 -0 new.c"]));
  expect(preview?.keepsBecause).toContain("another git repository");
  expect(await marks()).toEqual([]);
  expect(await contentsOf(join(world.repository, ".git"))).toEqual(before);
  // Checks that the traps work: an ordinary git command runs them.
  await gitIn(world.repository, "status").catch(() => "");
  expect(await marks()).not.toEqual([]);
});

test("does not follow a worktree's `.git` file", async () => {
  const world = await createWorktreeWorld();
  const { dir, sessionId } = await world.make("b");
  const secret = await makeTempFolder();
  await gitIn(secret, "init", "--quiet");
  await writeFile(join(secret, "secret.txt"), "TOP SECRET\n");
  await gitIn(secret, "add", ".");
  await gitIn(secret, "commit", "--quiet", "--message=Secret");
  await writeFile(join(dir, ".git"), `gitdir: ${secret}/.git\n`);
  await writeFile(join(dir, "new.txt"), "new\n");
  expect(linesOf(await diffIn(world, { dir, sessionId }))).toEqual(["untracked +1 -0 new.txt"]);
  // Elsewhere such a file is followed, within the folder rule.
  const pointing = join(world.root, "pointing");
  await mkdir(pointing);
  await writeFile(join(pointing, ".git"), `gitdir: ${secret}/.git\n`);
  const visibleAmong = async (dirs: readonly string[]): Promise<ReadonlySet<string>> =>
    new Set(dirs.filter((each) => each.startsWith(world.root)));
  expect(await errorCode(diffIn(world, { dir: pointing, visibleAmong }))).toBe("dir_not_allowed");
});

test("reports links as links, and never follows them out of the tree", async () => {
  const world = await createWorktreeWorld();
  const { repository } = world;
  const outside = await makeTempFolder();
  await writeFile(join(outside, "main.c"), "TOP SECRET\n");
  await rename(join(repository, "src"), join(world.root, "src before"));
  await symlink(outside, join(repository, "src"));
  await rm(join(repository, "README.md"));
  await symlink(join(outside, "main.c"), join(repository, "README.md"));
  const diff = await diffIn(world, { dir: repository });
  expect(diff.files.map(({ path, status }) => `${status} ${path}`)).toEqual([
    "modified README.md",
    "untracked src",
    "deleted src/main.c",
  ]);
  expect(JSON.stringify(diff)).not.toContain("TOP SECRET");
});

test("handles names of all kinds, and lines that look like patch headers", async () => {
  const world = await createWorktreeWorld();
  const { repository } = world;
  const names = [
    "-rf",
    "a\nb",
    'with "quotes"',
    "tab\there",
    "diff --git a b",
    ":(glob)x",
    "#x",
    "back\\slash",
    "日本語",
    "{a => b}",
  ];
  const text = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n";
  for (const name of names) await writeFile(join(repository, name), text);
  await writeFile(Buffer.concat([Buffer.from(`${repository}/bytes-`), Buffer.from([0xff, 0xfe])]), text);
  const { files } = await diffIn(world, { dir: repository });
  expect(files.map(({ path }) => path).toSorted()).toEqual([...names, "bytes-\ufffd\ufffd"].toSorted());
  for (const { status, additions, patch } of files) {
    expect({ status, additions }).toEqual({ status: "untracked", additions: 4 });
    expect(patch?.match(/^\+diff --git a\/x b\/x$/m)).not.toBeNull();
    expect(patch?.match(/^diff --git /gm)).toHaveLength(1);
  }
});

test("handles invalid attributes, pipes, devices and unreadable files", async () => {
  const world = await createWorktreeWorld();
  const { repository } = world;
  await writeFile(
    join(repository, ".gitattributes"),
    "*.md working-tree-encoding=nonsense\n*.c eol=crlf\n*.sh -diff\n",
  );
  await writeFile(join(repository, "README.md"), "# Other\n");
  await writeFile(join(repository, "src", "main.c"), "int main(void) { return 1; }\r\n");
  await writeFile(join(repository, "run.sh"), "#!/bin/sh\necho\n");
  await rm(join(repository, ".git", "index"));
  execFileSync("mkfifo", [join(repository, ".git", "index"), join(repository, "pipe")]);
  await rm(join(repository, "link"));
  execFileSync("mkfifo", [join(repository, "link")]);
  await writeFile(join(repository, "closed.txt"), "closed\n");
  await chmod(join(repository, "closed.txt"), 0);
  const lines = linesOf(await diffIn(world, { dir: repository }));
  // Root can read every file.
  expect(lines).toContain(process.getuid?.() === 0 ? "untracked +1 -0 closed.txt" : "untracked +? -? closed.txt");
  expect(lines).toEqual(
    expect.arrayContaining(["deleted +0 -1 link", "modified +1 -1 README.md", "modified +? -? run.sh"]),
  );
});

test("pipes in place of the repository's own files do not block", async () => {
  for (const name of ["info/attributes", "info/exclude", "HEAD"]) {
    const world = await createWorktreeWorld();
    const { repository } = world;
    await writeFile(join(repository, "README.md"), "# Other\n");
    await rm(join(repository, ".git", name), { force: true });
    await mkdir(join(repository, ".git", "info"), { recursive: true });
    execFileSync("mkfifo", [join(repository, ".git", name)]);
    // More checks than the process has file threads: each blocked one would occupy a thread forever.
    await Promise.all(Array.from({ length: 5 }, () => diffIn(world, { dir: repository }).catch(() => null)));
  }
});

test("lists files that are too large, and marks the response as truncated", async () => {
  const world = await createWorktreeWorld();
  const { repository } = world;
  await writeFile(join(repository, "huge.bin"), "");
  await truncate(join(repository, "huge.bin"), 20 * 1024 ** 3); // sparse: takes no disk space
  // A binary file has no text to leave out.
  expect(await diffIn(world, { dir: repository })).toMatchObject({ files: [{ patch: null }], truncated: false });
  await writeFile(join(repository, "long.txt"), "x".repeat(99).concat("\n").repeat(5_000));
  await writeFile(join(repository, "README.md"), "# Small\n");
  const diff = await diffIn(world, { dir: repository });
  expect(linesOf(diff)).toEqual([
    "modified +1 -1 README.md",
    "untracked +? -? huge.bin",
    "untracked +5000 -0 long.txt",
  ]);
  expect(diff.files.map(({ patch }) => patch !== null)).toEqual([true, false, false]);
  expect(diff.truncated).toBe(true);
});

test("lists at most 500 files and four megabytes of text", async () => {
  const world = await createWorktreeWorld();
  const { repository } = world;
  const text = "y".repeat(99).concat("\n").repeat(200);
  const names = Array.from({ length: 520 }, (_, index) => `many-${String(index).padStart(3, "0")}.txt`);
  await Promise.all(names.map((name) => writeFile(join(repository, name), `${name}\n${text}`)));
  const diff = await diffIn(world, { dir: repository });
  expect(diff.files.map(({ path }) => path)).toEqual(names.slice(0, 500));
  expect(diff.truncated).toBe(true);
  const shown = diff.files.reduce((sum, { patch }) => sum + (patch?.length ?? 0), 0);
  expect(shown).toBeGreaterThan(3 * 1024 * 1024);
  expect(shown).toBeLessThanOrEqual(4 * 1024 * 1024);
});
