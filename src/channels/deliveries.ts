import type { ChatMessage } from "../chats/index.ts";
import { messageOf } from "../core/errors.ts";
import { type Handover, type MessageBody, messageBodySchema } from "./channel.ts";
import { createPace } from "./pace.ts";
import type { ChatDeps } from "./ports.ts";

/** Hands over what shall be said, in each chat one after the other. */
export interface Deliveries {
  /** Takes up what waits from before. */
  start(): Promise<void>;
  /** There is something to say in this chat. */
  wake(chatId: string): void;
  /** Lets what is under way come to its end, for a while. Idempotent. */
  close(): Promise<void>;
}

const firstPauseMs = 1_000;
const longestPauseMs = 60_000;
const lastWordsMs = 5_000;
const pruneEvery = 500;
const repeatWords = "↻ Perhaps said before:\n";

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
        log.warn({ channel: channel.name, reason: messageOf(error) }, "cannot say something in a chat; trying again");
        more = "later";
      }
      if (more === false) return;
      pauseMs = more === "later" ? Math.min(pauseMs * 2, longestPauseMs) : firstPauseMs;
      // The signal: the loop sees it.
      if (more === "later") await clock.sleep(pauseMs / 2, signal).catch(() => undefined);
    }
  }

  async function deliverNext(chatId: string): Promise<boolean | "later"> {
    const waiting = await outbox.next(chatId);
    if (waiting === null) return false;
    await pace.turn(chatId, signal);
    // What changed while it waited for its turn need not be said first.
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
        log.debug({ channel: channel.name, reason: handover.reason }, "the chat program cannot be reached");
        return "later";
      case "refused":
        log.warn({ channel: channel.name, reason: handover.reason }, "the chat program refuses a message");
        if (isNew) await outbox.failed(ordinal);
        else await outbox.delivered(message, messageId); // it stays as it is
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
