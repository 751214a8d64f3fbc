import type { Kysely, Selectable } from "kysely";
import type { Clock } from "../core/clock.ts";
import type { Tables } from "../storage/schema.ts";

/** A message to send in a chat. */
export interface NewMessage {
  /** Identifies the message: a key that already exists is not sent again. */
  readonly key: string;
  readonly chatId: string;
  readonly sessionId: string | null;
  /** For a question: its permission request. */
  readonly permissionId?: string;
  readonly body: string;
  /** Whether it is final; false if it will be changed. */
  readonly final: boolean;
}

/** The new content of a message. */
export interface MessageChange {
  readonly key: string;
  readonly body: string;
  readonly final: boolean;
}

/** A stored message. */
export interface ChatMessage {
  readonly ordinal: number;
  readonly key: string;
  readonly chatId: string;
  readonly sessionId: string | null;
  readonly permissionId: string | null;
  readonly body: string;
  readonly final: boolean;
  readonly version: number;
  /** The channel's id for it; null until it is sent. */
  readonly messageId: string | null;
  /** Whether it may already have been sent: the gateway stopped, or the connection broke, before the result was known. */
  readonly mayRepeat: boolean;
  readonly createdAt: number;
}

/** Messages to chats, kept until sent. Each sent message converges to its latest content. */
export interface Outbox {
  add(messages: readonly NewMessage[], on?: Kysely<Tables>): Promise<void>;
  change(changes: readonly MessageChange[], on?: Kysely<Tables>): Promise<void>;
  /** The next message to send or change in this chat: new messages first, in order. */
  next(chatId: string): Promise<ChatMessage | null>;
  /** Chats with queued messages. */
  chatsWaiting(): Promise<readonly string[]>;
  /** Marks it as being sent. */
  sending(ordinal: number): Promise<void>;
  /** Records a failure: it may have been sent or, if `known`, was not sent. */
  notSent(ordinal: number, known: boolean): Promise<void>;
  /** Records that this version is in the chat. The text of a final message is deleted. */
  delivered(message: Pick<ChatMessage, "ordinal" | "version">, messageId: string): Promise<void>;
  /** Gives up on the message: the channel rejects it permanently. */
  failed(ordinal: number): Promise<void>;
  find(key: string): Promise<ChatMessage | null>;
  /** A session's unanswered questions. */
  openQuestions(sessionId: string): Promise<readonly ChatMessage[]>;
  /** The session that one of our messages is about. */
  sessionOf(chatId: string, messageId: string): Promise<string | null>;
  /** At startup, marks messages that were being sent when the gateway stopped as possibly sent. */
  takeUp(): Promise<void>;
  prune(): Promise<void>;
}

/** Messages queued for one chat while it cannot be reached. Beyond this limit, new ones are dropped. */
export const maxWaitingInChat = 200;
const keptMs = 30 * 86_400_000;

