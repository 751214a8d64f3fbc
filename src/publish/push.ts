import type { GitStatus, PushInput } from "../wire/publish.ts";
import { publishError } from "./errors.ts";
import { gitFailed, longMs, shownOutput, type UserGit } from "./user-git.ts";

/**
 * Pushes the branch to the branch of the same name. Never forces, except with a lease on what this branch contained before.
 * @returns the remote, and what git printed
 * @throws PosternError `push_rejected` | `invalid_request` | `git_failed`
 */
export async function push(
  git: UserGit,
  status: GitStatus,
  { remote: named, forceWithLease = false }: Omit<PushInput, "sessionId">,
): Promise<{ readonly remote: string; readonly output: string }> {
  const { root, branch, upstream, remotes, mayForcePush } = status;
  if (branch === null) throw publishError("invalid_request", "No branch is checked out. Create one first.");
  const remote = named ?? (await pushRemoteOf(git, status, branch));
  if (remote === null || !remotes.includes(remote)) {
    throw publishError(
      "invalid_request",
      `The repository has no remote ${remote ?? "to push to"}. Add one with \`git remote add\`.`,
    );
  }
  if (forceWithLease && !mayForcePush) {
    throw publishError(
      "invalid_request",
      "Only a branch that Postern created, and that was rebased or amended since it was pushed, can be forced.",
    );
  }
  const ref = `refs/heads/${branch}`;
  // With `--force-if-includes`, a lease covers only commits that were in this branch, not what a fetch brought in the background.
  const force = forceWithLease ? [`--force-with-lease=${ref}`, "--force-if-includes"] : [];
  const track = upstream === null ? ["--set-upstream"] : [];
  const args = ["push", "--porcelain", ...track, ...force, remote, `${ref}:${ref}`];
  const result = await git.run(args, { root, timeoutMs: longMs });
  if (result.exitCode === 0) return { remote, output: shownOutput(result) };
  const [, reason] = /^!\t[^\t]*\t(.*)$/m.exec(result.stdout.toString("utf8")) ?? [];
  if (reason === undefined) throw gitFailed("push", result);
  throw publishError(
    "push_rejected",
    `${remote} did not accept ${branch}: ${reason}. ${adviceFor(reason, mayForcePush)}`,
    {
      output: shownOutput(result),
    },
  );
}

function adviceFor(reason: string, mayForcePush: boolean): string {
  if (!/fetch first|non-fast-forward|stale info|updated since checkout/.test(reason)) return "Read what it printed.";
  return mayForcePush
    ? "It has commits that this branch does not have. If a rebase or an amend replaced them, push with `forceWithLease`."
    : "It has commits that this branch does not have. Fetch and merge them first.";
}

/** The remote that git is configured to push this branch to, or `origin`, or the only one. */
export async function pushRemoteOf(
  git: UserGit,
  { root, remotes }: Pick<GitStatus, "root" | "remotes">,
  branch: string,
): Promise<string | null> {
  for (const key of [`branch.${branch}.pushRemote`, "remote.pushDefault", `branch.${branch}.remote`]) {
    const value = await git.lineOf(["config", "--get", key], { root });
    if (value !== null && remotes.includes(value)) return value;
  }
  if (remotes.includes("origin")) return "origin";
  return remotes.length === 1 ? (remotes[0] ?? null) : null;
}
