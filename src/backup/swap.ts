import { mkdir, readFile, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { z } from "zod";
import { isErrno } from "../core/errors.ts";
import { writeFileAtomic } from "../platform/files.ts";
import { acquireProcessLock } from "../storage/process-lock.ts";
import { exists, namesIn, syncFolder } from "./create-backup.ts";

/** When this file is there, the restore is decided: what is left of it is done by the next process. */
const journalName = "restore.json";

const stagingPattern = /^restoring-[0-9a-f]+$/;
/** Of a journal that was not finished. */
const draftPattern = /^restore\.json\.[0-9a-f]+\.tmp$/;

const journalSchema = z.object({
  /** Folder in the state folder with what comes. */
  staging: z.string().regex(stagingPattern),
  /** Folder, absolute, for what goes. */
  aside: z.string().min(1),
  /** Paths in the state folder that go. */
  going: z.array(z.string()).readonly(),
  /** Paths in the staging folder that come, each to the same path in the state folder. */
  coming: z.array(z.string()).readonly(),
});

export type Swap = z.infer<typeof journalSchema>;

/**
 * Changes a state folder from one state to another, at once: a process that is killed in here leaves the old state, or a new one that the
 * next process finishes before it reads anything. The caller holds the folder's process lock.
 */
export async function swapState(home: string, swap: Swap): Promise<void> {
  await mkdir(swap.aside, { recursive: true, mode: 0o700 });
  await writeFileAtomic(join(home, journalName), JSON.stringify(swap));
  await syncFolder(home);
  await applySwap(home, swap);
}

function isLeftOver(name: string): boolean {
  return stagingPattern.test(name) || draftPattern.test(name);
}

/** Whether a restore of this state folder was cut off, or is under way. */
async function hasUnfinishedRestore(home: string): Promise<boolean> {
  return (await namesIn(home)).some((name) => name === journalName || isLeftOver(name));
}

/**
 * Finishes a restore that was cut off when it was decided, and removes what it left when it was not. For every command, before it reads a
 * state folder.
 *
 * @throws PosternError `gateway_running` while the restore is under way
 */
export async function finishRestore(home: string): Promise<void> {
  if (!(await hasUnfinishedRestore(home))) return;
  const path = join(home, journalName);
  const lock = acquireProcessLock(join(home, "gateway.lock"));
  try {
    const text = await readFile(path, "utf8").catch((error: unknown) => {
      if (isErrno(error, "ENOENT")) return null; // another process has finished it
      throw error;
    });
    if (text !== null) await applySwap(home, journalSchema.parse(JSON.parse(text)));
    await removeStaging(home);
  } finally {
    lock.close();
  }
}

/** What restores left that were cut off before they were decided. */
async function removeStaging(home: string): Promise<void> {
  for (const name of await namesIn(home)) {
    if (isLeftOver(name)) await rm(join(home, name), { recursive: true, force: true });
  }
}

/** Each step looks whether it is done already. */
async function applySwap(home: string, { staging, aside, going, coming }: Swap): Promise<void> {
  for (const name of going) {
    const to = join(aside, name);
    // What is aside already went before; what now has its name has come.
    if ((await exists(to)) || !(await exists(join(home, name)))) continue;
    await mkdir(dirname(to), { recursive: true, mode: 0o700 });
    await rename(join(home, name), to);
  }
  if (await exists(aside)) await syncFolder(aside);
  for (const name of coming) {
    const from = join(home, staging, name);
    if (!(await exists(from))) continue;
    await mkdir(dirname(join(home, name)), { recursive: true, mode: 0o700 });
    await rename(from, join(home, name));
  }
  await syncFolder(home);
  await rm(join(home, staging), { recursive: true, force: true });
  await rm(join(home, journalName), { force: true });
  await syncFolder(home);
}

/**
 * Where the present state goes: beside the state folder, or inside of it where that is its own volume, from which nothing can be moved.
 * @param label makes it unique
 */
export async function asideFolder(home: string, label: string): Promise<string> {
  const [own, above] = await Promise.all([stat(home), stat(dirname(home))]);
  const beside = join(dirname(home), `${basename(home)}.before-restore-${label}`);
  if (own.dev !== above.dev) return join(home, `before-restore-${label}`);
  try {
    await mkdir(beside, { mode: 0o700 });
    return beside;
  } catch (error) {
    if (isErrno(error, "EACCES", "EPERM", "EROFS")) return join(home, `before-restore-${label}`);
    throw error;
  }
}
