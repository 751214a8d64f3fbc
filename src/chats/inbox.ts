import type { Kysely } from "kysely";
import type { Clock } from "../core/clock.ts";
import type { Tables } from "../storage/schema.ts";

/** Something that came from a chat. */
export interface NewUpdate {
  /** The channel's own number: the same when it comes again. */
  readonly updateId: number;
  readonly chatId: string;
  readonly messageId: string | null;
  readonly body: string;
}

/** Something from a chat that waits to be dealt with. */
export interface ChatUpdate extends NewUpdate {
  /** What was going to be asked of a tool for it, when it was begun before. */
  readonly request: string | null;
  readonly attempts: number;
}

/** What became of an update that was taken in. */
export type Intake = "taken" | "known" | "full" | "too_many_chats";

/** What came from chats, kept until it was dealt with. */
export interface Inbox {
  /** Takes it in, once: durable when this resolves. */
  add(update: NewUpdate): Promise<Intake>;
  /** Everything that was not dealt with, in order. */
  waiting(): Promise<readonly ChatUpdate[]>;
  /** Notes what is about to be asked of a tool, so that after a crash exactly that is asked again. */
  keepRequest(updateId: number, request: string): Promise<void>;
  /** @returns how often it was tried by now */
  noteAttempt(updateId: number): Promise<number>;
  /** Its words are not kept any longer. */
  done(updateId: number, sessionId: string | null, on?: Kysely<Tables>): Promise<void>;
  /** The session that a message of a person went to. */
  sessionOf(chatId: string, messageId: string): Promise<string | null>;
  /** Drops what will not be asked for again. */
  prune(): Promise<void>;
}

/** Bounds of what is taken in. */
export interface InboxLimits {
  readonly maxChats: number;
  readonly maxWaitingInChat: number;
}

/** Ours. A person's chats are a few; a person who sends faster than agents are asked gets a refusal. */
export const inboxLimits: InboxLimits = { maxChats: 200, maxWaitingInChat: 50 };

// Telegram repeats an update for a day at most. For replies to one's own older messages they are kept longer.
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

  /** Makes the chat known. @returns whether it is */
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
