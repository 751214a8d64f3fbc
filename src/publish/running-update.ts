import { readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { Clock } from "../core/clock.ts";
import { isErrno } from "../core/errors.ts";
import { writeFileAtomic } from "../platform/files.ts";
import { endGroup } from "../platform/processes.ts";
import { readSmallFile } from "../platform/regular-file.ts";
import { commitOf } from "./base-branch.ts";
import type { Checkout } from "./repository.ts";
import { longMs, type UserGit } from "./user-git.ts";

/** A running update, which is undone if git or the gateway is killed. */
const runningUpdateSchema = z.object({
  strategy: z.enum(["merge", "rebase"]),
  branch: z.string().regex(/^(?!\/)(?!.*\.\.)[^\p{Cc}]+$/u),
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

/**
 * Whether the checkout is no longer as this update left it: git finished the update after all, someone ended it, or another one began.
 * Then there is nothing to undo, and a reset to the update's start would discard later work.
 */
export async function isOver(
  git: UserGit,
  { root, gitDir }: Pick<Checkout, "root" | "gitDir">,
  { strategy, branch, head, onto }: RunningUpdate,
): Promise<boolean> {
  const ontoIn = (folder: string) => textOf(join(gitDir, folder, "onto"));
  const rebasing = (await ontoIn("rebase-merge")) ?? (await ontoIn("rebase-apply"));
  if (rebasing !== null) return strategy !== "rebase" || rebasing !== onto;
  const merging = await commitOf(git, root, "MERGE_HEAD");
  if (merging !== null) return strategy !== "merge" || merging !== onto;
  const on = await git.lineOf(["symbolic-ref", "--quiet", "HEAD"], { root });
  const tip = await commitOf(git, root, "HEAD");
  if (on === null) return tip !== head && tip !== onto;
  return on !== `refs/heads/${branch}` || tip !== head;
}

/** A variable in the environment of git and its hooks, which identifies those that outlive the gateway. */
const variable = "POSTERN_UPDATE";

export function markOf({ gitDir }: Pick<Checkout, "gitDir">): Readonly<Record<string, string>> {
  return { [variable]: gitDir };
}

/** Ends git processes and hooks of an earlier gateway, before their changes are undone. */
export async function endLeftGit({ gitDir }: Pick<Checkout, "gitDir">, clock: Clock): Promise<void> {
  await endGroup({ leader: null, marker: { name: variable, value: gitDir } }, { graceMs: 2_000, clock });
}

export async function textOf(path: string): Promise<string | null> {
  try {
    return (await readFile(path, "utf8")).trim();
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return null;
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
    // Older locks are another program's, and so are locks made after the time limit of our git. File systems can round a time down
    // to two seconds.
    const at = await modifiedAt(lock);
    if (at >= startedAt - 2_000 && at <= startedAt + longMs) await rm(lock, { force: true });
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
