import { access, constants, stat } from "node:fs/promises";
import { isAbsolute } from "node:path";
import type { Kysely, Selectable } from "kysely";
import { z } from "zod";
import { type Clock, isoTime } from "../core/clock.ts";
import { isErrno, PosternError } from "../core/errors.ts";
import { sha256 } from "../core/ids.ts";
import type { Tables } from "../storage/schema.ts";
import { defaultWorktreeName, type Folder, type FolderScope, folderScopeSchema, folderScopes } from "../wire/access.ts";
import type { CompletedPaths } from "../wire/changes.ts";
import { type CompleteRule, completePath } from "./complete-path.ts";
import { holds, innermost, isAllowed, type Rule, resolvePath } from "./real-path.ts";

export { type Clones, createClones } from "./clones.ts";
export type { CompleteRule } from "./complete-path.ts";
export {
  createFolderProfiles,
  type FolderProfiles,
  type ProfileScript,
  type ProfileSettings,
  replacedBy,
  type StartProfile,
  type Variables,
} from "./profiles.ts";
export { createProposals, type Proposals } from "./proposals.ts";
export type { Rule } from "./real-path.ts";

/** Codes that folders throw. */
export type FoldersErrorCode = "invalid_request" | "dir_not_allowed" | "dir_not_found" | "folder_not_found";

/** Each briefly occupies a file system thread. */
const resolvedAtOnce = 64;

/** A directory that the rule allows. */
export interface AllowedDir {
  /** Its real path. */
  readonly dir: string;
  /** Whether the owner trusts its content: registered with `coding`, or requested by the owner while no folder is registered. */
  readonly trusted: boolean;
}

/** The registered folders and the folder rule. Read from the store at every call, so that a change takes effect immediately. */
export interface Folders {
  /**
   * Registers an existing directory by its real path, or changes its settings. Without `worktreeName`, the current one is kept.
   * @throws PosternError `invalid_request` | `dir_not_found` | `dir_not_allowed` (it is, contains or is in Postern's own folder)
   */
  add(
    path: string,
    scopes: readonly FolderScope[],
    options?: { readonly worktreeName?: string | undefined },
  ): Promise<Folder>;
  list(): Promise<readonly Folder[]>;
  /** Removes the folder, given by its listed path or another path to it. @throws PosternError `invalid_request` | `folder_not_found` */
  remove(path: string): Promise<Folder>;
  /**
   * The rule. Paths outside are rejected in the same way whether they exist or not.
   *
   * @param rule `ownRequest` is false for another caller's request: its directory is not trusted while no folder is registered
   * @throws PosternError `invalid_request` (not absolute) | `dir_not_allowed` | `dir_not_found`
   */
  resolveAllowedDir(dir: string, rule: Rule & { readonly ownRequest?: boolean }): Promise<AllowedDir>;
  /** Whether sessions of this directory, which may be gone, are visible. Never throws because of `dir`. */
  isVisible(dir: string, rule: Rule): Promise<boolean>;
  /** The template for the directory names of a directory's worktrees, from the innermost folder that holds it. */
  worktreeNameFor(dir: string): Promise<string>;
  /** The innermost folder that holds this path, with the real path; null if none does. Never throws because of `path`. */
  folderOf(path: string): Promise<{ readonly folder: Folder; readonly dir: string } | null>;
  /** Completes a path that is being typed. @throws PosternError `invalid_request` (not absolute) */
  complete(path: string, rule: CompleteRule): Promise<CompletedPaths>;
  /** Filters directories to the visible ones, according to the current rule. */
  visibleAmong(dirs: readonly string[], rule: Rule): Promise<ReadonlySet<string>>;
}

