import { existsSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { errorCode } from "../../test/support/error-code.ts";
import { createWorktreeWorld, gitIn } from "../../test/support/worktree-world.ts";
import { worktreeNameSchema } from "../wire/access.ts";
import { foldedName, worktreeNames } from "./worktree-names.ts";

const repository = "/srv/code/project";
const firstNames = (template: string, branch: string, at = repository) =>
  worktreeNames(template, { repository: at, branch }).slice(0, 3);

test.for([
  ["{branch}", "fix/build", ["fix-build", "project-fix-build", "project-fix-build-2"]],
  ["{repository}-{branch}", "fix", ["project-fix", "project-fix-2", "project-fix-3"]],
  ["wt {branch} of {repository}", "fix", ["wt fix of project", "project-fix", "project-fix-2"]],
  ["{branch}", "Größe/名前", ["Größe-名前", "project-Größe-名前", "project-Größe-名前-2"]],
  ["{branch}", "a/b/c.d", ["a-b-c.d", "project-a-b-c.d", "project-a-b-c.d-2"]],
  ["{branch}", "abc\u202etxt", ["abc-txt", "project-abc-txt", "project-abc-txt-2"]],
  ["{branch}", "{repository}", ["{repository}", "project-{repository}", "project-{repository}-2"]],
  ["{branch}", "CON", ["CON", "project-CON", "project-CON-2"]],
] as const)("with the template %s, the branch %s has these directory names", ([template, branch, names]) => {
  expect(firstNames(template, branch)).toEqual(names);
});

test("a bare repository is named without its ending, and the root of the file system has a name", () => {
  expect(firstNames("{repository}-{branch}", "b", "/srv/bare.git")[0]).toBe("bare-b");
  expect(firstNames("{repository}-{branch}", "b", "/srv/.git")[0]).toBe(".git-b");
  expect(firstNames("{repository}-{branch}", "b", "/")[0]).toBe("repository-b");
});

test("a name that is too long for a file is cut and ends with a hash, so that two long names stay different", () => {
  const [one = "", other = ""] = ["a", "b"].map((end) => firstNames("{branch}", `${"名".repeat(100)}/${end}`)[0]);
  expect(one).toMatch(/^名+-[0-9a-f]{8}$/);
  expect(Buffer.byteLength(one)).toBeGreaterThan(250);
  expect(one).not.toBe(other);
});

test("a directory name is always one part of a path, fits in a file name, and is offered once", () => {
  const text = fc.string({ unit: "grapheme", minLength: 1, maxLength: 300 });
  const template = fc.constantFrom("{branch}", "{repository}-{branch}", "~{branch}", "x{branch}{branch}{repository}");
  // Git accepts no branch name that starts with a dot.
  const branch = text.filter((name) => !name.startsWith("."));
  const folder = text.map((name) => `r${name.replaceAll("/", "")}`);
  fc.assert(
    fc.property(template, branch, folder, (given, named, within) => {
      const names = worktreeNames(given, { repository: join("/srv", within), branch: named });
      expect(names.length).toBeLessThanOrEqual(21);
      expect(new Set(names).size).toBe(names.length);
      for (const name of names) {
        expect([dirname(join("/srv", name)), basename(join("/srv", name))]).toEqual(["/srv", name]);
        expect(Buffer.byteLength(name)).toBeLessThanOrEqual(255);
        expect(name).not.toMatch(/\p{Cc}/u);
      }
    }),
  );
});

test.for(["", "work", "../{branch}", "a/{branch}", "{branch}\n", "{brunch}", ".{branch}", "-{branch}", "a\\{branch}"])(
  "no template for directory names: %j",
  (template) => expect(worktreeNameSchema.safeParse(template).success).toBe(false),
);

test("the template of the repository's folder names the directory", async () => {
  const world = await createWorktreeWorld();
  const asked: string[] = [];
  const worktrees = world.again({ worktreeNameFor: async (dir) => `${asked.push(dir)} {repository} {branch}` });
  const wanted = { sessionId: "one", dir: join(world.repository, "src"), baseBranch: "main", branch: "fix/it" };
  expect(await worktrees.make(wanted, async () => true)).toBe(join(world.root, "1 project fix-it", "src"));
  expect(asked).toEqual([world.repository]);
});

describe("where the directory of the branch's name is taken", () => {
  test("by another repository's worktree, the repository's name comes first", async () => {
    const world = await createWorktreeWorld();
    const other = await world.addRepository("other");
    const first = await world.make("fix/build");
    const second = await world.make("fix/build", { dir: join(other, "src") });
    expect(first.dir).toBe(join(world.root, "fix-build"));
    expect(second.dir).toBe(join(world.root, "other-fix-build", "src"));
    expect(await gitIn(second.dir, "rev-parse", "--abbrev-ref", "HEAD")).toBe("fix/build\n");
    // Each session keeps its directory when it is continued.
    for (const { sessionId } of [first, second]) await world.worktrees.close(sessionId, { discard: false });
    for (const { sessionId, dir } of [second, first]) {
      await world.worktrees.revive(sessionId);
      expect(existsSync(dir)).toBe(true);
    }
  });

  test("by any file or directory, numbers follow, and after 20 the start is refused", async () => {
    const world = await createWorktreeWorld();
    await mkdir(join(world.root, "taken"));
    expect((await world.make("taken")).dir).toBe(join(world.root, "project-taken"));
    await mkdir(join(world.root, "other"));
    await mkdir(join(world.root, "project-other"));
    expect((await world.make("other")).dir).toBe(join(world.root, "project-other-2"));
    for (const name of worktreeNames("{branch}", { repository: world.repository, branch: "full" })) {
      await mkdir(join(world.root, name));
    }
    expect(await errorCode(world.make("full"))).toBe("worktree_exists");
    expect(await world.git("branch", "--list", "full")).toBe("");
  });

  test("letter case and the composition of letters make no difference", async () => {
    const world = await createWorktreeWorld();
    await world.make("Größe");
    expect(basename((await world.make("gro\u0308\u00dfe")).dir)).toBe("project-gro\u0308\u00dfe");
    expect(foldedName("GRO\u0308SSE")).toBe("grösse");
  });

  test("by a closed session of another branch, that session can still return to it", async () => {
    const world = await createWorktreeWorld();
    const other = await world.addRepository("other");
    const closed = await world.make("fix");
    await world.worktrees.close(closed.sessionId, { discard: false });
    expect((await world.make("fix", { dir: other })).dir).toBe(join(world.root, "other-fix"));
    await world.worktrees.revive(closed.sessionId);
    expect(existsSync(closed.dir)).toBe(true);
    // Once its branch is gone, a session cannot return, and a new one of the same branch takes the directory.
    await world.worktrees.close(closed.sessionId, { discard: true });
    await world.git("branch", "--delete", "--force", "fix");
    expect((await world.make("fix")).dir).toBe(closed.dir);
  });

  test("after the check, the next name is used and nothing of the first attempt stays", async () => {
    const world = await createWorktreeWorld();
    const first = join(world.root, "b");
    const worktrees = world.again({
      onStep: async (step) => void (step === "branch" && (await mkdir(first, { recursive: true }))),
    });
    const wanted = { sessionId: "one", dir: world.repository, baseBranch: "main", branch: "b" };
    expect(await worktrees.make(wanted, async () => true)).toBe(join(world.root, "project-b"));
    expect(existsSync(first)).toBe(true);
    expect((await world.git("worktree", "list")).trim().split("\n")).toHaveLength(2);
    await rm(first, { recursive: true });
  });

  test("sessions of several repositories that start at the same time each have a directory", async () => {
    const world = await createWorktreeWorld();
    const others = await Promise.all(["one", "two", "three"].map((name) => world.addRepository(name)));
    const made = await Promise.all([world.repository, ...others].map((dir) => world.make("same", { dir })));
    expect(new Set(made.map(({ dir }) => dir)).size).toBe(4);
    expect(made.map(({ dir }) => basename(dir))).toContain("same");
    for (const { dir } of made) expect(await gitIn(dir, "rev-parse", "--abbrev-ref", "HEAD")).toBe("same\n");
  });
});
