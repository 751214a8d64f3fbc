import { mkdir, realpath } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import type { Kysely } from "kysely";
import type { Clock } from "../core/clock.ts";
import { isErrno } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { createKeyedLock } from "../core/single-flight.ts";
import { GitError } from "../platform/git-command.ts";
import { endGroup } from "../platform/processes.ts";
import type { Tables } from "../storage/schema.ts";
import { type ClosedWorktree, closeWorktree } from "./close-worktree.ts";
import { createGitWorkshop } from "./git-workshop.ts";
import { countedDirs, makeWorktree, requireRepository, undoCreation } from "./make-worktree.ts";
import { remakeWorktree, undoRemaking } from "./remake-worktree.ts";
import { type Rescue, type RestoreOptions, readRescue, restoreRescue } from "./restore.ts";
import type { TreeName } from "./tree-walk.ts";
import { type NewWorktree, type WorktreeDeps, type WorktreeStep, worktreeError } from "./worktree-deps.ts";
import { holdRepository, inodeOf, isSameFolder, removeTree } from "./worktree-files.ts";
import { createWorktreeStore, type WorktreeRecord } from "./worktree-store.ts";

/** The worktrees that the gateway makes for sessions, from creation to removal. */
export interface Worktrees {
  /**
   * Makes a worktree for a session that is about to start, next to the repository, in a directory named after the branch.
   *
   * @param mayUse the folder rule, for directories that need not exist
   * @returns the real path in which the agent starts
   * @throws PosternError `not_a_git_repository` | `dir_not_allowed` | `dir_not_found` | `base_branch_not_found` | `branch_exists`
   *   | `branch_checked_out` | `worktree_exists` | `worktree_failed` | `too_large` | `invalid_request`
   */
  make(wanted: NewWorktree, mayUse: (dir: string) => Promise<boolean>): Promise<string>;
  /** Removes the worktree of a session of which no process ever ran. */
  takeBack(sessionId: string): Promise<void>;
  /**
   * Recreates a session's worktree if needed, before its agent is resumed. Does nothing for a session without one.
   * @throws PosternError `branch_not_found` | `branch_checked_out` | `worktree_exists` | `worktree_failed` | `not_a_git_repository`
   */
  revive(sessionId: string): Promise<void>;
  /** Rescues and removes; null for a session without a worktree. Never throws because of the worktree's content: the worktree then stays. */
  close(sessionId: string, options: { readonly discard: boolean }): Promise<ClosedWorktree | null>;
  ofSession(sessionId: string): Promise<WorktreeRecord | null>;
  /** Rejects a directory in another session's worktree. @throws PosternError `session_busy` | `dir_not_found` if that one is removed */
  requireNotAnothers(dir: string, sessionId: string | null): Promise<void>;
  /** For the folder rule: a directory in a worktree, even in a removed one, counts as the corresponding directory of its repository. */
  countedAs(dir: string): Promise<CountedDir>;
  /** All present and past worktrees, each with the repository that it counts as. */
  worktreeRoots(): Promise<readonly { readonly path: string; readonly repository: string }[]>;
  /** Sessions with a rescue, latest first. */
  rescued(): Promise<readonly WorktreeRecord[]>;
  /** @throws PosternError `rescue_not_found` */
  rescueOf(record: WorktreeRecord): Promise<Rescue>;
  /** Restores a rescue into the worktree, recreated if it is gone. @throws PosternError `worktree_conflict`, and the errors of `revive` */
  restore(record: WorktreeRecord, options: RestoreOptions): Promise<readonly TreeName[]>;
  /** Deletes a rescue permanently. */
  drop(record: WorktreeRecord): Promise<void>;
  /** At startup, finishes or undoes changes that a crash interrupted. */
  reconcile(sessionExists: (sessionId: string) => Promise<boolean>): Promise<void>;
}

/** A directory as the folder rule sees it. */
export interface CountedDir {
  /** Its real path. */
  readonly dir: string;
  /** What it counts as. */
  readonly counted: string;
  /** `replaced` is another directory at the path of a worktree. */
  readonly place: "elsewhere" | "standing" | "gone" | "replaced";
}

