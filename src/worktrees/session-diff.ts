import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { hasCode } from "../core/errors.ts";
import type { Gate } from "../core/gate.ts";
import { type Git, GitError } from "../platform/git-command.ts";
import { findRepository, readPointer } from "../platform/git-repository.ts";
import type { SessionDiff } from "../wire/changes.ts";
import { baseCommitOf, branchCommit } from "./branch-rules.ts";
import { type Comparison, compare, compareLimits, type OtherSide } from "./compare.ts";
import { commitOf, type DeadlineGit, type GitWorkshop, gitUntil } from "./git-workshop.ts";
import { shownName, type TreeName } from "./tree-walk.ts";
import { visibleFiles, worktreeError } from "./worktree-deps.ts";
import { inodeOf, isSameFolder } from "./worktree-files.ts";
import type { WorktreeRecord } from "./worktree-store.ts";

/** The parts of a session that a comparison needs. */
export interface DiffOf {
  /** The directory that the session works in; a real path. */
  readonly dir: string;
  /** The worktree made for it. */
  readonly worktree: WorktreeRecord | null;
  /** Filters directories to those in which the caller can see files. A worktree counts as its repository. */
  readonly visibleAmong: (dirs: readonly string[]) => Promise<ReadonlySet<string>>;
}

/** The files of a session as an account saw them: a tree whose new objects are in a folder of Postern's own. */
export interface Look {
  readonly tree: string;
  /** The folder of its objects; all others are in the repository. */
  readonly objects: string;
  readonly at: number;
}

/** Options of a comparison; by default, all files with their patches, against the base. */
export interface DiffOptions {
  readonly against?: "base" | "head" | "seen" | "turn";
  /** For `seen` and `turn`: the files that were recorded. Null compares with the base. */
  readonly look?: Look | null;
  /** False lists more files, without their patches. */
  readonly patches?: boolean;
  /** Only the file with one of these paths, with a longer patch; null for all. */
  readonly only?: ReadonlySet<string> | null;
  readonly ignoreWhitespace?: boolean;
}

export interface SessionDiffDeps {
  readonly workshop: GitWorkshop;
  readonly clock: Clock;
  readonly gate: Gate;
}

/** For the whole comparison. A large work tree whose files were all touched takes some seconds. */
const withinMs = 20_000;

interface Sides {
  readonly root: string;
  /** The directory that the root counts as for the folder rule. */
  readonly counted: string;
  readonly commonDir: string;
  /** For a look, `commit` is a tree, and `objects` is the folder with the objects of the look. */
  readonly base: { readonly name: string; readonly commit: string | null; readonly objects?: string };
  readonly other: OtherSide;
}

/**
 * The changes of a session: its worktree, or the branch of a removed one, against the point where the branch left the base branch; in any
 * other repository, the work tree against HEAD. Runs no code from the repository and changes nothing in it.
 * @throws PosternError `not_a_git_repository` | `dir_not_allowed` | `branch_not_found` | `worktree_failed` (git's message) | `rate_limited`
 */
export function createSessionDiff({
  workshop,
  clock,
  gate,
}: SessionDiffDeps): (of: DiffOf, options?: DiffOptions) => Promise<SessionDiff> {
  return (of, options = {}) =>
    gate.run(async () => {
      const git = gitUntil(workshop.git, { clock, withinMs });
      try {
        const sides = withBase(await sidesOf(git, of), options);
        const { files, truncated } = await compared({ git, workshop, sides, of, options });
        const { root, base } = sides;
        const commit = base.objects === undefined ? (base.commit ?? "") : "";
        return { root, base: { name: base.name, commit }, files: [...files], truncated };
      } catch (error) {
        if (!(error instanceof GitError)) throw error;
        throw worktreeError("worktree_failed", `Cannot compare the changes: ${plain(error.message)}.`, {
          cause: error,
        });
      }
    });
}

interface Comparing {
  readonly git: DeadlineGit;
  readonly workshop: GitWorkshop;
  readonly sides: Sides;
  readonly of: DiffOf;
  readonly options: DiffOptions;
}

/** What a comparison is against. */
export type DiffBase = Pick<DiffOptions, "against" | "look">;

/** The same sides with another base. A removed worktree has no uncommitted changes: its branch is compared with itself. */
export function withBase(sides: Sides, { against: wanted = "base", look = null }: DiffBase): Sides {
  if ((wanted === "seen" || wanted === "turn") && look !== null) {
    const name = wanted === "seen" ? "your last look" : "the beginning of the last turn";
    return { ...sides, base: { name, commit: look.tree, objects: look.objects } };
  }
  if (wanted !== "head") return sides;
  const commit = sides.other.kind === "commit" ? sides.other.commit : sides.other.head;
  return { ...sides, base: { name: "HEAD", commit } };
}

