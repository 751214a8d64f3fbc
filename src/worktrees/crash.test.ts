import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createWorktreeWorld, gitIn, type WorktreeWorld } from "../../test/support/worktree-world.ts";
import { newUuid } from "../core/ids.ts";
import type { WorktreeStep } from "./worktree-deps.ts";

/** Starts an operation, and resolves when it halts at a step, as if the gateway had been killed there. */
async function stopAt(
  world: WorktreeWorld,
  step: WorktreeStep,
  begin: (room: WorktreeWorld["worktrees"]) => Promise<unknown>,
) {
  let reached = (): void => undefined;
  const there = new Promise<void>((resolve) => {
    reached = resolve;
  });
  const room = world.again({
    onStep: (at) => {
      if (at !== step) return Promise.resolve();
      reached();
      return new Promise(() => undefined); // forever
    },
  });
  await Promise.race([there, begin(room).then(() => Promise.reject(new Error(`never came to ${step}`)))]);
}

async function expectNoTrace(world: WorktreeWorld, branch: string): Promise<void> {
  expect(existsSync(join(world.root, branch))).toBe(false);
  expect(await world.git("branch", "--list", branch)).toBe("");
  expect((await world.git("worktree", "list")).trim().split("\n")).toHaveLength(1);
  expect(await world.store.db.selectFrom("worktrees").selectAll().execute()).toEqual([]);
}

const everyone = async (): Promise<boolean> => true;

describe("a gateway killed while making a worktree leaves no trace after the next start", () => {
  test.for<WorktreeStep>(["intent", "branch", "folder", "registered", "checked out", "included"])(
    "after: %s",
    async (step) => {
      const world = await createWorktreeWorld();
      const wanted = { sessionId: newUuid(), dir: world.repository, baseBranch: "main", branch: "b" };
      await stopAt(world, step, (room) => room.make(wanted, everyone));
      await world.again().reconcile(everyone);
      await expectNoTrace(world, "b");
      const { dir } = await world.make("b");
      expect(await gitIn(dir, "status", "--porcelain")).toBe("");
    },
  );

  test("also when killed between making the worktree and starting its session", async () => {
    const world = await createWorktreeWorld();
    await world.make("b");
    await world.again().reconcile(async () => false);
    await expectNoTrace(world, "b");
  });

  test("but keeps files in a worktree without a session, because they may be someone's work", async () => {
    const world = await createWorktreeWorld();
    for (const [branch, end] of [
      ["b", (): Promise<void> => world.again().reconcile(async () => false)],
      ["c", (id: string): Promise<void> => world.again().takeBack(id)],
    ] as const) {
      const { dir, sessionId } = await world.make(branch);
      await writeFile(join(dir, "README.md"), "changed\n");
      await end(sessionId);
      expect(existsSync(dir)).toBe(false);
      expect(await world.git("show", `refs/postern/rescue/${sessionId}:README.md`)).toBe("changed\n");
      expect((await world.worktrees.rescued()).map((record) => record.sessionId)).toContain(sessionId);
    }
  });

  test("does not touch files that were put in the way meanwhile", async () => {
    const world = await createWorktreeWorld();
    const wanted = { sessionId: newUuid(), dir: world.repository, baseBranch: "main", branch: "b" };
    await stopAt(world, "branch", (room) => room.make(wanted, everyone));
    await gitIn(world.root, "init", "--quiet", "b");
    await world.git("commit", "--quiet", "--allow-empty", "-m", "more");
    await world.git("branch", "--force", "b");
    await world.again().reconcile(everyone);
    expect(existsSync(join(world.root, "b", ".git"))).toBe(true);
    expect(await world.git("branch", "--list", "b")).toContain("b");
  });
});

describe("a gateway killed while closing a worktree rescues and removes it after the next start", () => {
  test.for<WorktreeStep>(["closing", "rescued", "removing", "folder removed", "entry removed"])(
    "after: %s",
    async (step) => {
      const world = await createWorktreeWorld();
      const { dir, sessionId } = await world.make("b");
      await writeFile(join(dir, "new"), "new\n");
      await stopAt(world, step, (room) => room.close(sessionId, { discard: false }));
      const next = world.again();
      await next.reconcile(everyone);
      expect(existsSync(dir)).toBe(false);
      expect((await world.git("worktree", "list")).trim().split("\n")).toHaveLength(1);
      expect(await world.git("show", `refs/postern/rescue/${sessionId}:new`)).toBe("new\n");
      expect(await world.git("rev-list", "--count", `refs/postern/rescue/${sessionId}`), "rescued once").toBe("2\n");
      expect(await next.close(sessionId, { discard: false })).toMatchObject({ removed: true, rescue: { files: 1 } });
      await next.revive(sessionId);
      expect(await gitIn(dir, "status", "--porcelain")).toBe("");
    },
  );

  test("a discard stays a discard", async () => {
    const world = await createWorktreeWorld();
    const { dir, sessionId } = await world.make("b");
    await writeFile(join(dir, "new"), "new\n");
    await stopAt(world, "closing", (room) => room.close(sessionId, { discard: true }));
    await world.again().reconcile(everyone);
    expect(existsSync(dir)).toBe(false);
    expect(await world.git("for-each-ref", "refs/postern")).toBe("");
  });
});

describe("a gateway killed while recreating a worktree", () => {
  test.for<WorktreeStep>(["intent", "folder", "registered", "checked out"])("after: %s", async (step) => {
    const world = await createWorktreeWorld();
    const { dir, sessionId } = await world.make("b");
    await writeFile(join(dir, "new"), "new\n");
    await world.worktrees.close(sessionId, { discard: false });
    await stopAt(world, step, (room) => room.revive(sessionId));
    const next = world.again();
    await next.reconcile(everyone);
    expect(existsSync(dir)).toBe(false);
    expect(await world.git("branch", "--list", "b"), "the branch is work, and stays").toContain("b");
    await next.revive(sessionId);
    expect(await gitIn(dir, "status", "--porcelain")).toBe("");
    expect((await next.ofSession(sessionId))?.rescueRef).not.toBeNull();
  });
});
