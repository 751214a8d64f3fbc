import type { Kysely, Selectable } from "kysely";
import type { Tables } from "../storage/schema.ts";
import type { PermissionMode } from "../wire/coding.ts";
import { permissionModeSchema } from "../wire/coding.ts";
import { moveNotes } from "./session-notes.ts";
import { beginRecording, endRecording } from "./session-recordings.ts";

/** What the store keeps about a session. Earlier ids stay valid permanently, as aliases. */
export interface SessionRecord {
  readonly sessionId: string;
  readonly aliases: readonly string[];
  /** Primary name of the agent. */
  readonly agent: string;
  /** Real path. */
  readonly dir: string;
  readonly title: string | null;
  readonly model: string | null;
  readonly permissionMode: PermissionMode;
  readonly transcriptPath: string | null;
  /** The id of the newest launch, which is also the name of its folder in the state folder. */
  readonly launchId: string | null;
  /** Its terminal at the host; null when no process is known to live. */
  readonly terminalId: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly closedAt: number | null;
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly lastScreen: string | null;
  readonly continuedBy: string | null;
  /** Whether the agent keeps running even when it is idle. */
  readonly keepRunning: boolean;
  /** How long the agent was idle when Postern ended it for being idle; null if it is running or ended for another reason. */
  readonly endedAfterIdleMs: number | null;
}

/** The mutable fields of a record. */
export type SessionPatch = Partial<Omit<SessionRecord, "sessionId" | "aliases" | "agent" | "createdAt">>;

/** The fields of a record whose process has not ended. */
export const notEnded = {
  closedAt: null,
  exitCode: null,
  signal: null,
  lastScreen: null,
  endedAfterIdleMs: null,
} as const satisfies SessionPatch;

/** A change of a session. */
export interface ChangedSession {
  readonly sessionId: string;
  /** Milliseconds since the epoch. */
  readonly updatedAt: number;
}

/** Session records by id or alias. */
export interface SessionStore {
  find(idOrAlias: string): Promise<SessionRecord | null>;
  /** Records by their ids, in any order; ids without a record are left out. */
  findAll(sessionIds: readonly string[]): Promise<readonly SessionRecord[]>;
  /** @param alongside runs in the same transaction, for rows that must not exist without their session */
  insert(record: SessionRecord, alongside?: (transaction: Kysely<Tables>) => Promise<void>): Promise<void>;
  update(sessionId: string, patch: SessionPatch): Promise<void>;
  /** Gives a session the agent's own id; the old one becomes an alias. */
  rekey(sessionId: string, newSessionId: string): Promise<void>;
  /**
   * Ends a session whose process continues with another one: inserts that session, or updates its older record, and gives it the
   * terminal, in one transaction with `alongside`.
   */
  succeed(
    sessionId: string,
    successor: SessionRecord,
    alongside: (transaction: Kysely<Tables>) => Promise<void>,
  ): Promise<void>;
  /** Every launch that a session refers to, in any gateway. */
  launchIds(): Promise<ReadonlySet<string>>;
  /** Whether a session refers to this launch. */
  namesLaunch(launchId: string): Promise<boolean>;
  /** Sessions of this gateway that were written to since then, or have a terminal; earliest first, starting after `after`. */
  changedSince(
    epochMs: number,
    page: { readonly after: ChangedSession | null; readonly limit: number },
  ): Promise<readonly ChangedSession[]>;
  /** The sessions of this gateway that have a terminal according to the store. */
  withTerminal(): Promise<readonly SessionRecord[]>;
}

