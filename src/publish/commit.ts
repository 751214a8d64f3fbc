import type { CommitInput } from "../wire/publish.ts";
import { publishError } from "./errors.ts";
import { gitFailed, longMs, shownOutput, type UserGit } from "./user-git.ts";

/**
 * Commits what is staged. Runs the user's hooks, and signs the commit if the user has configured this.
 * @returns what git and hooks printed
 * @throws PosternError `nothing_to_commit` | `invalid_request` | `git_failed`
 */
export async function commit(
  git: UserGit,
  root: string,
  { message, amend = false, all = false }: Omit<CommitInput, "sessionId">,
): Promise<string> {
  if (message === undefined && !amend) {
    throw publishError("invalid_request", "A commit needs a `message`.");
  }
  if (all) await git.must(["add", "--all"], { root, timeoutMs: longMs });
  if (!amend && !(await hasStaged(git, root))) {
    throw publishError("nothing_to_commit", "No changes are staged. Stage files first, or set `all`.");
  }
  // Never an argument: those are visible to every user of the machine.
  const words = message === undefined ? ["--no-edit"] : ["--file=-"];
  const args = ["commit", "--cleanup=whitespace", ...words, ...(amend ? ["--amend"] : [])];
  const result = await git.run(args, { root, timeoutMs: longMs, ...(message !== undefined && { input: message }) });
  if (result.exitCode !== 0) throw gitFailed("commit", result);
  return shownOutput(result);
}

/** Before the first commit, everything in the index is staged. */
async function hasStaged(git: UserGit, root: string): Promise<boolean> {
  const { exitCode } = await git.run(["diff", "--cached", "--quiet", "--no-ext-diff"], { root });
  return exitCode === 1;
}
