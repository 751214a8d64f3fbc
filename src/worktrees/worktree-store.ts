import type { Kysely, Selectable } from "kysely";
import { z } from "zod";
import type { Clock } from "../core/clock.ts";
import type { Tables } from "../storage/schema.ts";
import type { SessionSummary } from "../wire/coding.ts";

/**
 * The states of a worktree. Each is recorded before its work starts, so that the next start can handle a crash:
 * `creating` is undone, `recreating` goes back to `removed`, `closing` and `removing` are finished.
 */
export type WorktreeState = Tables["worktrees"]["state"];

/** What was removed with a worktree and is in no rescue. */
export interface IgnoredLost {
  readonly count: number;
  readonly bytes: number;
  readonly first20: readonly string[];
}

/** A worktree that the gateway made for a session; paths are real paths. */
export interface WorktreeRecord {
  readonly worktreeId: string;
  readonly sessionId: string;
  readonly state: WorktreeState;
  /** The root next to which the worktree is made: that of the main checkout, or a bare repository. */
  readonly repository: string;
  readonly commonDir: string;
  readonly path: string;
  readonly subFolder: string;
  readonly branch: string;
  readonly baseBranch: string;
  readonly baseCommit: string;
  /** Its own git dir, inside `commonDir`; null until git has made it. */
  readonly gitDir: string | null;
  /** The folder's identity, from `makeFolder`. */
  readonly inode: string | null;
  /** Files that `.worktreeinclude` brought in, as {@link toName} writes them. */
  readonly included: readonly string[];
  readonly closing: "keep" | "discard" | null;
  readonly rescueRef: string | null;
  readonly rescueCommit: string | null;
  readonly rescueBase: string | null;
  readonly rescueFiles: number | null;
  readonly rescuedAt: number | null;
  readonly ignoredLost: IgnoredLost | null;
  readonly createdAt: number;
}

/** The mutable fields of a record. */
export type WorktreePatch = Partial<
  Pick<
    WorktreeRecord,
    | "state"
    | "gitDir"
    | "inode"
    | "included"
    | "closing"
    | "rescueRef"
    | "rescueCommit"
    | "rescueBase"
    | "rescueFiles"
    | "rescuedAt"
    | "ignoredLost"
  >
>;

/** Worktrees by session and by place. */
export interface WorktreeStore {
  /** @returns false if the session already has a worktree, or another worktree has this path */
  insert(record: WorktreeRecord): Promise<boolean>;
  /** @returns the record as it is now */
  update(record: WorktreeRecord, patch: WorktreePatch): Promise<WorktreeRecord>;
  delete(worktreeId: string): Promise<void>;
  find(worktreeId: string): Promise<WorktreeRecord | null>;
  ofSession(sessionId: string): Promise<WorktreeRecord | null>;
  /** Worktrees whose path is `dir` (a real path) or a parent of it, now or earlier; existing ones first. */
  holding(dir: string): Promise<readonly WorktreeRecord[]>;
  /** Worktrees that are or were at one of these paths. */
  at(paths: readonly string[]): Promise<readonly WorktreeRecord[]>;
  /** Lists the worktrees of this gateway. */
  list(states?: readonly WorktreeState[]): Promise<readonly WorktreeRecord[]>;
  withRescue(): Promise<readonly WorktreeRecord[]>;
  roots(): Promise<readonly { readonly path: string; readonly repository: string }[]>;
}

const ignoredLostSchema = z.object({ count: z.int(), bytes: z.number(), first20: z.array(z.string()) });