async function compared({ git, workshop, sides, of, options }: Comparing): Promise<Comparison> {
  const { commonDir, other, base, counted } = sides;
  const inSight = visibleFiles(counted, of.visibleAmong);
  const visible = (names: readonly TreeName[]): Promise<readonly TreeName[]> => inSight(names, shownName);
  const { patches = true, only = null, ignoreWhitespace = false } = options;
  const limits = only !== null ? compareLimits.file : patches ? compareLimits.patches : compareLimits.list;
  const wanted = {
    commonDir,
    base: base.commit,
    baseObjects: base.objects ?? null,
    other,
    visible,
    limits,
    only,
    ignoreWhitespace,
  };
  const attempt = (raw: boolean): Promise<Comparison> =>
    compare({ git, scratchFolder: workshop.scratchFolder(), raw, ...wanted });
  try {
    // A repository's attributes can be invalid, and its files can change during the read: then retry without attributes.
    return await attempt(false).catch((error: unknown) => {
      if (error instanceof GitError && !git.isOver()) return attempt(true);
      throw error;
    });
  } catch (error) {
    if (error instanceof GitError && git.isOver()) return { files: [], truncated: true };
    throw error;
  }
}

/** The two sides to compare for a session. @throws PosternError `not_a_git_repository` | `dir_not_allowed` | `branch_not_found` */
export function sidesOf(git: Git, of: DiffOf): Promise<Sides> {
  return of.worktree === null ? inRepository(git, of) : ofWorktree(git, of.worktree);
}

async function inRepository(git: Git, { dir, visibleAmong }: DiffOf): Promise<Sides> {
  const place = await findRepository(dir);
  if (place === null) throw worktreeError("not_a_git_repository", `${dir} is not in a git repository.`);
  const { commonDir, checkout } = place;
  if (checkout === null) throw worktreeError("not_a_git_repository", `${place.root} is a bare repository.`);
  const { root, gitDir } = checkout;
  // A `.git` file can point to a repository anywhere; one with a matching entry for a linked worktree is trusted.
  const apart = gitDir === commonDir && !gitDir.startsWith(`${root}/`);
  if (apart && !(await visibleAmong([commonDir])).has(commonDir)) {
    throw worktreeError("dir_not_allowed", `The repository of ${dir} is at ${commonDir}, which the caller cannot use.`);
  }
  const head = await commitOf(git, { gitDir, commonDir }, "HEAD");
  const other = { kind: "work tree", path: root, gitDir, head } as const;
  return { root, counted: root, commonDir, base: { name: "HEAD", commit: head }, other };
}

async function ofWorktree(git: Git, record: WorktreeRecord): Promise<Sides> {
  const { commonDir, path, repository, branch, baseBranch } = record;
  if ((await findRepository(repository))?.commonDir !== commonDir) {
    throw worktreeError("not_a_git_repository", `The repository ${repository} was moved or removed.`);
  }
  const standing = await standingSide(git, record);
  const tip = standing === null ? await branchCommit(git, commonDir, branch) : standing.head;
  if (standing === null && tip === null) {
    throw worktreeError("branch_not_found", `The worktree was removed, and its branch ${branch} no longer exists.`);
  }
  const commit = await mergeBase(git, record, tip);
  const other = standing ?? { kind: "commit" as const, commit: tip ?? "" };
  return { root: path, counted: repository, commonDir, base: { name: baseBranch, commit }, other };
}

/** The worktree, if it is still the one that Postern created. Its own `.git` is not read. */
async function standingSide(git: Git, { path, inode, gitDir, commonDir, state }: WorktreeRecord) {
  if (gitDir === null || state === "removed" || !isSameFolder(await inodeOf(path), inode)) return null;
  if ((await readPointer(join(gitDir, "HEAD"))) === null) return null;
  return { kind: "work tree" as const, path, gitDir, head: await commitOf(git, { gitDir, commonDir }, "HEAD") };
}

/** The merge base. If the base is gone or is not a branch, the commit at which the branch started. */
async function mergeBase(
  git: Git,
  { commonDir, repository, baseBranch, baseCommit }: WorktreeRecord,
  tip: string | null,
): Promise<string> {
  if (tip === null || baseBranch === "HEAD") return baseCommit;
  const place = { root: repository, commonDir, checkout: null };
  const base = await baseCommitOf(git, place, baseBranch).catch((error: unknown) => {
    if (hasCode(error, "base_branch_not_found")) return baseCommit; // removed since
    throw error;
  });
  const result = await git.run(["merge-base", base, tip], { at: { gitDir: commonDir } });
  const found = result.stdout.toString("latin1").trim();
  return result.exitCode === 0 && /^[0-9a-f]{40,64}$/.test(found) ? found : baseCommit;
}

/** Git's output is untrusted. */
function plain(text: string): string {
  return text.replace(/\p{Cc}+/gu, " ").trim();
}
