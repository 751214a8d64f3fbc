import type { Kysely, Selectable } from "kysely";
import type { Clock } from "../core/clock.ts";
import type { Tables } from "../storage/schema.ts";

/** A chat's settings. */
export interface Chat {
  readonly chatId: string;
  /** Where new sessions start. */
  readonly dir: string | null;
  readonly agent: string | null;
  /** The session that a message without a reply continues. */
  readonly sessionId: string | null;
}

/** A session that a chat follows, with the progress of its reports. */
export interface ChatSession {
  readonly chatId: string;
  readonly sessionId: string;
  /** The newest reported turn; -1 for none. */
  readonly turnIndex: number;
  /** Reported characters of that turn's text. */
  readonly turnLength: number;
  /** The chat's message with the newest prompt. */
  readonly promptMessageId: string | null;
  /** The status message of the turn, while it runs. */
  readonly statusKey: string | null;
}

/** SQL for chats and the sessions that they follow. */
export interface ChatStore {
  chat(chatId: string): Promise<Chat>;
  set(chatId: string, changes: Partial<Omit<Chat, "chatId">>, on?: Kysely<Tables>): Promise<void>;
  /** Makes the chat follow the session, and overwrites its progress. Beyond the limit, the oldest session is dropped. */
  bind(session: ChatSession, on?: Kysely<Tables>): Promise<void>;
  bound(chatId: string, sessionId: string): Promise<ChatSession | null>;
  /** Chats that follow the session. */
  listeners(sessionId: string): Promise<readonly ChatSession[]>;
  /** Sessions that any chat follows. */
  sessionIds(): Promise<readonly string[]>;
  /** Sessions with a turn or a question that a chat is waiting on. */
  unfinished(): Promise<readonly string[]>;
  setProgress(session: ChatSession, on?: Kysely<Tables>): Promise<void>;
  unbind(sessionId: string): Promise<void>;
  /** The session continues under another id. */
  move(sessionId: string, toSessionId: string): Promise<void>;
  /** The newest reported event; null if there is none. */
  mark(): Promise<string | null>;
  setMark(eventId: string): Promise<void>;
}

/** A chat follows its newest sessions, up to this limit. */
const maxSessionsOfChat = 50;

/** A {@link ChatStore} over `chats`, `chat_sessions` and `chat_marks`. */
export function createChatStore(deps: {
  readonly db: Kysely<Tables>;
  readonly clock: Clock;
  readonly channel: string;
}): ChatStore {
  const { db, clock, channel } = deps;
  const boundIds = () => db.selectFrom("chat_sessions").select("session_id").distinct().where("channel", "=", channel);
  const bindings = () => db.selectFrom("chat_sessions").selectAll().where("channel", "=", channel);

  async function letGo(on: Kysely<Tables>, chatId: string): Promise<void> {
    const surplus = on
      .selectFrom("chat_sessions")
      .select("session_id")
      .where("channel", "=", channel)
      .where("chat_id", "=", chatId)
      .orderBy("bound_at", "desc")
      .offset(maxSessionsOfChat)
      .limit(maxSessionsOfChat);
    await on
      .deleteFrom("chat_sessions")
      .where("channel", "=", channel)
      .where("chat_id", "=", chatId)
      .where("session_id", "in", surplus)
      .execute();
  }

  return {
    async chat(chatId) {
      const row = await db
        .selectFrom("chats")
        .selectAll()
        .where("channel", "=", channel)
        .where("chat_id", "=", chatId)
        .executeTakeFirst();
      return { chatId, dir: row?.dir ?? null, agent: row?.agent ?? null, sessionId: row?.session_id ?? null };
    },

    async set(chatId, { dir, agent, sessionId }, on = db) {
      const changes = {
        ...(dir === undefined ? {} : { dir }),
        ...(agent === undefined ? {} : { agent }),
        ...(sessionId === undefined ? {} : { session_id: sessionId }),
      };
      if (Object.keys(changes).length === 0) return;
      await on.updateTable("chats").set(changes).where("channel", "=", channel).where("chat_id", "=", chatId).execute();
    },

    async bind(session, on = db) {
      const facts = { ...factsOf(session), bound_at: clock.now() };
      await on
        .insertInto("chat_sessions")
        .values({ channel, chat_id: session.chatId, session_id: session.sessionId, ...facts })
        .onConflict((conflict) => conflict.columns(["channel", "chat_id", "session_id"]).doUpdateSet(facts))
        .execute();
      await letGo(on, session.chatId);
    },

    async bound(chatId, sessionId) {
      const row = await bindings().where("chat_id", "=", chatId).where("session_id", "=", sessionId).executeTakeFirst();
      return row === undefined ? null : toSession(row);
    },

    listeners: async (sessionId) => (await bindings().where("session_id", "=", sessionId).execute()).map(toSession),

    async sessionIds() {
      return (await boundIds().execute()).map((row) => row.session_id);
    },

    async unfinished() {
      const asked = db
        .selectFrom("chat_messages")
        .select("session_id")
        .where("channel", "=", channel)
        .where("permission_id", "is not", null)
        .where("final", "=", 0);
      const rows = await boundIds()
        .where((eb) => eb.or([eb("status_key", "is not", null), eb("session_id", "in", asked)]))
        .execute();
      return rows.map((row) => row.session_id);
    },

    async setProgress(session, on = db) {
      await on
        .updateTable("chat_sessions")
        .set(factsOf(session))
        .where("channel", "=", channel)
        .where("chat_id", "=", session.chatId)
        .where("session_id", "=", session.sessionId)
        .execute();
    },

    async unbind(sessionId) {
      await db.deleteFrom("chat_sessions").where("channel", "=", channel).where("session_id", "=", sessionId).execute();
    },

    async move(sessionId, toSessionId) {
      await db.transaction().execute(async (trx) => {
        const moved = { session_id: toSessionId };
        const there = trx
          .selectFrom("chat_sessions")
          .select("chat_id")
          .where("channel", "=", channel)
          .where("session_id", "=", toSessionId);
        // A chat that already follows it under the new id keeps that progress.
        await trx
          .deleteFrom("chat_sessions")
          .where("channel", "=", channel)
          .where("session_id", "=", sessionId)
          .where("chat_id", "in", there)
          .execute();
        for (const table of ["chat_sessions", "chats", "chat_messages", "chat_updates"] as const) {
          await trx
            .updateTable(table)
            .set(moved)
            .where("channel", "=", channel)
            .where("session_id", "=", sessionId)
            .execute();
        }
      });
    },

    async mark() {
      const row = await db
        .selectFrom("chat_marks")
        .select("event_id")
        .where("channel", "=", channel)
        .executeTakeFirst();
      return row?.event_id ?? null;
    },

    async setMark(eventId) {
      await db
        .insertInto("chat_marks")
        .values({ channel, event_id: eventId })
        .onConflict((conflict) => conflict.column("channel").doUpdateSet({ event_id: eventId }))
        .execute();
    },
  };
}

function factsOf({ turnIndex, turnLength, promptMessageId, statusKey }: ChatSession) {
  return {
    turn_index: turnIndex,
    turn_length: turnLength,
    prompt_message_id: promptMessageId,
    status_key: statusKey,
  };
}

function toSession(row: Selectable<Tables["chat_sessions"]>): ChatSession {
  return {
    chatId: row.chat_id,
    sessionId: row.session_id,
    turnIndex: row.turn_index,
    turnLength: row.turn_length,
    promptMessageId: row.prompt_message_id,
    statusKey: row.status_key,
  };
}
