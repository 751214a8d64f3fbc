import type { Kysely } from "kysely";
import type { Tables } from "../storage/schema.ts";
import { maxLabels } from "../wire/session-notes.ts";
import { sessionError } from "./errors.ts";

/** The notes of people about a session. The same for every account that can see the session, except `unread`. */
export interface SessionNotes {
  /** Takes precedence over the agent's title. */
  readonly title: string | null;
  readonly pinned: boolean;
  readonly archived: boolean;
  readonly labels: readonly string[];
  /** Epoch milliseconds: what changed since then is unread. */
  readonly seenAt: number;
}

/** Identifies a session, with or without a record. */
export interface NotedSession {
  readonly agent: string;
  readonly sessionId: string;
}

/** Normalized changes; an absent field stays unchanged. */
export interface NoteChanges {
  readonly title?: string | null | undefined;
  readonly pinned?: boolean | undefined;
  readonly archived?: boolean | undefined;
  /** Replaces all labels. */
  readonly labels?: readonly string[] | undefined;
  readonly addLabels: readonly string[];
  readonly removeLabels: readonly string[];
}

/** Notes of sessions, by agent and session. */
export interface NoteStore {
  /** The notes of these sessions, by {@link noteKey}. */
  of(sessions: readonly NotedSession[], accountId: string): Promise<ReadonlyMap<string, SessionNotes>>;
  /**
   * Concurrent changes of a session take turns, so none is lost.
   * @returns whether anything changed
   * @throws PosternError `invalid_request` for too many labels
   */
  change(session: NotedSession, changes: NoteChanges, at: number): Promise<boolean>;
  /** The account has seen the session up to then. Writes nothing if it had before. */
  see(session: NotedSession, accountId: string, at: number): Promise<void>;
  /** Deletes notes, and what accounts have seen. */
  forget(session: NotedSession): Promise<void>;
}

/** Limit for each account. At the limit, the oldest tenth is dropped, and what happened until then counts as seen. */
const maxSeen = 20_000;

const noteTables = [
  "session_notes",
  "session_labels",
  "session_seen",
  "session_drafts",
  "review_comments",
  "review_viewed",
] as const;

export function noteKey({ agent, sessionId }: NotedSession): string {
  return `${agent} ${sessionId}`;
}

/** @param options `maxSeen`: a smaller limit, for tests */
export function createNoteStore(db: Kysely<Tables>, options: { readonly maxSeen?: number } = {}): NoteStore {
  const limit = options.maxSeen ?? maxSeen;

  async function seenOf(ids: readonly string[], accountId: string) {
    const rows = await db
      .selectFrom("session_seen")
      .select(["agent", "session_id", "seen_at"])
      .where("account_id", "=", accountId)
      .where("session_id", "in", ["", ...ids])
      .unionAll(
        db
          .selectFrom("accounts")
          .select(({ val }) => [val("").as("agent"), val("").as("session_id"), "created_at as seen_at"])
          .where("account_id", "=", accountId),
      )
      .execute();
    const everythingSeenAt = Math.max(0, ...rows.flatMap((row) => (row.session_id === "" ? [row.seen_at] : [])));
    const seen = new Map(rows.map((row) => [`${row.agent} ${row.session_id}`, row.seen_at]));
    return (key: string): number => Math.max(seen.get(key) ?? 0, everythingSeenAt);
  }

  async function makeRoom(accountId: string): Promise<void> {
    const counted = await db
      .selectFrom("session_seen")
      .select(({ fn }) => fn.countAll<number>().as("rows"))
      .where("account_id", "=", accountId)
      .executeTakeFirstOrThrow();
    if (counted.rows <= limit) return;
    const last = await db
      .selectFrom("session_seen")
      .select("seen_at")
      .where("account_id", "=", accountId)
      .where("session_id", "<>", "")
      .orderBy("seen_at")
      .offset(Math.floor(limit / 10))
      .limit(1)
      .executeTakeFirst();
    if (last === undefined) return;
    await see({ agent: "", sessionId: "" }, accountId, last.seen_at);
    await db
      .deleteFrom("session_seen")
      .where("account_id", "=", accountId)
      .where("session_id", "<>", "")
      .where("seen_at", "<=", last.seen_at)
      .execute();
  }

  async function see({ agent, sessionId }: NotedSession, accountId: string, at: number): Promise<boolean> {
    const { numInsertedOrUpdatedRows: written } = await db
      .insertInto("session_seen")
      .values({ account_id: accountId, agent, session_id: sessionId, seen_at: at })
      .onConflict((conflict) =>
        conflict
          .columns(["account_id", "session_id", "agent"])
          .doUpdateSet({ seen_at: at })
          .where("session_seen.seen_at", "<", at),
      )
      .executeTakeFirstOrThrow();
    return (written ?? 0n) > 0n;
  }

  return {
    async of(sessions, accountId) {
      if (sessions.length === 0) return new Map();
      const ids = [...new Set(sessions.map(({ sessionId }) => sessionId))];
      const [rows, labelRows, seenAt] = await Promise.all([
        db.selectFrom("session_notes").selectAll().where("session_id", "in", ids).execute(),
        db.selectFrom("session_labels").selectAll().where("session_id", "in", ids).orderBy("label").execute(),
        seenOf(ids, accountId),
      ]);
      const noted = new Map(rows.map((row) => [`${row.agent} ${row.session_id}`, row]));
      const labels = Map.groupBy(labelRows, (row) => `${row.agent} ${row.session_id}`);
      return new Map(
        sessions.map((session) => {
          const key = noteKey(session);
          const row = noted.get(key);
          return [
            key,
            {
              title: row?.title ?? null,
              pinned: (row?.pinned_at ?? null) !== null,
              archived: (row?.archived_at ?? null) !== null,
              labels: (labels.get(key) ?? []).map(({ label }) => label),
              seenAt: seenAt(key),
            },
          ];
        }),
      );
    },

    change: ({ agent, sessionId }, changes, at) =>
      db.transaction().execute(async (trx) => {
        const key = { session_id: sessionId, agent };
        // Locks the row: a concurrent change of this session waits here.
        await trx
          .insertInto("session_notes")
          .values({ ...key, title: null, pinned_at: null, archived_at: null, updated_at: at })
          .onConflict((conflict) => conflict.columns(["session_id", "agent"]).doUpdateSet({ updated_at: at }))
          .execute();
        const mine = { ...key, trx };
        const fieldsChanged = await changeFields(mine, changes, at);
        return (await changeLabels(mine, changes)) || fieldsChanged;
      }),

    async see(session, accountId, at) {
      if (await see(session, accountId, at)) await makeRoom(accountId);
    },

    async forget({ agent, sessionId }) {
      await db.transaction().execute(async (trx) => {
        for (const table of noteTables) {
          await trx.deleteFrom(table).where("session_id", "=", sessionId).where("agent", "=", agent).execute();
        }
      });
    },
  };
}

