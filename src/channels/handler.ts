import type { ChatUpdate, ChatWork, NewMessage } from "../chats/index.ts";
import { hasCode, messageOf } from "../core/errors.ts";
import { newUuid } from "../core/ids.ts";
import { createKeyedLock } from "../core/single-flight.ts";
import type { Problem } from "../wire/problem.ts";
import { createAlbums, type WholeAlbum } from "./albums.ts";
import { type Incoming, incomingSchema } from "./channel.ts";
import { command, text } from "./commands.ts";
import type { Deliveries } from "./deliveries.ts";
import type { ChatDeps } from "./ports.ts";
import { press } from "./presses.ts";
import type { Reports } from "./reports.ts";
import { type Dealing, type Outcome, say } from "./session-actions.ts";
import type { Sessions } from "./sessions.ts";
import { plainWords, shortened } from "./styled.ts";

/** Processes updates from chats: messages in order within each chat, button presses concurrently with them. */
export interface Handler {
  /** Resolves when the update was processed, or when the gateway stops; in that case, the next start processes it. */
  handle(update: ChatUpdate): Promise<void>;
  /** Waits for updates in progress and does not start new ones. Idempotent. */
  close(): Promise<void>;
}

// An update that fails this often is a bug: it would fail forever and block the chat.
const maxAttempts = 5;
const retryMs = 1_000;

/** Hints for what to do in a chat. */
const hints: Readonly<Partial<Record<Problem["code"], string>>> = {
  agent_not_configured: "\nIn this chat: /agent",
  dir_not_allowed: "\nIn this chat: /folder",
  dir_not_found: "\nIn this chat: /folder",
  permission_pending: "\nAnswer the request first, or stop the turn with /interrupt.",
};

/** Replaces the API's messages whose advice does not apply in a chat. */
const ownWords: Readonly<Partial<Record<Problem["code"], string>>> = {
  composer_not_empty:
    "Not sent: the session's terminal contains unsent text. Send or delete it there, then send your message again.",
};

export function createHandler(
  deps: ChatDeps,
  parts: { readonly sessions: Sessions; readonly reports: Reports; readonly deliveries: Deliveries },
): Handler {
  const { channel, chats, clock, log } = deps;
  const stopping = new AbortController();
  const { signal } = stopping;
  const dealing: Dealing = { deps, ...parts, signal };
  const lanes = createKeyedLock();
  const albums = createAlbums(deps);
  const running = new Set<Promise<void>>();

  async function deal(update: ChatUpdate, received: Incoming): Promise<void> {
    const whole = await albums.whole(update, received, signal);
    if (whole === null) return;
    const { incoming, otherIds } = whole;
    for (let attempt = update.attempts; !signal.aborted; ) {
      try {
        attempt = await chats.inbox.noteAttempt(update.updateId);
        const outcome =
          attempt > maxAttempts
            ? say("⚠️ Something went wrong with this message, and it was not processed. Send it again.")
            : await outcomeOf(update, incoming);
        if (outcome === "stopped") return;
        await settle(update, { incoming, otherIds }, outcome);
        return;
      } catch (error) {
        if (signal.aborted) return;
        const { updateId } = update;
        log.error({ channel: channel.name, updateId, reason: messageOf(error) }, "cannot process a chat message");
        await clock.sleep(retryMs * 2 ** Math.min(attempt, 5), signal).catch(() => undefined); // aborted: the loop ends
      }
    }
  }

  async function outcomeOf(update: ChatUpdate, incoming: Incoming): Promise<Outcome | "stopped"> {
    const { content } = incoming;
    const dealt = { update, incoming };
    try {
      switch (content.kind) {
        case "command":
          return await command(dealing, dealt, content);
        case "text":
          return await text(dealing, dealt, content);
        case "press": {
          const pressed = await press(dealing, dealt, content.data);
          void channel.acknowledge(content.pressId, pressed.notice);
          return pressed;
        }
        case "unreadable":
          return incoming.isPrivate ? say("Only text, photos and files can be sent to an agent.") : {};
      }
    } catch (error) {
      if (signal.aborted || hasCode(error, "gateway_stopping")) return "stopped";
      if (content.kind === "press") void channel.acknowledge(content.pressId, "");
      return trouble(error);
    }
  }

  /** The error, with the API's message if it applies. */
  function trouble(error: unknown): Outcome {
    const requestId = newUuid();
    const { code, detail, status } = deps.problemOf(error, requestId);
    if (status >= 500) {
      log.error(
        { channel: channel.name, requestId, code, reason: messageOf(error) },
        "a tool called from a chat failed",
      );
    }
    const hint = hints[code] ?? "";
    return say(`⚠️ ${ownWords[code] ?? shortened(plainWords(detail), 2_000)} (${code})${hint}`);
  }

  async function settle(update: ChatUpdate, { incoming, otherIds }: WholeAlbum, outcome: Outcome): Promise<void> {
    const { chatId } = incoming;
    const { say: bodies = [], keyed = [], sessionId = null, chat, bind, change } = outcome;
    const replies: readonly NewMessage[] = bodies.map((body, index) => ({
      key: `reply:${update.updateId}:${index}`,
      chatId,
      sessionId,
      body: JSON.stringify({ ...body, replyTo: body.replyTo ?? (incoming.isPrivate ? null : update.messageId) }),
      final: true,
    }));
    const work: ChatWork = {
      done: { updateId: update.updateId, otherIds, sessionId },
      say: [...replies, ...keyed.map((message) => ({ ...message, chatId, sessionId, final: false }))],
      ...(chat === undefined ? {} : { chat: { chatId, ...chat } }),
      ...(bind === undefined ? {} : { bind }),
      ...(change === undefined ? {} : { change }),
    };
    await chats.settle(work);
    parts.deliveries.wake(chatId);
    if (sessionId !== null) await parts.reports.look(sessionId);
  }

  return {
    handle(update) {
      if (signal.aborted) return Promise.resolve();
      const { data: incoming } = incomingSchema.safeParse(JSON.parse(update.body));
      // Stored by another version in an unknown format.
      if (incoming === undefined) return chats.settle({ done: { updateId: update.updateId, sessionId: null } });
      albums.note(update, incoming);
      const lane = `${incoming.content.kind === "press"} ${incoming.chatId}`;
      const dealt = lanes.run(lane, () => deal(update, incoming)).finally(() => running.delete(dealt));
      running.add(dealt);
      return dealt;
    },
    async close() {
      stopping.abort();
      await Promise.all(running);
    },
  };
}
