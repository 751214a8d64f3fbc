import { type Git, GitError } from "../platform/git-command.ts";
import { findRepository, type RepositoryPlace } from "../platform/git-repository.ts";
import type { FolderScope } from "../wire/access.ts";
import type { Caller } from "../wire/caller.ts";
import type { Branches } from "../wire/changes.ts";
import { baseCommitOf, branchAt, defaultBase } from "./branch-rules.ts";
import { countedDirs, requireRepository } from "./make-worktree.ts";
import { randomBranch, suggestBranch } from "./suggested-branch.ts";
import { worktreeError } from "./worktree-deps.ts";
import type { FolderRule } from "./worktree-scope.ts";

export interface BranchesDeps extends FolderRule {
  readonly git: Git;
  /** The prefix of suggested names; null for the default. */
  readonly branchPrefixOf: (dir: string) => Promise<string | null>;
}

const maxBranches = 500;
const timeoutMs = 10_000;

/**
 * `GET /api/coding/branches?dir=`: the bases for a new session's worktree, and a suggested branch name.
 * @throws PosternError `dir_not_allowed` | `dir_not_found` | `worktree_failed` (git's message)
 */
export function createBranches(deps: BranchesDeps): (dir: string, caller: Caller) => Promise<Branches> {
  const { git } = deps;
  return async (given, caller) => {
    const rule = { scope: "coding", caller } as const;
    const { dir } = await deps.resolveAllowedDir(given, rule);
    const place = await findRepository(dir);
    const usable = place !== null && (await mayUse(place));
    if (!usable) return { repository: null, current: null, branches: [], suggested: randomBranch() };
    try {
      const branches = await localBranches(git, place);
      return {
        repository: place.root,
        current: await branchAt(place.checkout?.gitDir ?? place.commonDir),
        branches: [...branches],
        suggested: await suggestBranch(git, place.commonDir, { prompt: "", prefix: await deps.branchPrefixOf(dir) }),
      };
    } catch (error) {
      if (!(error instanceof GitError)) throw error;
      throw worktreeError("worktree_failed", `Cannot list the branches of ${place.root}: ${error.message}.`, {
        cause: error,
      });
    }

    async function mayUse(found: RepositoryPlace): Promise<boolean> {
      for (const each of countedDirs(found, dir)) if (!(await deps.isVisibleDir(each, rule))) return false;
      return true;
    }
  };
}

/** The commit at which several worktrees of a directory's repository start. */
export type BaseOf = (
  place: {
    readonly dir: string;
    /** Null for the repository's default branch. */
    readonly baseBranch: string | null;
    readonly scope: FolderScope;
  },
  caller: Caller,
) => Promise<{ readonly dir: string; readonly baseBranch: string; readonly baseCommit: string }>;

/**
 * @see BaseOf
 * @throws PosternError `dir_not_allowed` | `dir_not_found` | `not_a_git_repository` | `base_branch_not_found` | `worktree_failed`
 */
export function createBaseOf(deps: Pick<BranchesDeps, "git" | "resolveAllowedDir" | "isVisibleDir">): BaseOf {
  return async ({ dir: given, baseBranch, scope }, caller) => {
    const rule = { scope, caller };
    const { dir } = await deps.resolveAllowedDir(given, rule);
    const place = await requireRepository(dir);
    for (const each of countedDirs(place, dir)) {
      if (await deps.isVisibleDir(each, rule)) continue;
      throw worktreeError(
        "dir_not_allowed",
        `The repository of ${dir} is at ${place.root}, which the caller cannot use.`,
      );
    }
    try {
      const base = baseBranch ?? (await defaultBase(deps.git, place));
      return { dir, baseBranch: base, baseCommit: await baseCommitOf(deps.git, place, base) };
    } catch (error) {
      if (!(error instanceof GitError)) throw error;
      throw worktreeError("worktree_failed", `Cannot read the branches of ${place.root}: ${error.message}.`, {
        cause: error,
      });
    }
  };
}

async function localBranches(git: Git, { commonDir }: RepositoryPlace): Promise<readonly string[]> {
  const listed = await git.must(
    ["for-each-ref", "--sort=-committerdate", `--count=${maxBranches}`, "--format=%(refname:lstrip=2)", "refs/heads"],
    { at: { gitDir: commonDir }, timeoutMs },
  );
  // A request cannot contain a name that is not UTF-8.
  const names = listed.toString("utf8").split("\n");
  return names.filter((name) => name !== "" && !name.includes("\ufffd"));
}
