import { chmod, lstat, mkdir, readdir, readFile, readlink, rename, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { diffIn } from "../../test/support/session-diffs.ts";
import { createWorktreeWorld, gitIn } from "../../test/support/worktree-world.ts";

const paths = [
  "README.md",
  "src/main.c",
  "run.sh",
  "link",
  "new.txt",
  "src",
  "a b/ü\n.txt",
  "deep/er/file",
  "noise.log",
];
const pathArbitrary = fc.constantFrom(...paths);
const textArbitrary = fc.oneof(
  fc.array(fc.constantFrom("one", "two", "diff --git a/x b/x", "--- a", "+++", "", "\\ No newline"), { maxLength: 8 }),
  fc.array(fc.constantFrom("# Scratch", "int main(void) { return 0; }", "more"), { maxLength: 3 }),
);
const stepArbitrary = fc.oneof(
  fc.record({ do: fc.constant("write" as const), path: pathArbitrary, lines: textArbitrary, ended: fc.boolean() }),
  fc.record({ do: fc.constant("remove" as const), path: pathArbitrary }),
  fc.record({ do: fc.constant("move" as const), path: pathArbitrary, to: pathArbitrary }),
  fc.record({ do: fc.constant("link" as const), path: pathArbitrary, to: pathArbitrary }),
  fc.record({ do: fc.constant("mode" as const), path: pathArbitrary, executable: fc.boolean() }),
  fc.record({ do: fc.constantFrom("stage" as const, "commit" as const) }),
);
type Step = typeof stepArbitrary extends fc.Arbitrary<infer T> ? T : never;

async function take(dir: string, step: Step): Promise<void> {
  const at = (path: string): string => join(dir, path);
  const clear = async (path: string): Promise<void> => {
    await rm(at(path), { recursive: true, force: true });
    await mkdir(dirname(at(path)), { recursive: true });
  };
  switch (step.do) {
    case "write":
      await clear(step.path);
      return writeFile(at(step.path), step.lines.join("\n") + (step.ended && step.lines.length > 0 ? "\n" : ""));
    case "remove":
      return rm(at(step.path), { recursive: true, force: true });
    case "move":
      await clear(step.to);
      return rename(at(step.path), at(step.to));
    case "link":
      await clear(step.path);
      return symlink(step.to, at(step.path));
    case "mode":
      return (await lstat(at(step.path))).isFile() ? chmod(at(step.path), step.executable ? 0o755 : 0o644) : undefined;
    case "stage":
      return void (await gitIn(dir, "add", "--all"));
    case "commit":
      await gitIn(dir, "add", "--all");
      return void (await gitIn(dir, "commit", "--quiet", "--allow-empty", "--message=Step"));
  }
}

/** Every file and link that git would keep. */
async function treeOf(dir: string): Promise<ReadonlyMap<string, string>> {
  const tree = new Map<string, string>();
  for (const entry of await readdir(dir, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const name = path.slice(dir.length + 1);
    if (name.split("/").some((part) => part === ".git" || part.endsWith(".log"))) continue;
    if (entry.isSymbolicLink()) tree.set(name, `link ${await readlink(path)}`);
    else if (entry.isFile()) {
      const executable = ((await lstat(path)).mode & 0o100) !== 0;
      tree.set(name, `${executable ? "executable" : "file"} ${await readFile(path, "utf8")}`);
    }
  }
  return new Map([...tree].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

test("its patches, applied to the base, give the worktree, after any changes", async () => {
  const world = await createWorktreeWorld();
  let number = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(stepArbitrary, { minLength: 1, maxLength: 8 }), async (steps) => {
      number += 1;
      const { sessionId, dir } = await world.make(`run-${number}`);
      // A step that the file system rejects (a file below a file, a link to itself) does nothing.
      for (const step of steps) await take(dir, step).catch(() => undefined);
      const { files, base, truncated } = await diffIn(world, { dir, sessionId });
      expect(truncated).toBe(false);
      const applied = join(world.root, `applied-${number}`);
      await world.git("worktree", "add", "--quiet", "--detach", applied, base.commit);
      const patch = join(world.root, "all.patch");
      await writeFile(patch, files.map((file) => file.patch ?? "").join(""));
      if (files.length > 0) await gitIn(applied, "apply", "--whitespace=nowarn", patch);
      expect(await treeOf(applied)).toEqual(await treeOf(dir));
    }),
    { numRuns: 4 },
  );
});