export interface WorktreesOptions {
  readonly db: Kysely<Tables>;
  readonly clock: Clock;
  readonly log: Log;
  readonly nodeId: string;
  /** The state folder. */
  readonly home: string;
  /** The search path for git. */
  readonly pathVariable: string;
  /** The template for the directory names of a repository's worktrees. */
  readonly worktreeNameFor: WorktreeDeps["worktreeNameFor"];
  /** For tests: called after each step. */
  readonly onStep?: (step: WorktreeStep) => Promise<void>;
}

/** The worktrees of this gateway's sessions. */
export function createWorktrees(options: WorktreesOptions): Worktrees {
  const { db, clock, log, nodeId } = options;
  const { git, root: scratchRoot, marker: gitMarker, scratchFolder } = createGitWorkshop(options);
  const store = createWorktreeStore(db, { nodeId, clock });
  const lock = createKeyedLock();
  const deps: WorktreeDeps = {
    git,
    store,
    clock,
    log,
    scratchFolder,
    worktreeNameFor: options.worktreeNameFor,
    onStep: options.onStep ?? (() => Promise.resolve()),
  };

  /** One change at a time in a repository, each with the latest record; null once there is none. */
  function change<T>(record: WorktreeRecord, task: (now: WorktreeRecord) => Promise<T>): Promise<T | null> {
    return lock.run(record.commonDir, async () => {
      const now = await store.find(record.worktreeId);
      return now === null ? null : task(now);
    });
  }

  /** @returns the record of the worktree as it is now */
  async function revive(record: WorktreeRecord): Promise<WorktreeRecord> {
    const now = await finished(record);
    if (now.state === "removed") return remakeWorktree(deps, now);
    if (now.state !== "ready") throw unfinished(now);
    if ((await inodeOf(now.path)) !== null) return now;
    // The directory was removed by hand: treated as if we had removed it.
    await closeWorktree(deps, now, { discard: false });
    const gone = await store.find(now.worktreeId);
    return gone?.state === "removed" ? remakeWorktree(deps, gone) : now;
  }

  /** Completes an interrupted close, or undoes an incomplete creation. */
  async function finished(record: WorktreeRecord): Promise<WorktreeRecord> {
    const { state, closing } = record;
    if (state === "recreating") await undoRemaking(deps, record);
    else if (state === "removing" || state === "closing") {
      await closeWorktree(deps, record, { discard: closing === "discard" });
    } else return record;
    return (await store.find(record.worktreeId)) ?? record;
  }

  async function rescueOf(record: WorktreeRecord): Promise<Rescue> {
    const rescue = await readRescue(deps, record);
    if (rescue !== null) return rescue;
    if (record.rescueRef !== null) await store.update(record, { rescueRef: null, rescueCommit: null });
    throw worktreeError("rescue_not_found", `Session ${record.sessionId} has no backup commit.`);
  }

  /** For a session that failed to start. Any content is kept, as at a close. */
  async function withdraw(record: WorktreeRecord): Promise<void> {
    const { removed, rescue } = await closeWorktree(deps, record, { discard: false });
    const left = await store.find(record.worktreeId);
    if (removed && rescue === null && left !== null) await undoCreation(deps, left);
  }

  async function reconcileOne(record: WorktreeRecord, exists: (sessionId: string) => Promise<boolean>): Promise<void> {
    const { state, path } = record;
    if (state === "creating") await undoCreation(deps, record);
    else if (state === "ready" && !(await exists(record.sessionId))) await withdraw(record);
    else if (state !== "ready") await finished(record);
    else return;
    log.info({ path, state }, "finished or rolled back an interrupted worktree change");
  }

  return {
    async make(wanted, mayUse) {
      const place = await requireRepository(wanted.dir);
      const held = holdRepository(place);
      try {
        for (const dir of countedDirs(place, wanted.dir)) {
          if (await mayUse(dir)) continue;
          throw worktreeError(
            "dir_not_allowed",
            `The repository of ${wanted.dir} is at ${place.root}, which the caller cannot use.`,
          );
        }
        await mkdir(scratchRoot, { recursive: true, mode: 0o700 });
        const { path, subFolder } = await lock.run(place.commonDir, () =>
          orWorktreeError(makeWorktree(deps, place, { ...wanted, held })),
        );
        return await realpath(join(path, subFolder));
      } finally {
        held.close();
      }
    },

    async takeBack(sessionId) {
      const record = await store.ofSession(sessionId);
      if (record === null) return;
      await change(record, withdraw).catch((error: unknown) =>
        log.error({ path: record.path, error }, "cannot remove the worktree of a session that did not start"),
      );
    },

    async revive(sessionId) {
      const record = await store.ofSession(sessionId);
      if (record === null) return;
      await mkdir(scratchRoot, { recursive: true, mode: 0o700 });
      await orWorktreeError(change(record, revive));
    },

    async close(sessionId, { discard }) {
      const record = await store.ofSession(sessionId);
      if (record === null) return null;
      await mkdir(scratchRoot, { recursive: true, mode: 0o700 });
      return change(record, (now) => closeWorktree(deps, now, { discard }));
    },

    ofSession: (sessionId) => store.ofSession(sessionId),

    async requireNotAnothers(dir, sessionId) {
      const held = await store.holding(dir);
      const other = held.find((record) => record.state !== "removed" && record.sessionId !== sessionId);
      if (other === undefined) {
        if (held.some((record) => record.sessionId === sessionId)) return; // recreated when it continues
        return requireThere(dir, held[0]);
      }
      throw worktreeError(
        "session_busy",
        `${dir} is the worktree of session ${other.sessionId}, and sessions cannot share a worktree. Continue that session, or request a separate worktree.`,
      );
    },

    async countedAs(given) {
      const dir = await realPath(given);
      const [record] = await store.holding(dir);
      if (record === undefined) return { dir, counted: given, place: "elsewhere" };
      const counted = join(record.repository, relative(record.path, dir));
      const present = await inodeOf(record.path);
      const standing = isSameFolder(present, record.inode);
      return { dir, counted, place: present === null ? "gone" : standing ? "standing" : "replaced" };
    },

    worktreeRoots: () => store.roots(),
    rescued: () => store.withRescue(),
    rescueOf: (record) => orWorktreeError(rescueOf(record)),

    async restore(record, how) {
      await mkdir(scratchRoot, { recursive: true, mode: 0o700 });
      const names = await orWorktreeError(
        change(record, async (now) => {
          const rescue = await rescueOf(now);
          return restoreRescue(deps, await revive(now), { ...how, rescue });
        }),
      );
      return names ?? [];
    },

    async drop(record) {
      await orWorktreeError(
        change(record, async (now) => {
          const { commit } = await rescueOf(now);
          if (now.rescueRef === null) return;
          await deps.git.must(["update-ref", "-d", now.rescueRef, commit], { at: { gitDir: now.commonDir } });
          await store.update(now, { rescueRef: null, rescueCommit: null });
        }),
      );
    },

    async reconcile(sessionExists) {
      // Git processes of a killed gateway may still be changing the files checked here.
      await endGroup({ leader: null, marker: gitMarker }, { graceMs: 2_000, clock });
      await removeTree(scratchRoot);
      await mkdir(scratchRoot, { recursive: true, mode: 0o700 });
      for (const record of await store.list(["creating", "recreating", "ready", "closing", "removing"])) {
        await reconcileOne(record, sessionExists).catch((error: unknown) =>
          log.error({ path: record.path, error }, "cannot finish or roll back an interrupted worktree change"),
        );
      }
    },
  };
}

/** The caller gets git's message, because it is their repository. @throws PosternError `worktree_failed` */
async function orWorktreeError<T>(task: Promise<T>): Promise<T> {
  return task.catch((error: unknown) => {
    throw error instanceof GitError ? worktreeError("worktree_failed", `${error.message}.`, { cause: error }) : error;
  });
}

async function requireThere(dir: string, gone: WorktreeRecord | undefined): Promise<void> {
  if (gone === undefined || (await inodeOf(dir)) !== null) return;
  throw worktreeError(
    "dir_not_found",
    `${dir} was the worktree of session ${gone.sessionId} and was removed. Continue that session, or choose another directory.`,
  );
}

/** The error for a worktree whose removal is unfinished: files written into it would be lost when the removal continues. */
function unfinished({ path }: WorktreeRecord): Error {
  return worktreeError(
    "worktree_failed",
    `Cannot recreate the worktree ${path}: its old files cannot be removed. Remove them, then try again.`,
  );
}

/** Resolves links; keeps the names of missing parts. */
async function realPath(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR", "EACCES", "ELOOP", "ENAMETOOLONG")) return resolve(path);
    throw error;
  }
}