/** A store over the table `worktrees`. */
export function createWorktreeStore(
  db: Kysely<Tables>,
  { nodeId, clock }: { readonly nodeId: string; readonly clock: Clock },
): WorktreeStore {
  const mine = () => db.selectFrom("worktrees").selectAll().where("node_id", "=", nodeId);

  return {
    async insert(record) {
      const inserted = await db
        .insertInto("worktrees")
        .values({
          worktree_id: record.worktreeId,
          session_id: record.sessionId,
          node_id: nodeId,
          state: record.state,
          repository: record.repository,
          common_dir: record.commonDir,
          path: record.path,
          sub_folder: record.subFolder,
          branch: record.branch,
          base_branch: record.baseBranch,
          base_commit: record.baseCommit,
          included: JSON.stringify(record.included),
          created_at: record.createdAt,
          updated_at: record.createdAt,
        })
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirst();
      return inserted.numInsertedOrUpdatedRows === 1n;
    },

    async update(record, patch) {
      await db
        .updateTable("worktrees")
        .set({ ...toColumns(patch), updated_at: clock.now() })
        .where("worktree_id", "=", record.worktreeId)
        .execute();
      return { ...record, ...patch };
    },

    async delete(worktreeId) {
      await db.deleteFrom("worktrees").where("worktree_id", "=", worktreeId).execute();
    },

    async find(worktreeId) {
      const row = await mine().where("worktree_id", "=", worktreeId).executeTakeFirst();
      return row === undefined ? null : toRecord(row);
    },

    async ofSession(sessionId) {
      const row = await mine().where("session_id", "=", sessionId).executeTakeFirst();
      return row === undefined ? null : toRecord(row);
    },

    async holding(dir) {
      return (await this.at(ancestorsOf(dir))).toSorted((a, b) => rank(a) - rank(b) || b.createdAt - a.createdAt);
    },

    async at(paths) {
      const rows = await mine()
        .where("path", "in", [...paths])
        .execute();
      return rows.map(toRecord);
    },

    async list(states) {
      const rows = await (states === undefined ? mine() : mine().where("state", "in", [...states])).execute();
      return rows.map(toRecord);
    },

    async withRescue() {
      const rows = await mine().where("rescue_ref", "is not", null).orderBy("rescued_at", "desc").execute();
      return rows.map(toRecord);
    },

    roots: () => db.selectFrom("worktrees").select(["path", "repository"]).distinct().execute(),
  };
}

function rank({ state }: WorktreeRecord): number {
  return state === "removed" ? 1 : 0;
}

function ancestorsOf(dir: string): string[] {
  const parts = dir.split("/").filter((part) => part !== "");
  return parts.map((_part, index) => `/${parts.slice(0, index + 1).join("/")}`);
}

function toRecord(row: Selectable<Tables["worktrees"]>): WorktreeRecord {
  return {
    worktreeId: row.worktree_id,
    sessionId: row.session_id,
    state: row.state,
    repository: row.repository,
    commonDir: row.common_dir,
    path: row.path,
    subFolder: row.sub_folder,
    branch: row.branch,
    baseBranch: row.base_branch,
    baseCommit: row.base_commit,
    gitDir: row.git_dir,
    inode: row.inode,
    included: z.array(z.string()).parse(JSON.parse(row.included)),
    closing: row.closing === "keep" || row.closing === "discard" ? row.closing : null,
    rescueRef: row.rescue_ref,
    rescueCommit: row.rescue_commit,
    rescueBase: row.rescue_base,
    rescueFiles: row.rescue_files,
    rescuedAt: row.rescued_at,
    ignoredLost: row.ignored_lost === null ? null : ignoredLostSchema.parse(JSON.parse(row.ignored_lost)),
    createdAt: row.created_at,
  };
}

/** Absent fields stay undefined, so that Kysely does not update them. */
function toColumns(patch: WorktreePatch) {
  return {
    state: patch.state,
    git_dir: patch.gitDir,
    inode: patch.inode,
    included: patch.included === undefined ? undefined : JSON.stringify(patch.included),
    closing: patch.closing,
    rescue_ref: patch.rescueRef,
    rescue_commit: patch.rescueCommit,
    rescue_base: patch.rescueBase,
    rescue_files: patch.rescueFiles,
    rescued_at: patch.rescuedAt,
    ignored_lost:
      patch.ignoredLost === undefined || patch.ignoredLost === null
        ? patch.ignoredLost
        : JSON.stringify(patch.ignoredLost),
  };
}

/** A worktree as a session's summary shows it. */
export function shownWorktree(record: WorktreeRecord | null): SessionSummary["worktree"] {
  if (record === null) return null;
  const { repository, path, branch, baseBranch, rescueRef: ref, rescueCommit: commit, state } = record;
  const removed = state !== "ready" && state !== "creating";
  const rescue = ref === null || commit === null ? null : { ref, commit };
  return { repository, path, branch, baseBranch, removed, rescue };
}
