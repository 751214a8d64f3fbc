import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, lstat, mkdir, readdir, readFile, readlink, rename, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createWorktreeWorld, gitIn } from "../../test/support/worktree-world.ts";

/** A change to a worktree. */
type Change =
  | { readonly kind: "write"; readonly path: string; readonly bytes: Uint8Array; readonly executable: boolean }
  | { readonly kind: "link"; readonly path: string; readonly target: string }
  | { readonly kind: "remove" | "stage" | "unstage" | "ignore"; readonly path: string }
  | { readonly kind: "rename"; readonly path: string; readonly to: string }
  | { readonly kind: "commit" | "detach" };

const part = fc.constantFrom(
  "a",
  "b",
  "src",
  "lib",
  "ünï",
  "with space",
  "x.log",
  "new\nline",
  "-dash",
  'q"uote',
  ".env",
  "README.md",
);
const path = fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join("/"));
const change: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("write" as const),
      path,
      bytes: fc.oneof(fc.uint8Array({ maxLength: 200 }), fc.constant(new TextEncoder().encode("one\r\ntwo\n"))),
      executable: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("link" as const),
      path,
      target: fc.constantFrom("a", "../a", "/etc/passwd", "nowhere", "src"),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom("remove" as const, "stage" as const, "unstage" as const, "ignore" as const),
      path,
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("rename" as const), path, to: path }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("commit" as const, "detach" as const) }) },
);

/** Applies the change if possible: a file may be where a folder should be. */
async function apply(dir: string, made: Change): Promise<void> {
  try {
    await applyStrictly(dir, made);
  } catch {
    // the path is a folder or below a file: does nothing
  }
}

async function applyStrictly(dir: string, made: Change): Promise<void> {
  if (!("path" in made)) {
    const commit = ["commit", "--quiet", "--allow-empty", "-m", "work"];
    await gitIn(dir, ...(made.kind === "commit" ? commit : ["checkout", "--quiet", "--detach"]));
  } else {
    const at = join(dir, made.path);
    if (made.kind === "stage") await gitIn(dir, "add", "--force", "--", made.path);
    else if (made.kind === "unstage") await gitIn(dir, "rm", "--quiet", "--cached", "-r", "--", made.path);
    else if (made.kind === "remove") await rm(at, { recursive: true });
    else if (made.kind === "ignore") await writeFile(join(dir, ".gitignore"), `/${made.path}\n*.log\n`);
    else await put(at, made, dir);
  }
}

async function put(at: string, made: Extract<Change, { readonly path: string }>, dir: string): Promise<void> {
  await mkdir(dirname(at), { recursive: true });
  if (made.kind === "write") {
    await writeFile(at, made.bytes);
    await chmod(at, made.executable ? 0o755 : 0o644);
  } else if (made.kind === "link") await symlink(made.target, at);
  else if (made.kind === "rename") {
    await mkdir(dirname(join(dir, made.to)), { recursive: true });
    await rename(at, join(dir, made.to));
  }
}

/** Path, mode and bytes of all files except these, read without git. */
async function contentOf(dir: string, without: ReadonlySet<string>, below = ""): Promise<Map<string, string>> {
  const content = new Map<string, string>();
  for (const entry of await readdir(join(dir, below), { withFileTypes: true })) {
    const name = below === "" ? entry.name : `${below}/${entry.name}`;
    if (name === ".git") continue;
    if (entry.isDirectory()) for (const [key, value] of await contentOf(dir, without, name)) content.set(key, value);
    else if (!without.has(name)) content.set(name, await described(join(dir, name)));
  }
  return content;
}

async function described(file: string): Promise<string> {
  const stats = await lstat(file);
  if (stats.isSymbolicLink()) return `120000 ${Buffer.from(await readlink(file)).toString("hex")}`;
  return `${(stats.mode & 0o100) === 0 ? "100644" : "100755"} ${(await readFile(file)).toString("hex")}`;
}

/** The same for a commit. */
async function committed(repository: string, commit: string): Promise<Map<string, string>> {
  const listed = await gitIn(repository, "ls-tree", "-r", "-z", commit);
  const lines = listed.split("\0").filter((entry) => entry !== "");
  const entries = lines.map((line) => /^(\d+) blob (\w+)\t(.*)$/s.exec(line) ?? []);
  const blobs = blobsHex(
    repository,
    entries.map(([, , oid = ""]) => oid),
  );
  return new Map(entries.map(([, mode = "", , name = ""], index) => [name, `${mode} ${blobs[index]}`]));
}

/** Parses `cat-file --batch` output: a line with the size, the bytes, a newline. */
function blobsHex(repository: string, oids: readonly string[]): readonly string[] {
  const input = oids.map((oid) => `${oid}\n`).join("");
  const out = execFileSync("git", ["-C", repository, "cat-file", "--batch"], { input });
  let at = 0;
  return oids.map(() => {
    const end = out.indexOf(10, at) + 1;
    const size = Number(out.subarray(at, end).toString().trim().split(" ")[2]);
    at = end + size + 1;
    return out.subarray(end, end + size).toString("hex");
  });
}

/** Untracked files that an ordinary git command reports as ignored. */
async function ignoredIn(dir: string): Promise<ReadonlySet<string>> {
  const listed = await gitIn(dir, "ls-files", "-z", "--others", "--ignored", "--exclude-standard");
  return new Set(listed.split("\0").filter((name) => name !== ""));
}

async function inHead(dir: string): Promise<ReadonlySet<string>> {
  return new Set((await gitIn(dir, "ls-tree", "-r", "-z", "--name-only", "HEAD")).split("\0"));
}

// About half a second each, on an idle machine.
const runs = 30;

test("a close keeps exactly a worktree's content without ignored files, and leaves the main checkout unchanged", async () => {
  const world = await createWorktreeWorld();
  await writeFile(join(world.repository, "README.md"), "stashed\n");
  await world.git("stash", "--quiet");
  await writeFile(join(world.repository, "README.md"), "dirty\n");
  const mainBefore = await mainState(world.repository);
  let round = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 14 }), async (changes) => {
      round += 1;
      const { dir, sessionId } = await world.make(`round-${round}`);
      for (const made of changes) await apply(dir, made);
      const head = (await gitIn(dir, "rev-parse", "HEAD")).trim();
      const tracked = await inHead(dir); // committed files are not ignored, even if removed from the index
      const ignored = new Set([...(await ignoredIn(dir))].filter((name) => !tracked.has(name)));
      const content = await contentOf(dir, ignored);
      const closed = await world.worktrees.close(sessionId, { discard: false });
      expect(closed).toMatchObject({ removed: true, reason: null });
      expect(existsSync(dir)).toBe(false);
      expect(closed?.ignoredLost.count).toBe(ignored.size);
      expect(await committed(world.repository, closed?.rescue?.commit ?? head)).toEqual(content);
    }),
    { numRuns: runs, endOnFailure: true },
  );
  expect(await mainState(world.repository)).toEqual(mainBefore);
}, 120_000);

async function mainState(repository: string): Promise<unknown> {
  return {
    files: await contentOf(repository, new Set()),
    index: (await readFile(join(repository, ".git", "index"))).toString("hex"),
    stash: await gitIn(repository, "log", "--walk-reflogs", "--format=%H", "stash"),
    head: await gitIn(repository, "rev-parse", "HEAD", "main"),
  };
}
