import type { Kysely } from "kysely";
import { type Clock, isoTime } from "../core/clock.ts";
import type { Tables } from "../storage/schema.ts";
import type { Caller } from "../wire/caller.ts";
import type { Draft, SaveDraftInput, SavedDraft } from "../wire/drafts.ts";
import { sessionError } from "./errors.ts";
import type { SessionRecord } from "./session-store.ts";

/** Unsent prompts, for each account and session. Null is a new session. */
export interface Drafts {
  /** @throws PosternError `session_not_found` */
  read(sessionId: string | null, caller: Caller): Promise<Draft>;
  /** Saves the text unless another device has saved one since `version`. @throws PosternError `session_not_found` */
  save(sessionId: string | null, input: SaveDraftInput, caller: Caller): Promise<SavedDraft>;
  /** Idempotent. @throws PosternError `session_not_found` */
  clear(sessionId: string | null, caller: Caller): Promise<Draft>;
}

/** Limit for each account. The oldest drafts are dropped; the browsers in which they were written still have them. */
const maxDrafts = 200;
const none: Draft = { text: "", version: 0, updatedAt: null };

export function createDrafts(deps: {
  readonly db: Kysely<Tables>;
  readonly locator: {
    /** @see SessionLocator.locate */
    locate(sessionId: string, caller: Caller): Promise<{ readonly record: Pick<SessionRecord, "agent" | "sessionId"> }>;
  };
  readonly clock: Clock;
}): Drafts {
  const { db, locator, clock } = deps;

  async function keyOf(sessionId: string | null, caller: Caller) {
    const { accountId: account_id } = caller;
    if (sessionId === null && caller.folders !== null) {
      throw sessionError("invalid_request", "A token limited to folders can save drafts only for existing sessions.");
    }
    if (sessionId === null) return { account_id, agent: "", session_id: "" };
    const { record } = await locator.locate(sessionId, caller);
    return { account_id, agent: record.agent, session_id: record.sessionId };
  }
  type Key = Awaited<ReturnType<typeof keyOf>>;

  async function found(key: Key): Promise<Draft> {
    const row = await draftsOf(key).selectAll().executeTakeFirst();
    return row === undefined ? none : draftOf(row.text, row.version);
  }

  function draftsOf({ account_id, agent, session_id }: Key) {
    return db
      .selectFrom("session_drafts")
      .where("account_id", "=", account_id)
      .where("agent", "=", agent)
      .where("session_id", "=", session_id);
  }

  /** The statement also checks the version, so if two devices save at once, the second changes nothing. */
  async function replace(key: Key, { text, version }: SaveDraftInput, next: number): Promise<boolean> {
    if (version === 0) {
      if (text === "") return (await found(key)).version === 0;
      const added = await db
        .insertInto("session_drafts")
        .values({ ...key, text, version: next })
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirst();
      return added.numInsertedOrUpdatedRows === 1n;
    }
    if (text === "") {
      const removed = await db
        .deleteFrom("session_drafts")
        .where("account_id", "=", key.account_id)
        .where("agent", "=", key.agent)
        .where("session_id", "=", key.session_id)
        .where("version", "=", version)
        .executeTakeFirst();
      return removed.numDeletedRows === 1n;
    }
    const changed = await db
      .updateTable("session_drafts")
      .set({ text, version: next })
      .where("account_id", "=", key.account_id)
      .where("agent", "=", key.agent)
      .where("session_id", "=", key.session_id)
      .where("version", "=", version)
      .executeTakeFirst();
    return changed.numUpdatedRows === 1n;
  }

  async function dropOldest(accountId: string): Promise<void> {
    const kept = await db
      .selectFrom("session_drafts")
      .select("version")
      .where("account_id", "=", accountId)
      .orderBy("version", "desc")
      .offset(maxDrafts)
      .limit(1)
      .executeTakeFirst();
    if (kept === undefined) return;
    await db
      .deleteFrom("session_drafts")
      .where("account_id", "=", accountId)
      .where("version", "<=", kept.version)
      .execute();
  }

  return {
    read: async (sessionId, caller) => found(await keyOf(sessionId, caller)),

    async save(sessionId, input, caller) {
      const key = await keyOf(sessionId, caller);
      // The version is a time, so that a recreated draft never gets the version of a deleted one.
      const next = Math.max(clock.now(), input.version + 1);
      const saved = await replace(key, input, next);
      if (!saved) return { ...(await found(key)), saved };
      if (input.version === 0 && input.text !== "") await dropOldest(caller.accountId);
      return { ...(input.text === "" ? none : draftOf(input.text, next)), saved };
    },

    async clear(sessionId, caller) {
      const key = await keyOf(sessionId, caller);
      await db
        .deleteFrom("session_drafts")
        .where("account_id", "=", key.account_id)
        .where("agent", "=", key.agent)
        .where("session_id", "=", key.session_id)
        .execute();
      return none;
    },
  };
}

/** Versions are times. */
function draftOf(text: string, version: number): Draft {
  return { text, version, updatedAt: isoTime(version) };
}
