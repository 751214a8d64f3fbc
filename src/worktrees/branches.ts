import { randomInt } from "node:crypto";
import { lstat } from "node:fs/promises";
import { hasCode, isErrno } from "../core/errors.ts";
import { type Git, GitError } from "../platform/git-command.ts";
import { findRepository, type RepositoryPlace, readPointer } from "../platform/git-repository.ts";
import type { Caller } from "../wire/caller.ts";
import type { Branches } from "../wire/changes.ts";
import { worktreePathOf } from "./branch-rules.ts";
import { countedDirs } from "./make-worktree.ts";
import { worktreeError } from "./worktree-deps.ts";
import type { FolderRule } from "./worktree-scope.ts";

export interface BranchesDeps extends FolderRule {
  readonly git: Git;
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
    if (!usable) return { repository: null, current: null, branches: [], suggested: randomName() };
    try {
      const branches = await localBranches(git, place);
      return {
        repository: place.root,
        current: await currentBranch(place),
        branches: [...branches],
        suggested: await freeName(git, place),
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

async function localBranches(git: Git, { commonDir }: RepositoryPlace): Promise<readonly string[]> {
  const listed = await git.must(
    ["for-each-ref", "--sort=-committerdate", `--count=${maxBranches}`, "--format=%(refname:lstrip=2)", "refs/heads"],
    { at: { gitDir: commonDir }, timeoutMs },
  );
  // A request cannot contain a name that is not UTF-8.
  const names = listed.toString("utf8").split("\n");
  return names.filter((name) => name !== "" && !name.includes("\ufffd"));
}

async function currentBranch({ checkout, commonDir }: RepositoryPlace): Promise<string | null> {
  const head = await readPointer(`${checkout?.gitDir ?? commonDir}/HEAD`);
  return /^ref: refs\/heads\/(.+)$/.exec(head ?? "")?.[1] ?? null;
}

/** A name that no branch has or blocks, and whose worktree directory is free. */
async function freeName(git: Git, place: RepositoryPlace): Promise<string> {
  for (let attempt = 0; attempt < 30; attempt += 1) {
    // Later attempts add a number, then drop the prefix's slash, because a branch `postern` rules out names below it.
    const name = randomName({ prefix: attempt < 20 ? "postern/" : "postern-", numbered: attempt >= 10 });
    if (await isFree(git, place, name)) return name;
  }
  return `postern-${randomInt(2 ** 40).toString(36)}`;
}

async function isFree(git: Git, { root, commonDir }: RepositoryPlace, name: string): Promise<boolean> {
  const taken = ["refs/heads/postern", `refs/heads/${name}`].filter((ref) =>
    `refs/heads/${name}/`.startsWith(`${ref}/`),
  );
  for (const ref of taken) {
    const { exitCode } = await git.run(["show-ref", "--verify", "--quiet", ref], {
      at: { gitDir: commonDir },
      timeoutMs,
    });
    if (exitCode === 0) return false;
  }
  try {
    await lstat(worktreePathOf(root, name));
    return false;
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return true;
    if (hasCode(error, "invalid_request") || isErrno(error, "EACCES")) return false;
    throw error;
  }
}

function randomName({
  prefix = "postern/",
  numbered = false,
}: {
  readonly prefix?: string;
  readonly numbered?: boolean;
} = {}) {
  const pick = (words: string): string => {
    const list = words.split(" ");
    return list[randomInt(list.length)] ?? "";
  };
  return `${prefix}${pick(manners)}-${pick(animals)}${numbered ? `-${randomInt(2, 1000)}` : ""}`;
}

const manners =
  "amber brave bright brisk calm candid clever copper cosy crisp curious deft eager early fair fond gentle glad golden happy " +
  "hardy honest humble jolly keen kind lively lucid lucky mellow merry mild neat nimble noble patient plain polite proud quick " +
  "quiet rapid ready rosy round sharp shiny silent silver sleek smooth snowy solid spry steady sturdy subtle sunny swift tidy " +
  "vivid warm wise witty young zesty";
const animals =
  "badger beaver bee bison bobcat crane cricket crow deer dove duck eagle falcon ferret finch fox gecko goose gull hare hawk " +
  "hedgehog heron ibex jackdaw jay kestrel kite lark lemur lynx magpie marmot marten mole moose mouse newt nuthatch orca osprey " +
  "otter owl panda pelican penguin pigeon plover puffin rabbit raven robin salmon seal sparrow squirrel stoat stork swan swift " +
  "tern thrush toad trout turtle vole weasel whale wren";
