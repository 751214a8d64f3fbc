import { existsSync } from "node:fs";
import { chmod, mkdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { endlessFiles } from "../../test/support/endless-files.ts";
import { createWorktreeWorld, gitIn } from "../../test/support/worktree-world.ts";

const keep = { discard: false };

test("without changes, removes the worktree, makes no rescue, and keeps the branch and its commits", async () => {
  const world = await createWorktreeWorld();
  const { dir, sessionId } = await world.make("b");
  await writeFile(join(dir, "new"), "new\n");
  await gitIn(dir, "add", "new");
  await gitIn(dir, "commit", "--quiet", "-m", "new");
  expect(await world.worktrees.close(sessionId, keep)).toEqual({
    path: dir,
    removed: true,
    reason: null,
    rescue: null,
    ignoredLost: { count: 0, bytes: 0, first20: [] },
    branchKept: "b",
  });
  expect(existsSync(dir)).toBe(false);
  expect(await world.git("show", "b:new")).toBe("new\n");
  expect((await world.git("worktree", "list")).trim().split("\n")).toHaveLength(1);
  expect(await world.git("for-each-ref", "refs/postern")).toBe("");
  expect(await world.worktrees.close(sessionId, keep), "closed again").toMatchObject({ removed: true, rescue: null });
});

test("keeps modified, staged, deleted and untracked files, odd names, modes and links, and lists ignored files", async () => {
  const world = await createWorktreeWorld();
  const { dir, sessionId } = await world.make("b");
  await writeFile(join(dir, "README.md"), "staged\n");
  await gitIn(dir, "add", "README.md");
  await writeFile(join(dir, "README.md"), "modified\n");
  await rm(join(dir, "link"));
  await symlink("nowhere\\at all", join(dir, "link"));
  await chmod(join(dir, "src", "main.c"), 0o755);
  await rm(join(dir, "run.sh"));
  const odd = Buffer.concat([Buffer.from(`${dir}/`), Buffer.from([0xff, 0x0a, 0x22, 0x5c, 0x0d])]);
  await writeFile(odd, Buffer.from([0, 255, 13, 10]));
  await writeFile(join(dir, ":(glob)x"), "colon");
  await writeFile(join(dir, "forced.log"), "forced");
  await gitIn(dir, "add", "--force", "forced.log");
  await mkdir(join(dir, "node_modules", "x"), { recursive: true });
  await writeFile(join(dir, "node_modules", "x", "y.js"), "12345");
  await writeFile(join(dir, "lost.log"), "123");

  const closed = await world.worktrees.close(sessionId, keep);
  expect(closed).toMatchObject({
    removed: true,
    rescue: { ref: `refs/postern/rescue/${sessionId}`, files: 7 },
    ignoredLost: { count: 2, bytes: 8, first20: ["lost.log", "node_modules/x/y.js"] },
  });
  const { commit = "" } = closed?.rescue ?? {};
  expect(await world.git("rev-parse", `refs/postern/rescue/${sessionId}`)).toBe(`${commit}\n`);
  expect(await world.git("show", `${commit}:README.md`)).toBe("modified\n");
  expect(await world.git("show", `${commit}^2:README.md`)).toBe("staged\n");
  expect(await world.git("show", `${commit}:link`)).toBe("nowhere\\at all");
  expect(await world.git("show", `${commit}:forced.log`)).toBe("forced");
  expect(await world.git("show", `${commit}::(glob)x`)).toBe("colon");
  const tree = await world.git("ls-tree", "-r", commit);
  expect(tree).toMatch(/^100755 .*\tsrc\/main\.c$/m);
  expect(tree).toContain('"\\377\\n\\"\\\\\\r"');
  expect(tree).not.toContain("run.sh");
  expect((await world.git("rev-parse", `${commit}^1`)).trim()).toBe((await world.git("rev-parse", "b")).trim());
});

test("keeps commits on no branch", async () => {
  const world = await createWorktreeWorld();
  const { dir, sessionId } = await world.make("b");
  await gitIn(dir, "checkout", "--quiet", "--detach");
  await gitIn(dir, "commit", "--quiet", "--allow-empty", "-m", "on no branch");
  const lost = (await gitIn(dir, "rev-parse", "HEAD")).trim();
  const closed = await world.worktrees.close(sessionId, keep);
  expect(closed).toMatchObject({ removed: true, rescue: { files: 0 } });
  expect((await world.git("rev-parse", `refs/postern/rescue/${sessionId}^1`)).trim()).toBe(lost);
});

test("discard makes no rescue but still lists what was removed", async () => {
  const world = await createWorktreeWorld();
  const { dir, sessionId } = await world.make("b");
  await writeFile(join(dir, "new"), "gone");
  await writeFile(join(dir, "a.log"), "gone");
  expect(await world.worktrees.close(sessionId, { discard: true })).toMatchObject({
    removed: true,
    rescue: null,
    ignoredLost: { count: 1 },
  });
  expect(existsSync(dir)).toBe(false);
});

test("keeps a worktree with a nested repository, and removes it once the repository is moved away", async () => {
  const world = await createWorktreeWorld();
  const { dir, sessionId } = await world.make("b");
  for (const nested of ["tools/inner", "node_modules/ignored"]) {
    await mkdir(join(dir, nested), { recursive: true });
    await gitIn(join(dir, nested), "init", "--quiet");
    const closed = await world.worktrees.close(sessionId, keep);
    expect(closed).toMatchObject({ removed: false, reason: expect.stringContaining(nested), rescue: null });
    expect(existsSync(join(dir, nested, ".git"))).toBe(true);
    await rm(join(dir, nested), { recursive: true });
  }
  expect(await world.worktrees.close(sessionId, keep)).toMatchObject({ removed: true });
});

test("keeps a worktree whose root became another repository, or that has an initialized submodule", async () => {
  const world = await createWorktreeWorld();
  await world.git("clone", "--quiet", ".", join(world.root, "library"));
  await world.git("submodule", "--quiet", "add", join(world.root, "library"), "lib");
  await world.git("commit", "--quiet", "-m", "lib");
  const own = await world.make("own");
  await rm(join(own.dir, ".git"));
  await gitIn(own.dir, "init", "--quiet");
  expect(await world.worktrees.close(own.sessionId, keep)).toMatchObject({ removed: false });
  const submodule = await world.make("submodule");
  await gitIn(submodule.dir, "submodule", "--quiet", "update", "--init");
  expect(await world.worktrees.close(submodule.sessionId, keep)).toMatchObject({
    removed: false,
    reason: expect.stringContaining("lib"),
  });
  const stray = await world.make("stray");
  await writeFile(join(stray.dir, "lib", "notes"), "in the folder of a submodule");
  expect(await world.worktrees.close(stray.sessionId, keep)).toMatchObject({ removed: false });
});

test.each(Object.entries(endlessFiles))("%s in place of a lock file is a lock", async (_what, put) => {
  const world = await createWorktreeWorld();
  const made = await world.make("locked");
  await put(join(world.repository, ".git", "worktrees", "locked", "locked"));
  expect(await world.worktrees.close(made.sessionId, keep)).toMatchObject({
    removed: false,
    reason: expect.stringContaining("It is locked."),
  });
});

test("keeps a worktree that was locked, moved or replaced", async () => {
  const world = await createWorktreeWorld();
  const locked = await world.make("locked");
  await world.git("worktree", "lock", "--reason", "on a stick", locked.dir);
  expect(await world.worktrees.close(locked.sessionId, keep)).toMatchObject({
    removed: false,
    reason: expect.stringContaining("on a stick"),
  });
  await world.git("worktree", "unlock", locked.dir);
  expect(await world.worktrees.close(locked.sessionId, keep)).toMatchObject({ removed: true });

  const moved = await world.make("moved");
  await world.git("worktree", "move", moved.dir, join(world.root, "there"));
  expect(await world.worktrees.close(moved.sessionId, keep)).toMatchObject({ removed: false });
  expect(await gitIn(join(world.root, "there"), "status", "--porcelain")).toBe("");

  const replaced = await world.make("replaced");
  await rename(replaced.dir, `${replaced.dir}-aside`);
  await mkdir(replaced.dir);
  await writeFile(join(replaced.dir, "mine"), "another's");
  expect(await world.worktrees.close(replaced.sessionId, keep)).toMatchObject({ removed: false });
  expect(await readFile(join(replaced.dir, "mine"), "utf8")).toBe("another's");
});

test("a worktree removed by hand is gone, and its detached commits are kept", async () => {
  const world = await createWorktreeWorld();
  const { dir, sessionId } = await world.make("b");
  await gitIn(dir, "checkout", "--quiet", "--detach");
  await gitIn(dir, "commit", "--quiet", "--allow-empty", "-m", "on no branch");
  const lost = (await gitIn(dir, "rev-parse", "HEAD")).trim();
  await rm(dir, { recursive: true });
  expect(await world.worktrees.close(sessionId, keep)).toMatchObject({ removed: true, rescue: { files: 0 } });
  expect((await world.git("rev-parse", `refs/postern/rescue/${sessionId}^1`)).trim()).toBe(lost);
  const other = await world.make("c");
  await world.git("worktree", "remove", "--force", other.dir);
  expect(await world.worktrees.close(other.sessionId, keep)).toMatchObject({ removed: true, rescue: null });
});

test.skipIf(process.getuid?.() === 0)(
  "a file that cannot be read keeps the worktree (skipped as root, which can read everything)",
  async () => {
    const world = await createWorktreeWorld();
    const { dir, sessionId } = await world.make("b");
    await writeFile(join(dir, "secret"), "", { mode: 0 });
    expect(await world.worktrees.close(sessionId, keep)).toMatchObject({ removed: false, rescue: null });
    expect(existsSync(join(dir, "secret"))).toBe(true);
  },
);

test("removes read-only folders too", async () => {
  const world = await createWorktreeWorld();
  const { dir, sessionId } = await world.make("b");
  await mkdir(join(dir, "node_modules", "a"), { recursive: true });
  await writeFile(join(dir, "node_modules", "a", "b"), "");
  await chmod(join(dir, "node_modules", "a"), 0o500);
  expect(await world.worktrees.close(sessionId, keep)).toMatchObject({ removed: true });
  expect(existsSync(dir)).toBe(false);
});

test("leaves main checkout, index and stash unchanged; a second rescue keeps the first one reachable", async () => {
  const world = await createWorktreeWorld();
  await writeFile(join(world.repository, "README.md"), "stashed\n");
  await world.git("stash", "--quiet");
  await writeFile(join(world.repository, "README.md"), "staged in main\n");
  await world.git("add", "README.md");
  await writeFile(join(world.repository, "README.md"), "dirty in main\n");
  const index = await readFile(join(world.repository, ".git", "index"));
  const state = await world.git("status", "--porcelain=v2");
  const stash = await world.git("rev-parse", "stash");
  const { dir, sessionId } = await world.make("b");
  await writeFile(join(dir, "one"), "1");
  const first = await world.worktrees.close(sessionId, keep);
  await world.worktrees.revive(sessionId);
  await writeFile(join(dir, "two"), "2");
  const second = await world.worktrees.close(sessionId, keep);
  expect(await readFile(join(world.repository, ".git", "index"))).toEqual(index);
  expect(await world.git("status", "--porcelain=v2")).toBe(state);
  expect(await world.git("rev-parse", "stash")).toBe(stash);
  expect(await readFile(join(world.repository, "README.md"), "utf8")).toBe("dirty in main\n");
  expect(await world.git("show", `${second?.rescue?.commit}:two`)).toBe("2");
  expect(await world.git("log", "--format=%H", `refs/postern/rescue/${sessionId}`)).toContain(first?.rescue?.commit);
});

test("the previous session's rescue stays reachable when another session continues in the worktree", async () => {
  const world = await createWorktreeWorld();
  const { dir, sessionId } = await world.make("b");
  await writeFile(join(dir, "README.md"), "first\n");
  const first = await world.worktrees.close(sessionId, keep);
  await world.worktrees.revive(sessionId);
  await world.store.db.updateTable("worktrees").set({ session_id: "next" }).execute();
  await writeFile(join(dir, "README.md"), "second\n");
  const { rescue } = (await world.worktrees.close("next", keep)) ?? {};
  expect(rescue?.ref).toBe("refs/postern/rescue/next");
  expect(await world.git("rev-list", rescue?.commit ?? "")).toContain(first?.rescue?.commit ?? "none");
});

test("a file whose name could be mistaken for git's own keeps the worktree", async () => {
  const world = await createWorktreeWorld();
  const { dir, sessionId } = await world.make("b");
  await writeFile(join(dir, ".GIT"), "mine\n");
  expect(await world.worktrees.close(sessionId, keep)).toMatchObject({ removed: false });
  expect(await readFile(join(dir, ".GIT"), "utf8")).toBe("mine\n");
});

test("a session resumed while its worktree is being closed gets a new one once the old one is gone", async () => {
  const world = await createWorktreeWorld();
  const { dir, sessionId } = await world.make("b");
  await writeFile(join(dir, "README.md"), "modified\n");
  const [reached, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const room = world.again({
    onStep: async (step) => {
      if (step !== "removing") return;
      reached.resolve();
      await go.promise;
    },
  });
  const closing = room.close(sessionId, keep);
  await reached.promise;
  const order: string[] = [];
  const both = [
    closing.then((closed) => order.push(`closed: ${closed?.removed}`)),
    room.revive(sessionId).then(() => order.push("revived")),
  ];
  // A revival that does not wait for the close would be done by then: it takes this many git and disk operations.
  await world.make("c");
  go.resolve();
  await Promise.all(both);
  expect(order).toEqual(["closed: true", "revived"]);
  expect(await readFile(join(dir, "README.md"), "utf8")).toBe("# Scratch\n");
  expect(await gitIn(dir, "status", "--porcelain")).toBe("");
  expect(await room.ofSession(sessionId)).toMatchObject({ state: "ready", rescueFiles: 1 });
});
