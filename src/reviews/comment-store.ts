import type { Kysely, Selectable } from "kysely";
import type { Tables } from "../storage/schema.ts";
import type { CommentState, ViewedFiles } from "../wire/reviews.ts";

/** An account's session, as stored. */
export interface ReviewKey {
  readonly account_id: string;
  readonly agent: string;
  readonly session_id: string;
}

export type CommentRow = Selectable<Tables["review_comments"]>;

/** Comments and viewed files of an account's sessions. */
export interface CommentStore {
  /** Oldest first. */
  list(key: ReviewKey): Promise<readonly CommentRow[]>;
  add(row: CommentRow): Promise<void>;
  /**
   * Changes a comment if it is in one of these states. @returns whether it was changed
   */
  change(
    of: { readonly key: ReviewKey; readonly commentId: string; readonly while: readonly CommentState[] },
    change: Partial<Pick<CommentRow, "body" | "state" | "send_key">> & { readonly updated_at: number },
  ): Promise<boolean>;
  /** Deletes a comment. @returns whether it was there */
  remove(key: ReviewKey, commentId: string): Promise<boolean>;
  /** Claims open comments for a prompt, so that a comment is never in two prompts. @returns the claimed comments */
  claim(
    key: ReviewKey,
    claim: { readonly commentIds: readonly string[]; readonly sendKey: string; readonly at: number },
  ): Promise<readonly string[]>;
  /** Ends the state `sent` of a prompt's comments, except those that were changed since. */
  settle(sendKey: string, state: "open" | "answered", at: number): Promise<void>;
  viewed(key: ReviewKey): Promise<ViewedFiles["files"]>;
  view(key: ReviewKey, file: { readonly path: string; readonly version: string | null }, at: number): Promise<void>;
}

/** Limit for each account and session, as many as a diff lists. The oldest are dropped. */
const maxViewed = 5_000;

export function createCommentStore(db: Kysely<Tables>): CommentStore {
  return {
    list: (key) => commentsOf(db, key).selectAll().orderBy("created_at").orderBy("comment_id").execute(),

    async add(row) {
      await db.insertInto("review_comments").values(row).execute();
    },

    async change({ key, commentId, while: states }, change) {
      const { numUpdatedRows } = await db
        .updateTable("review_comments")
        .set(change)
        .where("comment_id", "=", commentId)
        .where("account_id", "=", key.account_id)
        .where("session_id", "=", key.session_id)
        .where("state", "in", states)
        .executeTakeFirstOrThrow();
      return numUpdatedRows > 0n;
    },

    async remove(key, commentId) {
      const { numDeletedRows } = await db
        .deleteFrom("review_comments")
        .where("comment_id", "=", commentId)
        .where("account_id", "=", key.account_id)
        .where("session_id", "=", key.session_id)
        .executeTakeFirstOrThrow();
      return numDeletedRows > 0n;
    },

    async claim(key, { commentIds, sendKey, at }) {
      const rows = await db
        .updateTable("review_comments")
        .set({ state: "sent", send_key: sendKey, updated_at: at })
        .where("comment_id", "in", commentIds)
        .where("account_id", "=", key.account_id)
        .where("session_id", "=", key.session_id)
        .where("state", "=", "open")
        .returning("comment_id")
        .execute();
      return rows.map((row) => row.comment_id);
    },

    async settle(sendKey, state, at) {
      await db
        .updateTable("review_comments")
        .set({ state, updated_at: at, ...(state === "open" && { send_key: null }) })
        .where("send_key", "=", sendKey)
        .where("state", "=", "sent")
        .execute();
    },

    async viewed({ account_id, agent, session_id }) {
      return db
        .selectFrom("review_viewed")
        .select(["path", "version"])
        .where("account_id", "=", account_id)
        .where("agent", "=", agent)
        .where("session_id", "=", session_id)
        .orderBy("path")
        .execute();
    },

    async view(key, { path, version }, at) {
      const { account_id, agent, session_id } = key;
      if (version === null) {
        await db
          .deleteFrom("review_viewed")
          .where("account_id", "=", account_id)
          .where("agent", "=", agent)
          .where("session_id", "=", session_id)
          .where("path", "=", path)
          .execute();
        return;
      }
      await db
        .insertInto("review_viewed")
        .values({ account_id, agent, session_id, path, version, viewed_at: at })
        .onConflict((conflict) =>
          conflict.columns(["account_id", "session_id", "agent", "path"]).doUpdateSet({ version, viewed_at: at }),
        )
        .execute();
      await dropOldest(db, key);
    },
  };
}

function commentsOf(db: Kysely<Tables>, { account_id, agent, session_id }: ReviewKey) {
  return db
    .selectFrom("review_comments")
    .where("account_id", "=", account_id)
    .where("agent", "=", agent)
    .where("session_id", "=", session_id);
}

async function dropOldest(db: Kysely<Tables>, { account_id, agent, session_id }: ReviewKey): Promise<void> {
  const last = await db
    .selectFrom("review_viewed")
    .select("viewed_at")
    .where("account_id", "=", account_id)
    .where("agent", "=", agent)
    .where("session_id", "=", session_id)
    .orderBy("viewed_at", "desc")
    .offset(maxViewed)
    .limit(1)
    .executeTakeFirst();
  if (last === undefined) return;
  await db
    .deleteFrom("review_viewed")
    .where("account_id", "=", account_id)
    .where("agent", "=", agent)
    .where("session_id", "=", session_id)
    .where("viewed_at", "<=", last.viewed_at)
    .execute();
}
