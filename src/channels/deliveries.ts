import type { ChatMessage } from "../chats/index.ts";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import { type ChannelLimits, type Handover, type MessageBody, messageBodySchema } from "./channel.ts";
import type { ChatDeps } from "./ports.ts";

/** Sends queued messages, in order within each chat. */
export interface Deliveries {
  /** Resumes messages queued earlier. */
  start(): Promise<void>;
  /** Notifies that messages are queued in this chat. */
  wake(chatId: string): void;
  /** Waits a while for sends in progress. Idempotent. */
  close(): Promise<void>;
}

const firstPauseMs = 1_000;
const longestPauseMs = 60_000;
const lastWordsMs = 5_000;
const pruneEvery = 500;
const repeatWords = "↻ Possible duplicate:\n";

export function createDeliveries({
  channel,
  chats,
  clock,
  log,
}: Pick<ChatDeps, "channel" | "chats" | "clock" | "log">): Deliveries {
  const { outbox } = chats;
  const pace = createPace(clock, channel.limits);
  const stopping = new AbortController();
  const { signal } = stopping;
  const running = new Map<string, Promise<void>>();
  const again = new Set<string>();
  let sincePrune = 0;

  function wake(chatId: string): void {
    if (signal.aborted) return;
    if (running.has(chatId)) {
      again.add(chatId);
      return;
    }
    const serving = serve(chatId).finally(() => {
      running.delete(chatId);
      if (again.delete(chatId)) wake(chatId);
    });
    running.set(chatId, serving);
  }

  async function serve(chatId: string): Promise<void> {
    let pauseMs = firstPauseMs;
    while (!signal.aborted) {
      let more: boolean | "later";
      try {
        more = await deliverNext(chatId);
      } catch (error) {
        if (signal.aborted) return;
        log.warn({ channel: channel.name, reason: messageOf(error) }, "cannot send a message to a chat; trying again");
        more = "later";
      }
      if (more === false) return;
      pauseMs = more === "later" ? Math.min(pauseMs * 2, longestPauseMs) : firstPauseMs;
      // Aborted: the loop ends.
      if (more === "later") await clock.sleep(pauseMs / 2, signal).catch(() => undefined);
    }
  }

  async function deliverNext(chatId: string): Promise<boolean | "later"> {
    const waiting = await outbox.next(chatId);
    if (waiting === null) return false;
    await pace.turn(chatId, signal);
    // A message changed while waiting is sent only in its latest version.
    const message = (await outbox.next(chatId)) ?? waiting;
    const handover = await handOver(message);
    return note(message, handover);
  }

  async function handOver(message: ChatMessage): Promise<Handover> {
    const { chatId, messageId, ordinal, mayRepeat } = message;
    const body = messageBodySchema.parse(JSON.parse(message.body));
    if (messageId !== null) return channel.edit({ chatId, messageId }, body);
    await outbox.sending(ordinal);
    return channel.send(chatId, mayRepeat ? saidBefore(body) : body);
  }

  async function note(message: ChatMessage, handover: Handover): Promise<boolean | "later"> {
    const { ordinal, messageId, chatId, mayRepeat } = message;
    const isNew = messageId === null;
    switch (handover.kind) {
      case "sent":
        await outbox.delivered(message, handover.messageId);
        await pruneSometimes();
        return true;
      case "limited":
        pace.hold(chatId, handover.retryAfterMs);
        if (isNew) await outbox.notSent(ordinal, !mayRepeat);
        return true;
      case "unreachable":
        if (isNew) await outbox.notSent(ordinal, !handover.uncertain && !mayRepeat);
        log.debug({ channel: channel.name, reason: handover.reason }, "chat service unreachable");
        return "later";
      case "refused":
        log.warn({ channel: channel.name, reason: handover.reason }, "the chat service rejected a message");
        if (isNew) await outbox.failed(ordinal);
        else await outbox.delivered(message, messageId); // it keeps its previous content
        return true;
    }
  }

  async function pruneSometimes(): Promise<void> {
    sincePrune += 1;
    if (sincePrune < pruneEvery) return;
    sincePrune = 0;
    await outbox.prune();
    await chats.inbox.prune();
  }

  return {
    async start() {
      await outbox.takeUp();
      await outbox.prune();
      await chats.inbox.prune();
      for (const chatId of await outbox.chatsWaiting()) wake(chatId);
    },
    wake,
    async close() {
      stopping.abort();
      const ended = Promise.all(running.values()).then(() => undefined);
      let cancel: () => void = () => undefined;
      await Promise.race([ended, new Promise<void>((resolve) => (cancel = clock.after(lastWordsMs, resolve)))]);
      cancel();
    },
  };
}

function saidBefore(body: MessageBody): MessageBody {
  const { length } = repeatWords;
  return {
    ...body,
    text: `${repeatWords}${body.text}`,
    spans: body.spans.map((span) => ({ ...span, at: span.at + length })),
  };
}

/** Enforces the rate limits of a chat program. */
export interface Pace {
  /** Resolves when a message can be sent to this chat. Rejects if the signal is aborted. */
  turn(chatId: string, signal: AbortSignal): Promise<void>;
  /** Pauses this chat for this long. */
  hold(chatId: string, forMs: number): void;
}

/** A {@link Pace}. Its memory grows with the number of chats written to. */
export function createPace(
  clock: Clock,
  { betweenMessagesMs, maxMessagesPerSecond }: Pick<ChannelLimits, "betweenMessagesMs" | "maxMessagesPerSecond">,
): Pace {
  const nextInChat = new Map<string, number>();
  let nextOfAll = 0;

  async function until(at: number, signal: AbortSignal): Promise<void> {
    if (at > clock.now()) await clock.sleep(at - clock.now(), signal);
  }

  return {
    async turn(chatId, signal) {
      await until(nextInChat.get(chatId) ?? 0, signal);
      const slot = Math.max(clock.now(), nextOfAll);
      nextOfAll = slot + 1_000 / maxMessagesPerSecond;
      await until(slot, signal);
      nextInChat.set(chatId, clock.now() + betweenMessagesMs);
    },
    hold(chatId, forMs) {
      nextInChat.set(chatId, Math.max(nextInChat.get(chatId) ?? 0, clock.now() + forMs));
    },
  };
}
