import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { createWorktreeWorld, gitIn, type WorktreeWorld } from "../../test/support/worktree-world.ts";
import { newUuid } from "../core/ids.ts";

const program = fileURLToPath(new URL("../../test/support/worktree-child.ts", import.meta.url));

/** Starts a task in a separate process and kills it after some time; false if it finished first. */
async function killWithin(world: WorktreeWorld, delayMs: number, args: readonly string[]): Promise<boolean> {
  const [task = "", ...rest] = args;
  const home = join(world.root, "state of postern");
  const child = spawn(process.execPath, [program, task, world.store.place.path ?? "", home, ...rest], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  const ended = once(child, "exit");
  await Promise.race([sleep(delayMs), ended]);
  const killed = isRunning(child) && child.kill("SIGKILL");
  await ended;
  return killed;
}

function isRunning({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null;
}

async function largeWorld(): Promise<WorktreeWorld> {
  const world = await createWorktreeWorld();
  for (let folder = 0; folder < 4; folder += 1) {
    await mkdir(join(world.repository, `folder-${folder}`));
    for (let file = 0; file < 100; file += 1) {
      await writeFile(join(world.repository, `folder-${folder}`, `${file}`), `${folder} ${file}\n`.repeat(100));
    }
  }
  await world.git("add", "--all");
  await world.git("commit", "--quiet", "-m", "many");
  return world;
}

// Covers the first step to some time after the last, on an idle machine.
const delaysMs = [0, 30, 70, 130];

test("killed at any time while making a worktree, the next start finds it finished or leaves no trace", async () => {
  const world = await largeWorld();
  let kills = 0;
  for (const [index, delayMs] of delaysMs.entries()) {
    const branch = `made-${index}`;
    const path = join(world.root, branch);
    const sessionId = newUuid();
    if (await killWithin(world, delayMs, ["make", sessionId, world.repository, branch])) kills += 1;
    await world.again().reconcile(async () => false);
    expect(existsSync(path), `after ${delayMs} ms`).toBe(false);
    expect(await world.git("branch", "--list", branch)).toBe("");
    expect((await world.git("worktree", "list")).trim().split("\n")).toHaveLength(1);
  }
  expect(kills).toBeGreaterThan(0);
  expect(await world.store.db.selectFrom("worktrees").selectAll().execute()).toEqual([]);
}, 60_000);

test("killed at any time while closing one, the next start rescues and removes it, or leaves it unchanged", async () => {
  const world = await largeWorld();
  for (const [index, delayMs] of delaysMs.entries()) {
    const { dir, sessionId } = await world.make(`closed-${index}`);
    for (let file = 0; file < 10; file += 1) await writeFile(join(dir, `new-${file}`), `${index} ${file}\n`);
    await killWithin(world, delayMs, ["close", sessionId]);
    const next = world.again();
    await next.reconcile(async () => true);
    if (existsSync(dir)) {
      expect((await gitIn(dir, "status", "--porcelain")).trim().split("\n"), `after ${delayMs} ms`).toHaveLength(10);
    }
    expect(await next.close(sessionId, { discard: false })).toMatchObject({ removed: true, rescue: { files: 10 } });
    const listed = await world.git("ls-tree", "-r", "--name-only", `refs/postern/rescue/${sessionId}`);
    expect(listed.split("\n").filter((name) => name.startsWith("new-"))).toHaveLength(10);
  }
}, 60_000);
