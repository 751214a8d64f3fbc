import { rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { isErrno } from "../core/errors.ts";
import { writeFileAtomic } from "../platform/files.ts";
import { readSmallFile } from "../platform/regular-file.ts";
import type { Checkout } from "./repository.ts";

/** What is undone if git or the gateway is killed. */
const runningUpdateSchema = z.object({
  strategy: z.enum(["merge", "rebase"]),
  branch: z.string().regex(/^(?!\/)(?!.*\.\.)[^\0]+$/),
  /** The commit of the branch before the update, and the one that it is updated to. */
  head: z.string().regex(/^[0-9a-f]{40,64}$/),
  onto: z.string().regex(/^[0-9a-f]{40,64}$/),
  startedAt: z.number(),
});

export type RunningUpdate = z.infer<typeof runningUpdateSchema>;

const name = "postern-update.json";
const maxBytes = 16 * 1024;

/** Runs `task` with a file in the git dir, which stays there only if this process or git is killed meanwhile. */
export async function whileRunning<T extends { readonly exitCode: number | null }>(
  { gitDir }: Pick<Checkout, "gitDir">,
  update: RunningUpdate,
  task: () => Promise<T>,
): Promise<T> {
  await writeFileAtomic(join(gitDir, name), JSON.stringify(update));
  const result = await task();
  if (result.exitCode !== null) await forgetUpdate({ gitDir });
  return result;
}

export async function forgetUpdate({ gitDir }: Pick<Checkout, "gitDir">): Promise<void> {
  await rm(join(gitDir, name), { force: true });
}

/** The update during which git or the gateway was killed; null if there is none. */
export async function killedUpdate({ gitDir }: Pick<Checkout, "gitDir">): Promise<RunningUpdate | null> {
  const bytes = await readSmallFile(join(gitDir, name), maxBytes);
  if (bytes === null || bytes === "too_large") return null;
  try {
    return runningUpdateSchema.parse(JSON.parse(bytes.toString("utf8")));
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof z.ZodError) return null; // not ours
    throw error;
  }
}

/** Removes the locks that a killed git left. Call it only when ours is the only update here. */
export async function removeLocks(
  { gitDir, commonDir }: Pick<Checkout, "gitDir" | "commonDir">,
  { branch, startedAt }: RunningUpdate,
): Promise<void> {
  const locks = ["index.lock", "HEAD.lock", "ORIG_HEAD.lock"].map((lock) => join(gitDir, lock));
  for (const lock of [...locks, join(commonDir, "refs", "heads", `${branch}.lock`)]) {
    // Older ones are another program's. File systems can round a time down to two seconds.
    if ((await modifiedAt(lock)) >= startedAt - 2_000) await rm(lock, { force: true });
  }
}

async function modifiedAt(path: string): Promise<number> {
  try {
    return (await stat(path)).mtimeMs;
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return Number.NEGATIVE_INFINITY;
    throw error;
  }
}
