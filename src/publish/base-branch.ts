import type { Checkout } from "./repository.ts";
import type { UserGit } from "./user-git.ts";

/**
 * The branch that a checkout is updated from, as a name for git; null if there is none. For a worktree, its base branch, or the remote's
 * branch of the same name if that is newer. Elsewhere the remote's default branch or, on that branch itself, its upstream.
 */
export async function baseOf(
  git: UserGit,
  { root, made }: Pick<Checkout, "root" | "made">,
  current: { readonly branch: string | null; readonly upstream: { readonly name: string } | null },
): Promise<string | null> {
  const named = made?.baseBranch ?? (await defaultBranch(git, root));
  if (named === null || named === "HEAD") return null;
  if (named === current.branch) return current.upstream?.name ?? null;
  if ((await commitOf(git, root, `refs/heads/${named}`)) === null) {
    return (await commitOf(git, root, named)) === null ? null : named;
  }
  const upstream = await git.lineOf(["rev-parse", "--abbrev-ref", `${named}@{upstream}`], { root });
  if (upstream === null) return named;
  const { exitCode } = await git.run(["merge-base", "--is-ancestor", `refs/heads/${named}`, upstream], { root });
  return exitCode === 0 ? upstream : named;
}

async function defaultBranch(git: UserGit, root: string): Promise<string | null> {
  const remote = await git.lineOf(["symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD"], { root });
  const names = [...(remote === null ? [] : [remote.replace(/^origin\//, "")]), "main", "master"];
  for (const name of names) {
    if ((await commitOf(git, root, `refs/heads/${name}`)) !== null) return name;
    if ((await commitOf(git, root, `refs/remotes/origin/${name}`)) !== null) return `origin/${name}`;
  }
  return null;
}

/** The commit with this name, which is ours or git's; null if there is none. */
export function commitOf(git: UserGit, root: string, name: string): Promise<string | null> {
  return git.lineOf(["rev-parse", "--verify", "--quiet", "--end-of-options", `${name}^{commit}`], { root });
}
