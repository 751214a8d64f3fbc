import { existsSync } from "node:fs";
import { cp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { mayMount, mountSmallDisk } from "../../test/support/small-disk.ts";
import { createWorktreeWorld, gitIn } from "../../test/support/worktree-world.ts";
import { newUuid } from "../core/ids.ts";

/** A repository on a disk of 2 MB, with worktrees next to it. */
async function smallDisk() {
  const world = await createWorktreeWorld();
  const disk = join(world.root, "disk");
  mountSmallDisk(disk, "2m");
  const repository = join(disk, "project");
  await cp(world.repository, repository, { recursive: true, verbatimSymlinks: true });
  return { world, disk, repository };
}

const filler = (disk: string) => join(disk, "filler");

async function fillUp(disk: string): Promise<void> {
  await writeFile(filler(disk), Buffer.alloc(4 * 1024 * 1024)).catch(() => undefined); // ends when the disk is full
}

test.skipIf(!mayMount())(
  "on a full disk, makes no worktree and leaves no trace (skipped without permission to mount)",
  async () => {
    const { world, disk, repository } = await smallDisk();
    await writeFile(join(repository, "large"), Buffer.alloc(700 * 1024, "abc"));
    await gitIn(repository, "add", "--all");
    await gitIn(repository, "commit", "--quiet", "-m", "large");
    await writeFile(filler(disk), Buffer.alloc(800 * 1024));
    const wanted = { sessionId: newUuid(), dir: repository, baseBranch: "main", branch: "b" };
    const making = world.worktrees.make(wanted, async () => true);
    await expect(making).rejects.toThrow(/Cannot create the worktree.*Everything was rolled back/s);
    expect(existsSync(join(disk, "b"))).toBe(false);
    await rm(filler(disk));
    expect(await gitIn(repository, "branch", "--list", "b")).toBe("");
    expect((await gitIn(repository, "worktree", "list")).trim().split("\n")).toHaveLength(1);
  },
);

test.skipIf(!mayMount())(
  "on a full disk, files stay in place until they can be rescued (skipped without permission to mount)",
  async () => {
    const { world, disk, repository } = await smallDisk();
    const { dir, sessionId } = await world.make("b", { dir: repository });
    const work = Buffer.from(Array.from({ length: 200_000 }, (_item, index) => (index * 7919) % 251));
    await writeFile(join(dir, "work"), work);
    await fillUp(disk);
    const stays = await world.worktrees.close(sessionId, { discard: false });
    expect(stays).toMatchObject({
      removed: false,
      reason: expect.stringContaining("could not be backed up"),
      rescue: null,
    });
    expect(await readFile(join(dir, "work"))).toEqual(work);
    await rm(filler(disk));
    expect(await world.worktrees.close(sessionId, { discard: false })).toMatchObject({
      removed: true,
      rescue: { files: 1 },
    });
    expect(existsSync(dir)).toBe(false);
  },
);