/** @param deps `home` is Postern's own state folder, in which no agent can work */
export function createFolders(deps: {
  readonly db: Kysely<Tables>;
  readonly clock: Clock;
  readonly home: string;
}): Folders {
  const store = createFolderStore(deps);

  async function refuseHome(dir: string, given: string): Promise<void> {
    const home = await resolvePath(deps.home);
    if (!holds(home.path, dir) && !holds(dir, home.path)) return;
    throw new PosternError(
      "dir_not_allowed",
      holds(home.path, dir)
        ? `${given} is, or is inside, Postern's state folder. Choose another folder.`
        : `${given} contains Postern's state folder, where no agent can work. Choose a narrower folder, such as a repository.`,
    );
  }

  return {
    async add(path, scopes, { worktreeName } = {}) {
      const given = checkPath(path);
      const wanted = folderScopes.filter((scope) => scopes.includes(scope));
      if (wanted.length === 0) {
        throw new PosternError("invalid_request", `A folder needs at least one scope of ${folderScopes.join(", ")}.`);
      }
      const resolved = await resolvePath(given);
      await refuseHome(resolved.path, given);
      if (!resolved.exists || !(await isDirectory(resolved.path))) throw notFound(given);
      return store.put(resolved.path, { scopes: wanted, worktreeName });
    },

    list: () => store.list(),

    async remove(path) {
      const given = checkPath(path);
      const removed = (await store.remove(given)) ?? (await store.remove((await resolvePath(given)).path));
      if (removed === null)
        throw new PosternError(
          "folder_not_found",
          `${given} is not a registered folder. Run \`postern folder list\` to see them.`,
        );
      return removed;
    },

    async resolveAllowedDir(dir, rule) {
      const given = checkPath(dir);
      const [resolved, folders] = await Promise.all([resolvePath(given), store.list()]);
      if (!isAllowed(folders, resolved.path, rule)) {
        const message = `${given} is not in a folder that the caller can use with the scope ${rule.scope}. Run \`postern folder add\` to register one.`;
        throw new PosternError("dir_not_allowed", message);
      }
      await refuseHome(resolved.path, given);
      if (!resolved.exists || !(await isDirectory(resolved.path))) throw notFound(given);
      const registered = innermost(folders, resolved.path);
      const trusted = registered === null ? (rule.ownRequest ?? true) : registered.scopes.includes("coding");
      return { dir: resolved.path, trusted };
    },

    async worktreeNameFor(dir) {
      const [{ path }, folders] = await Promise.all([resolvePath(dir), store.list()]);
      return innermost(folders, path)?.worktreeName ?? defaultWorktreeName;
    },

    async folderOf(given) {
      if (!isPath(given)) return null;
      const [{ path: dir }, folders] = await Promise.all([resolvePath(given), store.list()]);
      const folder = innermost(folders, dir);
      return folder === null ? null : { folder, dir };
    },

    complete: async (path, rule) => completePath(path, { folders: await store.list(), home: deps.home }, rule),

    async isVisible(dir, rule) {
      if (!isPath(dir)) return false;
      const [resolved, folders] = await Promise.all([resolvePath(dir), store.list()]);
      return isAllowed(folders, resolved.path, rule);
    },

    async visibleAmong(dirs, rule) {
      const paths = dirs.filter(isPath);
      const [{ path: home }, folders] = await Promise.all([resolvePath(deps.home), store.list()]);
      // A repository that contains the state folder must not show the state folder's files.
      if (folders.length === 0 && rule.within === null) return new Set(paths.filter((path) => !holds(home, path)));
      const visible = new Set<string>();
      for (let from = 0; from < paths.length; from += resolvedAtOnce) {
        const some = paths.slice(from, from + resolvedAtOnce);
        const resolved = await Promise.all(some.map((path) => resolvePath(path)));
        for (const [at, path] of some.entries()) {
          const real = resolved[at]?.path;
          if (real !== undefined && !holds(home, real) && isAllowed(folders, real, rule)) visible.add(path);
        }
      }
      return visible;
    },
  };
}

function isPath(path: string): boolean {
  return isAbsolute(path) && !path.includes("\0");
}

function checkPath(path: string): string {
  if (isPath(path)) return path;
  throw new PosternError("invalid_request", `${JSON.stringify(path)} is not an absolute path.`);
}

function notFound(path: string): PosternError<FoldersErrorCode> {
  return new PosternError("dir_not_found", `Directory not found, or not accessible: ${path}.`);
}

/** A directory that this process can work in. */
async function isDirectory(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isDirectory();
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR", "EACCES")) return false; // removed since
    throw error;
  }
}

interface FolderSettings {
  readonly scopes: readonly FolderScope[];
  readonly worktreeName: string | undefined;
}

/** SQL for registered folders. */
interface FolderStore {
  /** In the order of their paths. */
  list(): Promise<readonly Folder[]>;
  /** Updates an existing folder; its worktree name is kept unless a new one is given. */
  put(path: string, settings: FolderSettings): Promise<Folder>;
  /** @returns null if there was none */
  remove(path: string): Promise<Folder | null>;
}

const storedScopesSchema = z.array(folderScopeSchema);

function createFolderStore(deps: { readonly db: Kysely<Tables>; readonly clock: Clock }): FolderStore {
  const { db, clock } = deps;
  return {
    async list() {
      const rows = await db.selectFrom("folders").selectAll().execute();
      return rows.map(toFolder).toSorted((a, b) => (a.path < b.path ? -1 : 1));
    },
    async put(path, { scopes, worktreeName }) {
      const settings = { scopes: JSON.stringify(scopes), worktree_name: worktreeName };
      const stored = await db
        .insertInto("folders")
        .values({ path, created_at: clock.now(), ...settings })
        .onConflict((conflict) => conflict.column("path").doUpdateSet(settings))
        .returningAll()
        .executeTakeFirstOrThrow();
      return toFolder(stored);
    },
    async remove(path) {
      const row = await db.deleteFrom("folders").where("path", "=", path).returningAll().executeTakeFirst();
      return row === undefined ? null : toFolder(row);
    },
  };
}

/** The folder's id in routes. A folder that is registered again gets the same id. */
export function folderIdOf(path: string): string {
  return sha256(path).slice(0, 24);
}

function toFolder(row: Selectable<Tables["folders"]>): Folder {
  return {
    folderId: folderIdOf(row.path),
    path: row.path,
    scopes: storedScopesSchema.parse(JSON.parse(row.scopes)),
    worktreeName: row.worktree_name,
    createdAt: isoTime(row.created_at),
  };
}
