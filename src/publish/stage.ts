import type { Hunks, HunksInput, StageInput, StatusFile } from "../wire/publish.ts";
import { publishError } from "./errors.ts";
import { applyToIndex, readPatch, selectHunks, shownHunks } from "./hunks.ts";
import { literalPaths, type UserGit } from "./user-git.ts";

/** Long enough for Git filters on many or large files. */
const stageMs = 300_000;

/**
 * Changes what the next commit contains.
 * @param files the files of the status
 * @throws PosternError `invalid_request` | `changes_outdated` | `git_failed`
 */
export async function stage(
  git: UserGit,
  root: string,
  { input, files }: { readonly input: StageInput; readonly files: readonly StatusFile[] },
): Promise<void> {
  const { paths, hunks, unstage = false } = input;
  if (hunks !== undefined) return stageHunks(git, root, { ...input, hunks });
  const chosen = paths === undefined ? null : pathsOf(files, paths, unstage);
  if (unstage) {
    const isChosen = chosen === null ? () => true : (path: string) => chosen.includes(path);
    if (files.some(({ path, conflict }) => conflict && isChosen(path))) {
      throw publishError(
        "invalid_request",
        "Files with conflicts cannot be unstaged. Resolve and stage them, or abort.",
      );
    }
    return unstagePaths(git, root, chosen);
  }
  const options = { root, timeoutMs: stageMs, input: nulList(chosen), env: literalPaths };
  await git.must(["add", "--all", ...listed(chosen)], options);
}

async function stageHunks(
  git: UserGit,
  root: string,
  { paths = [], hunks, unstage = false }: StageInput & { readonly hunks: readonly string[] },
): Promise<void> {
  const [path] = paths;
  if (path === undefined || paths.length > 1) {
    throw publishError("invalid_request", "With `hunks`, send exactly one path in `paths`.");
  }
  const patch = await readPatch(git, root, { path, compared: unstage ? "staged" : "unstaged" });
  if (patch === null) throw publishError("changes_outdated", `${path} has no hunks. Stage the whole file.`);
  await applyToIndex(git, root, { patch: selectHunks(patch, new Set(hunks), { reverse: unstage }), reverse: unstage });
}

/** The parts of a file's changes that can be staged or unstaged. @throws PosternError `git_failed` */
export async function readHunks(git: UserGit, root: string, { path, staged }: HunksInput): Promise<Hunks> {
  const compared = staged === "true" ? "staged" : "unstaged";
  return { path, hunks: shownHunks(await readPatch(git, root, { path, compared })) };
}

/** Always passes paths, because `git reset` without paths would also end a merge. Also works before the first commit. */
async function unstagePaths(git: UserGit, root: string, paths: readonly string[] | null): Promise<void> {
  const which = paths === null ? ["--", "."] : listed(paths);
  const options = { root, timeoutMs: stageMs, input: nulList(paths), env: literalPaths };
  await git.must(["reset", "--quiet", ...which], options);
}

/** A staged rename is two paths. */
function pathsOf(files: readonly StatusFile[], paths: readonly string[], unstage: boolean): readonly string[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  return paths.flatMap((path) => {
    const file = byPath.get(path);
    if (file === undefined) {
      throw publishError("changes_outdated", `${path} has no changes now. Read the status again.`);
    }
    return unstage && file.previousPath !== null ? [path, file.previousPath] : [path];
  });
}

function listed(paths: readonly string[] | null): readonly string[] {
  return paths === null ? [] : ["--pathspec-from-file=-", "--pathspec-file-nul"];
}

function nulList(paths: readonly string[] | null): string {
  return paths === null ? "" : paths.map((path) => `${path}\0`).join("");
}
