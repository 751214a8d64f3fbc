import type { Kysely } from "kysely";
import type { Clock } from "../core/clock.ts";
import type { Tables } from "../storage/schema.ts";
import { type Chat, type ChatSession, type ChatStore, createChatStore } from "./chat-store.ts";
import { createInbox, type Inbox, type InboxLimits } from "./inbox.ts";
import { createOutbox, type MessageChange, type NewMessage, type Outbox } from "./outbox.ts";

export type { Chat, ChatSession, ChatStore } from "./chat-store.ts";
export type { ChatUpdate, Inbox, InboxLimits, Intake, NewUpdate } from "./inbox.ts";
export type { ChatMessage, MessageChange, NewMessage, Outbox } from "./outbox.ts";

/** Changes applied atomically. */
export interface ChatWork {
  /** The update that was processed. */
  readonly done?: {
    readonly updateId: number;
    /** Updates that were processed with it. */
    readonly otherIds?: readonly number[];
    readonly sessionId: string | null;
  };
  readonly chat?: { readonly chatId: string } & Partial<Omit<Chat, "chatId">>;
  readonly bind?: ChatSession;
  /** The progress of reports on sessions. */
  readonly progress?: readonly ChatSession[];
  readonly say?: readonly NewMessage[];
  readonly change?: readonly MessageChange[];
}

/** The durable state of one channel's chats. Chats belong to the gateway, for anyone whom its owner authorizes. */
export interface Chats {
  readonly store: ChatStore;
  readonly inbox: Omit<Inbox, "done">;
  readonly outbox: Omit<Outbox, "add" | "change">;
  /** Marks the update as processed and stores its replies, in one transaction. */
  settle(work: ChatWork): Promise<void>;
}

/** The chats of the channel of this name. */
export function createChats(deps: {
  readonly db: Kysely<Tables>;
  readonly clock: Clock;
  readonly channel: string;
  readonly limits?: InboxLimits;
}): Chats {
  const store = createChatStore(deps);
  const inbox = createInbox(deps);
  const outbox = createOutbox(deps);
  return {
    store,
    inbox,
    outbox,
    settle: ({ done, chat, bind, progress = [], say = [], change = [] }) =>
      deps.db.transaction().execute(async (trx) => {
        if (chat !== undefined) await store.set(chat.chatId, chat, trx);
        if (bind !== undefined) await store.bind(bind, trx);
        for (const session of progress) await store.setProgress(session, trx);
        await outbox.add(say, trx);
        await outbox.change(change, trx);
        if (done === undefined) return;
        for (const updateId of [done.updateId, ...(done.otherIds ?? [])]) {
          await inbox.done(updateId, done.sessionId, trx);
        }
      }),
  };
}

/**
 * Removes a session's text from all chats' queued rows, in all channels: its messages are no longer sent or changed,
 * and its waiting prompts are not sent. Messages stay linked to the session, so a reply still goes there.
 * @param names every id that the session has or had
 * @returns the number of rows that were queued or still had text
 */
export function forgetSessionInChats(db: Kysely<Tables>, names: readonly string[]): Promise<number> {
  return db.transaction().execute(async (trx) => {
    const messages = await trx
      .updateTable("chat_messages")
      .set((eb) => ({
        body: "",
        permission_id: null,
        final: 1,
        delivered: eb.ref("version"),
        state: eb
          .case()
          .when("message_id", "is", null)
          .then("failed" as const)
          .else("sent" as const)
          .end(),
      }))
      .where("session_id", "in", names)
      .where("body", "!=", "")
      .returning("ordinal")
      .execute();
    // The session of a person's message is known once a tool call is recorded, because the call contains its id.
    const asking = await trx
      .selectFrom("chat_updates")
      .select(["channel", "update_id", "request"])
      .where("state", "=", "waiting")
      .where("request", "is not", null)
      .execute();
    const meant = asking.filter(({ request }) => names.some((name) => request?.includes(JSON.stringify(name))));
    for (const { channel, update_id } of meant) {
      await trx
        .updateTable("chat_updates")
        .set({ state: "refused", body: "", request: null })
        .where("channel", "=", channel)
        .where("update_id", "=", update_id)
        .execute();
    }
    await trx.updateTable("chat_sessions").set({ status_key: null }).where("session_id", "in", names).execute();
    return messages.length + meant.length;
  });
}
