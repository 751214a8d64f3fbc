import { join } from "node:path";
import { findRepository } from "../platform/git-repository.ts";
import type { Caller } from "../wire/caller.ts";
import { publishError } from "./errors.ts";
import type { PublishPlace, PublishPorts } from "./ports.ts";

/** The checkout that a session works in; real paths. */
export interface Checkout {
  readonly sessionId: string;
  readonly root: string;
  readonly gitDir: string;
  readonly commonDir: string;
  /** Set in a worktree that Postern made. */
  readonly made: { readonly branch: string; readonly baseBranch: string } | null;
}

/**
 * The checkout of a session, for a caller that can use all of it: a commit contains files of the whole repository.
 * @throws PosternError `not_a_git_repository` | `dir_not_allowed`, and the errors of `placeOf`
 */
export async function checkoutOf(ports: PublishPorts, sessionId: string, caller: Caller): Promise<Checkout> {
  const place = await ports.placeOf(sessionId, caller);
  return place.worktree === null ? ofRepository(ports, place, caller) : ofWorktree(ports, place, caller);
}

async function ofRepository(ports: PublishPorts, { sessionId, dir }: PublishPlace, caller: Caller): Promise<Checkout> {
  const found = await findRepository(dir);
  if (found === null || found.checkout === null) {
    throw publishError("not_a_git_repository", `${dir} is not in a Git repository with a work tree.`);
  }
  const { commonDir, checkout } = found;
  const { root, gitDir } = checkout;
  // A `.git` file can point to a repository anywhere.
  const apart = commonDir.startsWith(`${root}/`) ? [] : [found.root, commonDir];
  await requireUse(ports, [root, ...apart], caller);
  return { sessionId, root, gitDir, commonDir, made: null };
}

async function ofWorktree(ports: PublishPorts, place: PublishPlace, caller: Caller): Promise<Checkout> {
  const { sessionId, dir, worktree } = place;
  if (worktree === null) throw new Error("The session has no worktree.");
  const { path: root, gitDir, commonDir, repository, branch, baseBranch } = worktree;
  await requireUse(ports, [repository], caller);
  // Git, run by the user, trusts the worktree's `.git` file, which the agent can replace.
  const found = await findRepository(root);
  const same = found?.checkout?.root === root && found.checkout.gitDir === gitDir && found.commonDir === commonDir;
  if (gitDir === null || !same) {
    throw publishError(
      "not_a_git_repository",
      `The worktree ${dir} was removed, or its file ${join(root, ".git")} no longer points to ${repository}. Run \`git worktree repair\` there.`,
    );
  }
  return { sessionId, root, gitDir, commonDir, made: { branch, baseBranch } };
}

async function requireUse(ports: PublishPorts, dirs: readonly string[], caller: Caller): Promise<void> {
  if (await ports.mayUse(dirs, caller)) return;
  throw publishError(
    "dir_not_allowed",
    `This needs access to the whole repository (${dirs.join(", ")}), with the folder scopes coding and files.`,
  );
}