/** A store over the tables `sessions` and `session_aliases`. */
export function createSessionStore(db: Kysely<Tables>, options: { readonly nodeId: string }): SessionStore {
  async function aliasesOf(sessionId: string): Promise<string[]> {
    const rows = await db
      .selectFrom("session_aliases")
      .select("alias")
      .where("session_id", "=", sessionId)
      .orderBy("alias")
      .execute();
    return rows.map((row) => row.alias);
  }

  async function byId(sessionId: string): Promise<SessionRecord | null> {
    const row = await db.selectFrom("sessions").selectAll().where("session_id", "=", sessionId).executeTakeFirst();
    return row === undefined ? null : toRecord(row, await aliasesOf(sessionId));
  }

  async function put(on: Kysely<Tables>, record: SessionRecord): Promise<void> {
    await on
      .insertInto("sessions")
      .values({
        ...toColumns(record),
        dir: record.dir,
        permission_mode: record.permissionMode,
        updated_at: record.updatedAt,
        session_id: record.sessionId,
        node_id: options.nodeId,
        agent: record.agent,
        created_at: record.createdAt,
      })
      .execute();
  }

  return {
    async find(idOrAlias) {
      const record = await byId(idOrAlias);
      if (record !== null) return record;
      const alias = await db
        .selectFrom("session_aliases")
        .select("session_id")
        .where("alias", "=", idOrAlias)
        .executeTakeFirst();
      return alias === undefined ? null : byId(alias.session_id);
    },

    async findAll(sessionIds) {
      if (sessionIds.length === 0) return [];
      const ids = [...sessionIds];
      const rows = await db.selectFrom("sessions").selectAll().where("session_id", "in", ids).execute();
      const aliases = await db
        .selectFrom("session_aliases")
        .selectAll()
        .where("session_id", "in", ids)
        .orderBy("alias")
        .execute();
      return rows.map((row) =>
        toRecord(
          row,
          aliases.filter(({ session_id }) => session_id === row.session_id).map(({ alias }) => alias),
        ),
      );
    },

    async insert(record, alongside) {
      await db.transaction().execute(async (trx) => {
        await put(trx, record);
        if (record.terminalId !== null) await beginRecording(trx, shownBy(record, record.terminalId));
        await alongside?.(trx);
      });
    },

    async update(sessionId, patch) {
      if (Object.keys(patch).length === 0) return;
      const change = (on: Kysely<Tables>) =>
        on.updateTable("sessions").set(toColumns(patch)).where("session_id", "=", sessionId).execute();
      const { terminalId, updatedAt } = patch;
      if (typeof terminalId !== "string" || updatedAt === undefined) {
        await change(db);
        return;
      }
      await db.transaction().execute(async (trx) => {
        await change(trx);
        await beginRecording(trx, shownBy({ sessionId, updatedAt }, terminalId));
      });
    },

    async rekey(sessionId, newSessionId) {
      await db.transaction().execute(async (trx) => {
        const row = await trx
          .selectFrom("sessions")
          .selectAll()
          .where("session_id", "=", sessionId)
          .executeTakeFirstOrThrow();
        await trx
          .insertInto("sessions")
          .values({ ...row, session_id: newSessionId })
          .execute();
        for (const table of [
          "session_aliases",
          "queued_prompts",
          "idempotency_keys",
          "worktrees",
          "recordings",
        ] as const) {
          await trx.updateTable(table).set({ session_id: newSessionId }).where("session_id", "=", sessionId).execute();
        }
        await moveNotes(trx, sessionId, newSessionId);
        await copyUndriven(trx, sessionId, newSessionId);
        await trx.insertInto("session_aliases").values({ alias: sessionId, session_id: newSessionId }).execute();
        await trx.deleteFrom("sessions").where("session_id", "=", sessionId).execute();
      });
    },

    async succeed(sessionId, successor, alongside) {
      const { sessionId: nextId, updatedAt } = successor;
      await db.transaction().execute(async (trx) => {
        const taken = await trx
          .updateTable("sessions")
          .set({ ...toColumns(successor), node_id: options.nodeId })
          .where("session_id", "=", nextId)
          .executeTakeFirst();
        if (taken.numUpdatedRows === 0n) await put(trx, successor);
        await trx
          .updateTable("sessions")
          .set(toColumns({ terminalId: null, continuedBy: nextId, updatedAt }))
          .where("session_id", "=", sessionId)
          .execute();
        await moveWorktree(trx, sessionId, nextId);
        await copyUndriven(trx, sessionId, nextId);
        if (successor.terminalId !== null) {
          await endRecording(trx, { terminalId: successor.terminalId, at: updatedAt });
          await beginRecording(trx, shownBy(successor, successor.terminalId));
        }
        await alongside(trx);
      });
    },

    async launchIds() {
      const rows = await db.selectFrom("sessions").select("launch_id").where("launch_id", "is not", null).execute();
      return new Set(rows.flatMap(({ launch_id }) => launch_id ?? []));
    },

    async namesLaunch(launchId) {
      const query = db.selectFrom("sessions").select("session_id").where("launch_id", "=", launchId).limit(1);
      return (await query.executeTakeFirst()) !== undefined;
    },

    async changedSince(epochMs, { after, limit }) {
      const behind = after ?? { updatedAt: 0, sessionId: "" };
      const rows = await db
        .selectFrom("sessions")
        .select(["session_id", "updated_at"])
        .where("node_id", "=", options.nodeId)
        .where(({ or, eb }) => or([eb("updated_at", ">=", epochMs), eb("terminal_id", "is not", null)]))
        .where(({ eb, refTuple, tuple }) =>
          eb(refTuple("updated_at", "session_id"), ">", tuple(behind.updatedAt, behind.sessionId)),
        )
        .orderBy("updated_at")
        .orderBy("session_id")
        .limit(limit)
        .execute();
      return rows.map((row) => ({ sessionId: row.session_id, updatedAt: row.updated_at }));
    },

    async withTerminal() {
      const rows = await db
        .selectFrom("sessions")
        .selectAll()
        .where("node_id", "=", options.nodeId)
        .where("terminal_id", "is not", null)
        .execute();
      return Promise.all(rows.map(async (row) => toRecord(row, await aliasesOf(row.session_id))));
    },
  };
}