interface OfSession {
  readonly trx: Kysely<Tables>;
  readonly session_id: string;
  readonly agent: string;
}

async function changeFields(
  { trx, session_id, agent }: OfSession,
  { title, pinned, archived }: NoteChanges,
  at: number,
): Promise<boolean> {
  const row = await trx
    .selectFrom("session_notes")
    .selectAll()
    .where("session_id", "=", session_id)
    .where("agent", "=", agent)
    .executeTakeFirstOrThrow();
  const next = {
    title: title === undefined ? row.title : title,
    pinned_at: since(row.pinned_at, pinned, at),
    archived_at: since(row.archived_at, archived, at),
  };
  if (next.title === row.title && next.pinned_at === row.pinned_at && next.archived_at === row.archived_at)
    return false;
  await trx
    .updateTable("session_notes")
    .set(next)
    .where("session_id", "=", session_id)
    .where("agent", "=", agent)
    .execute();
  return true;
}

/** The time at which the value was set, which stays the same if it is set again; null if it is removed. */
function since(before: number | null, wanted: boolean | undefined, at: number): number | null {
  if (wanted === undefined) return before;
  return wanted ? (before ?? at) : null;
}

async function changeLabels({ trx, session_id, agent }: OfSession, changes: NoteChanges): Promise<boolean> {
  const rows = await trx
    .selectFrom("session_labels")
    .select("label")
    .where("session_id", "=", session_id)
    .where("agent", "=", agent)
    .execute();
  const before = new Set(rows.map(({ label }) => label));
  const removed = new Set(changes.removeLabels);
  const wanted = new Set([...(changes.labels ?? before), ...changes.addLabels].filter((label) => !removed.has(label)));
  if (wanted.size > maxLabels) {
    throw sessionError(
      "invalid_request",
      `Session ${session_id} would have ${wanted.size} labels; the maximum is ${maxLabels}. Remove some first.`,
    );
  }
  const gone = [...before].filter((label) => !wanted.has(label));
  const added = [...wanted].filter((label) => !before.has(label));
  if (gone.length > 0) {
    await trx
      .deleteFrom("session_labels")
      .where("session_id", "=", session_id)
      .where("agent", "=", agent)
      .where("label", "in", gone)
      .execute();
  }
  if (added.length > 0) {
    await trx
      .insertInto("session_labels")
      .values(added.map((label) => ({ session_id, agent, label })))
      .execute();
  }
  return gone.length + added.length > 0;
}

/** Moves notes to the session's new ID, in its transaction. */
export async function moveNotes(trx: Kysely<Tables>, from: string, to: string): Promise<void> {
  for (const table of noteTables) {
    // A session that had this ID before is the same session.
    await trx.deleteFrom(table).where("session_id", "=", to).execute();
    await trx.updateTable(table).set({ session_id: to }).where("session_id", "=", from).execute();
  }
}
