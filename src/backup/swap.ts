import { mkdir, readFile, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { z } from "zod";
import { isErrno } from "../core/errors.ts";
import { writeFileAtomic } from "../platform/files.ts";
import { acquireProcessLock } from "../storage/process-lock.ts";
import { exists, namesIn, syncFolder } from "./create-backup.ts";

/** Once this file exists, the restore is committed: after a crash, the next process finishes it. */
const journalName = "restore.json";

const stagingPattern = /^restoring-[0-9a-f]+$/;
/** A temporary file of the journal. */
const draftPattern = /^restore\.json\.[0-9a-f]+\.tmp$/;

const journalSchema = z.object({
  /** Folder in the state folder with the restored files. */
  staging: z.string().regex(stagingPattern),
  /** Folder, absolute, for the previous files. */
  aside: z.string().min(1),
  /** Paths in the state folder to move aside. */
  going: z.array(z.string()).readonly(),
  /** Paths in the staging folder to move to the state folder. */
  coming: z.array(z.string()).readonly(),
});

export type Swap = z.infer<typeof journalSchema>;

/**
 * Replaces the state atomically: after a crash the old state is in place, or the next process finishes the change before it reads
 * anything. The caller holds the folder's process lock.
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

async function hasUnfinishedRestore(home: string): Promise<boolean> {
  return (await namesIn(home)).some((name) => name === journalName || isLeftOver(name));
}

/**
 * Finishes an interrupted restore if it was committed, and otherwise removes its files. For every command, before it reads a state
 * folder.
 *
 * @throws PosternError `gateway_running` while the restore is running
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

async function removeStaging(home: string): Promise<void> {
  for (const name of await namesIn(home)) {
    if (isLeftOver(name)) await rm(join(home, name), { recursive: true, force: true });
  }
}

/** Idempotent: each step checks whether it is done. */
async function applySwap(home: string, { staging, aside, going, coming }: Swap): Promise<void> {
  for (const name of going) {
    const to = join(aside, name);
    // Already moved: the file with its name is a restored one.
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
 * Where the previous state goes: next to the state folder, or inside it when it is a volume.
 * @param label makes the name unique
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
