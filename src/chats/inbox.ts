import type { Kysely } from "kysely";
import type { Clock } from "../core/clock.ts";
import type { Tables } from "../storage/schema.ts";

/** An update from a chat. */
export interface NewUpdate {
  /** The channel's own number: the same if it is delivered again. */
  readonly updateId: number;
  readonly chatId: string;
  readonly messageId: string | null;
  readonly body: string;
}

/** An update from a chat that is waiting to be processed. */
export interface ChatUpdate extends NewUpdate {
  /** The tool call made for it, if processing already started. */
  readonly request: string | null;
  readonly attempts: number;
}

/** The result of storing an update. */
export type Intake = "taken" | "known" | "full" | "too_many_chats";

/** Updates from chats, kept until they are processed. */
export interface Inbox {
  /** Stores it once: durable when this resolves. */
  add(update: NewUpdate): Promise<Intake>;
  /** All unprocessed updates, in order. */
  waiting(): Promise<readonly ChatUpdate[]>;
  /** Records a tool call before it is made, so that exactly the same call is repeated after a crash. */
  keepRequest(updateId: number, request: string): Promise<void>;
  /** @returns the number of attempts so far */
  noteAttempt(updateId: number): Promise<number>;
  /** Marks it as processed and deletes its text. */
  done(updateId: number, sessionId: string | null, on?: Kysely<Tables>): Promise<void>;
  /** The session that a person's message went to. */
  sessionOf(chatId: string, messageId: string): Promise<string | null>;
  /** Deletes updates that are no longer needed. */
  prune(): Promise<void>;
}

/** Limits for stored updates. */
export interface InboxLimits {
  readonly maxChats: number;
  readonly maxWaitingInChat: number;
}

/** A person has only a few chats. Messages sent faster than agents can process them are rejected. */
export const inboxLimits: InboxLimits = { maxChats: 200, maxWaitingInChat: 50 };

// Telegram repeats an update for at most a day. Updates are kept longer, so that people can reply to their own older messages.
const keptMs = 30 * 86_400_000;

/** An {@link Inbox} over `chat_updates` and `chats`. */
export function createInbox(deps: {
  readonly db: Kysely<Tables>;
  readonly clock: Clock;
  readonly channel: string;
  readonly limits?: InboxLimits;
}): Inbox {
  const { db, clock, channel, limits = inboxLimits } = deps;
  const change = (updateId: number, on = db) =>
    on.updateTable("chat_updates").where("channel", "=", channel).where("update_id", "=", updateId);

  /** Adds the chat if it is new. @returns whether it is stored */
  async function enter(on: Kysely<Tables>, chatId: string): Promise<boolean> {
    const known = await on.selectFrom("chats").select("chat_id").where("channel", "=", channel).execute();
    if (known.some((chat) => chat.chat_id === chatId)) return true;
    if (known.length >= limits.maxChats) return false;
    await on
      .insertInto("chats")
      .values({ channel, chat_id: chatId, dir: null, agent: null, session_id: null, created_at: clock.now() })
      .execute();
    return true;
  }

  async function waitingIn(on: Kysely<Tables>, chatId: string): Promise<number> {
    const { count } = await on
      .selectFrom("chat_updates")
      .select((eb) => eb.fn.countAll<number>().as("count"))
      .where("channel", "=", channel)
      .where("chat_id", "=", chatId)
      .where("state", "=", "waiting")
      .executeTakeFirstOrThrow();
    return count;
  }

  return {
    add: ({ updateId, chatId, messageId, body }) =>
      db.transaction().execute(async (trx): Promise<Intake> => {
        const known = await trx
          .selectFrom("chat_updates")
          .select("update_id")
          .where("channel", "=", channel)
          .where("update_id", "=", updateId)
          .executeTakeFirst();
        if (known !== undefined) return "known";
        if (!(await enter(trx, chatId))) return "too_many_chats";
        const full = (await waitingIn(trx, chatId)) >= limits.maxWaitingInChat;
        await trx
          .insertInto("chat_updates")
          .values({
            channel,
            update_id: updateId,
            chat_id: chatId,
            message_id: messageId,
            session_id: null,
            body: full ? "" : body,
            request: null,
            state: full ? "refused" : "waiting",
            attempts: 0,
            received_at: clock.now(),
          })
          .execute();
        return full ? "full" : "taken";
      }),

    async waiting() {
      const rows = await db
        .selectFrom("chat_updates")
        .selectAll()
        .where("channel", "=", channel)
        .where("state", "=", "waiting")
        .orderBy("update_id")
        .execute();
      return rows.map((row) => ({
        updateId: row.update_id,
        chatId: row.chat_id,
        messageId: row.message_id,
        body: row.body,
        request: row.request,
        attempts: row.attempts,
      }));
    },

    keepRequest: async (updateId, request) => void (await change(updateId).set({ request }).execute()),

    async noteAttempt(updateId) {
      const row = await change(updateId)
        .set((eb) => ({ attempts: eb("attempts", "+", 1) }))
        .returning("attempts")
        .executeTakeFirst();
      return row?.attempts ?? 1;
    },

    async done(updateId, sessionId, on = db) {
      await change(updateId, on).set({ state: "done", body: "", request: null, session_id: sessionId }).execute();
    },

    async sessionOf(chatId, messageId) {
      const row = await db
        .selectFrom("chat_updates")
        .select("session_id")
        .where("channel", "=", channel)
        .where("chat_id", "=", chatId)
        .where("message_id", "=", messageId)
        .where("session_id", "is not", null)
        .executeTakeFirst();
      return row?.session_id ?? null;
    },

    async prune() {
      await db
        .deleteFrom("chat_updates")
        .where("channel", "=", channel)
        .where("state", "!=", "waiting")
        .where("received_at", "<", clock.now() - keptMs)
        .execute();
    },
  };
}