/** An {@link Outbox} over `chat_messages`. */
export function createOutbox(deps: {
  readonly db: Kysely<Tables>;
  readonly clock: Clock;
  readonly channel: string;
}): Outbox {
  const { db, clock, channel } = deps;
  const ours = () => db.selectFrom("chat_messages").selectAll().where("channel", "=", channel);
  const change = (ordinal: number, on = db) =>
    on.updateTable("chat_messages").where("channel", "=", channel).where("ordinal", "=", ordinal);

  async function isFull(on: Kysely<Tables>, chatId: string): Promise<boolean> {
    const { count } = await on
      .selectFrom("chat_messages")
      .select((eb) => eb.fn.countAll<number>().as("count"))
      .where("channel", "=", channel)
      .where("chat_id", "=", chatId)
      .where("state", "in", ["waiting", "sending", "repeat"])
      .executeTakeFirstOrThrow();
    return count >= maxWaitingInChat;
  }

  return {
    async add(messages, on = db) {
      for (const { key, chatId, sessionId, permissionId = null, body, final } of messages) {
        if (await isFull(on, chatId)) continue;
        await on
          .insertInto("chat_messages")
          .values({
            channel,
            message_key: key,
            chat_id: chatId,
            session_id: sessionId,
            permission_id: permissionId,
            body,
            final: final ? 1 : 0,
            version: 1,
            delivered: 0,
            message_id: null,
            state: "waiting",
            created_at: clock.now(),
          })
          .onConflict((conflict) => conflict.columns(["channel", "message_key"]).doNothing())
          .execute();
      }
    },

    async change(changes, on = db) {
      for (const { key, body, final } of changes) {
        await on
          .updateTable("chat_messages")
          .set((eb) => ({ body, version: eb("version", "+", 1), final: final ? 1 : 0 }))
          .where("channel", "=", channel)
          .where("message_key", "=", key)
          .where("final", "=", 0)
          .where("body", "!=", body)
          .execute();
      }
    },

    async next(chatId) {
      const inChat = ours().where("chat_id", "=", chatId).orderBy("ordinal").limit(1);
      const unsent = await inChat.where("state", "in", ["waiting", "repeat"]).executeTakeFirst();
      if (unsent !== undefined) return toMessage(unsent);
      const changed = await inChat.where("state", "=", "sent").whereRef("delivered", "<", "version").executeTakeFirst();
      return changed === undefined ? null : toMessage(changed);
    },

    async chatsWaiting() {
      const rows = await db
        .selectFrom("chat_messages")
        .select("chat_id")
        .distinct()
        .where("channel", "=", channel)
        .where("state", "!=", "failed")
        .whereRef("delivered", "<", "version")
        .execute();
      return rows.map((row) => row.chat_id);
    },

    sending: async (ordinal) => void (await change(ordinal).set({ state: "sending" }).execute()),
    notSent: async (ordinal, known) =>
      void (await change(ordinal)
        .set({ state: known ? "waiting" : "repeat" })
        .execute()),

    async delivered({ ordinal, version }, messageId) {
      await db.transaction().execute(async (trx) => {
        await change(ordinal, trx).set({ state: "sent", delivered: version, message_id: messageId }).execute();
        await change(ordinal, trx)
          .set({ body: "", permission_id: null })
          .where("final", "=", 1)
          .where("version", "=", version)
          .execute();
      });
    },

    failed: async (ordinal) => void (await change(ordinal).set({ state: "failed", body: "", final: 1 }).execute()),

    async find(key) {
      const row = await ours().where("message_key", "=", key).executeTakeFirst();
      return row === undefined ? null : toMessage(row);
    },

    async openQuestions(sessionId) {
      const rows = await ours()
        .where("session_id", "=", sessionId)
        .where("permission_id", "is not", null)
        .where("final", "=", 0)
        .where("state", "!=", "failed")
        .execute();
      return rows.map(toMessage);
    },

    async sessionOf(chatId, messageId) {
      const row = await ours().where("chat_id", "=", chatId).where("message_id", "=", messageId).executeTakeFirst();
      return row?.session_id ?? null;
    },

    async takeUp() {
      await db
        .updateTable("chat_messages")
        .set({ state: "repeat" })
        .where("channel", "=", channel)
        .where("state", "=", "sending")
        .execute();
    },

    async prune() {
      await db
        .deleteFrom("chat_messages")
        .where("channel", "=", channel)
        .where("state", "in", ["sent", "failed"])
        .where("created_at", "<", clock.now() - keptMs)
        .execute();
    },
  };
}

function toMessage(row: Selectable<Tables["chat_messages"]>): ChatMessage {
  return {
    ordinal: row.ordinal,
    key: row.message_key,
    chatId: row.chat_id,
    sessionId: row.session_id,
    permissionId: row.permission_id,
    body: row.body,
    final: row.final === 1,
    version: row.version,
    messageId: row.message_id,
    mayRepeat: row.state === "repeat",
    createdAt: row.created_at,
  };
}