function shownBy({ sessionId, updatedAt }: Pick<SessionRecord, "sessionId" | "updatedAt">, terminalId: string) {
  return { sessionId, terminalId, at: updatedAt };
}

/** The process has read prompts of callers without `coding:drive`, so the mark is never removed. */
async function copyUndriven(on: Kysely<Tables>, from: string, to: string): Promise<void> {
  await on
    .insertInto("undriven_sessions")
    .columns(["session_id"])
    .expression((eb) =>
      eb
        .selectFrom("undriven_sessions")
        .select((column) => column.val(to).$castTo<string>().as("session_id"))
        .where("session_id", "=", from),
    )
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** The worktree moves with the process that works in it. A resumed session keeps its own worktree. */
async function moveWorktree(on: Kysely<Tables>, from: string, to: string): Promise<void> {
  const own = await on.selectFrom("worktrees").select("worktree_id").where("session_id", "=", to).executeTakeFirst();
  if (own !== undefined) return;
  await on.updateTable("worktrees").set({ session_id: to }).where("session_id", "=", from).execute();
}

function toRecord(row: Selectable<Tables["sessions"]>, aliases: readonly string[]): SessionRecord {
  return {
    sessionId: row.session_id,
    aliases,
    agent: row.agent,
    dir: row.dir,
    title: row.title,
    model: row.model,
    permissionMode: permissionModeSchema.catch("ask").parse(row.permission_mode),
    transcriptPath: row.transcript_path,
    launchId: row.launch_id,
    terminalId: row.terminal_id,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    closedAt: row.closed_at,
    exitCode: row.exit_code,
    signal: row.signal,
    lastScreen: row.last_screen,
    continuedBy: row.continued_by,
    keepRunning: row.keep_running === 1,
    endedAfterIdleMs: row.ended_after_idle_ms,
  };
}

/** The columns of a patch; a field that is absent stays undefined, which Kysely leaves as it is. */
function toColumns(patch: SessionPatch) {
  return {
    dir: patch.dir,
    title: patch.title,
    model: patch.model,
    permission_mode: patch.permissionMode,
    transcript_path: patch.transcriptPath,
    launch_id: patch.launchId,
    terminal_id: patch.terminalId,
    updated_at: patch.updatedAt,
    closed_at: patch.closedAt,
    exit_code: patch.exitCode,
    signal: patch.signal,
    last_screen: patch.lastScreen,
    continued_by: patch.continuedBy,
    keep_running: patch.keepRunning === undefined ? undefined : Number(patch.keepRunning),
    ended_after_idle_ms: patch.endedAfterIdleMs,
  };
}
