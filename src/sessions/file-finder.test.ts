import { execFileSync } from "node:child_process";
import { mkdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { systemClock } from "../core/clock.ts";
import { createFileFinder } from "./file-finder.ts";

// The thread starts slowly under load.
vi.setConfig({ testTimeout: 120_000 });

async function setUp(files: readonly string[] = []) {
  const root = await makeTempFolder();
  const dir = join(root, "repo");
  const home = join(dir, "state");
  await mkdir(home, { recursive: true });
  const finder = createFileFinder({
    clock: systemClock,
    pathVariable: process.env["PATH"] ?? "",
    home,
    marker: { name: "POSTERN_GIT", value: home },
  });
  onTestFinished(() => finder.close());
  const write = async (path: string, text = ""): Promise<void> => {
    await mkdir(dirname(join(dir, path)), { recursive: true });
    await writeFile(join(dir, path), text);
  };
  for (const file of files) await write(file);
  /** A directory that is not listed yet has no matches, and is truncated. */
  async function find(query: string, { below = "", limit = 20 } = {}): Promise<readonly string[]> {
    for (;;) {
      const { paths, truncated } = await finder.find({ dir: join(dir, below), query, limit });
      if (paths.length > 0 || !truncated) return paths;
    }
  }
  const git = (...args: readonly string[]): string =>
    execFileSync("git", ["-c", "user.name=T", "-c", "user.email=t@example.org", ...args], { cwd: dir }).toString();
  return { root, dir, finder, find, write, git };
}

test("finds tracked and new files and folders that Git does not ignore", async () => {
  const { find, git, write } = await setUp([
    "src/tracked.ts",
    "src/lib/deep file.ts",
    "out/built.ts",
    "state/secret.ts",
  ]);
  git("init", "-q");
  await write(".gitignore", "out/\n*.log\n");
  git("add", "src");
  await write("new.ts");
  await write("debug.log");
  expect([...(await find(""))].toSorted()).toEqual(
    [".gitignore", "new.ts", "src/", "src/lib/", "src/lib/deep file.ts", "src/tracked.ts"].toSorted(),
  );
  expect(await find("deep")).toEqual(["src/lib/deep file.ts"]);
  expect(await find("", { below: "src" })).toEqual(["lib/", "tracked.ts", "lib/deep file.ts"]);
  expect(await find("", { below: "out" }), "an ignored directory is listed for itself").toEqual(["built.ts"]);
});

test("never shows a file that is gone, one behind a link that leads out, or one that cannot be written in a prompt", async () => {
  const { root, dir, find, git, write } = await setUp(["gone.ts", "sub/here.ts", "inside.ts", "other/x.ts"]);
  await mkdir(join(root, "outside/sub"), { recursive: true });
  await writeFile(join(root, "outside/secret.ts"), "");
  await symlink(join(root, "outside"), join(dir, "out-link"));
  await symlink(join(root, "outside/secret.ts"), join(dir, "secret-link.ts"));
  await symlink("inside.ts", join(dir, "good-link.ts"));
  await symlink(join(dir, "state"), join(dir, "state-link"));
  await write("bad\u202e.ts");
  await write("bad\n.ts");
  git("init", "-q");
  git("add", ".");
  git("commit", "-qm", "all");
  await rm(join(dir, "gone.ts"));
  await rename(join(dir, "other"), join(root, "outside/other"));
  await symlink(join(root, "outside/other"), join(dir, "other"));
  expect([...(await find(""))].toSorted()).toEqual(["good-link.ts", "inside.ts", "sub/", "sub/here.ts"]);
});

test("lists a directory without Git, and finds a file that was added later", async () => {
  const { find, finder, dir, write } = await setUp(["a/b/c.txt", "node_modules/x/index.js", ".cache/x.txt", ".env"]);
  expect([...(await find(""))].toSorted()).toEqual([".env", "a/", "a/b/", "a/b/c.txt"]);
  await write("a/later.txt");
  await vi.waitFor(async () => expect(await find("later")).toEqual(["a/later.txt"]), {
    timeout: 60_000,
    interval: 200,
  });
  expect(await finder.find({ dir, query: "", limit: 2 })).toMatchObject({ truncated: true });
});

test("a new file and a new commit in a repository make another list", async () => {
  const { find, git, write } = await setUp(["src/one.ts", "src/two.ts"]);
  git("init", "-q");
  git("add", ".");
  expect(await find("one")).toEqual(["src/one.ts"]);
  await write("src/one-more.ts");
  const settled = { timeout: 90_000, interval: 500 };
  // A file that Git does not track yet is recent, and so are those of the last commits.
  await vi.waitFor(async () => expect(await find("one")).toEqual(["src/one-more.ts", "src/one.ts"]), settled);
  git("add", ".");
  git("commit", "-qm", "all");
  await vi.waitFor(async () => expect(await find("one")).toEqual(["src/one.ts", "src/one-more.ts"]), settled);
});

test("a closed finder starts again with the next search", async () => {
  const { find, finder } = await setUp(["one.ts"]);
  expect(await find("one")).toEqual(["one.ts"]);
  await finder.close();
  expect(await find("one")).toEqual(["one.ts"]);
});
