import type { ChatUpdate } from "../chats/index.ts";
import { messageOf } from "../core/errors.ts";
import type { Incoming } from "./channel.ts";
import type { ChatDeps } from "./ports.ts";
import { plainMessage, styled } from "./styled.ts";

/** Receives updates: stores each, then passes it on. */
export interface Intake {
  start(): void;
  /** Idempotent. */
  close(): Promise<void>;
}

const firstPauseMs = 1_000;
const longestPauseMs = 60_000;
// A wrong token stays wrong. After replacing it, restart the gateway or wait this long.
const refusedPauseMs = 60_000;
const emptyPauseMs = 250;
const maxStrangers = 1_000;

export function createIntake(
  deps: Pick<ChatDeps, "channel" | "chats" | "allowedUserIds" | "clock" | "log">,
  on: { readonly taken: (update: ChatUpdate) => void; readonly say: (chatId: string) => void },
): Intake {
  const { channel, chats, allowedUserIds, clock, log } = deps;
  const stopping = new AbortController();
  const { signal } = stopping;
  const strangers = new Set<string>();
  let running: Promise<void> = Promise.resolve();
  let trouble: string | null = null;

  async function receive(): Promise<void> {
    let after: number | null = null;
    let pauseMs = firstPauseMs;
    while (!signal.aborted) {
      try {
        const asked = clock.now();
        const received = await channel.receive(after, signal);
        if (signal.aborted) return;
        if (received.kind === "updates") {
          noteTrouble(null);
          pauseMs = firstPauseMs;
          // Passed on together, because several can be one album.
          const taken: ChatUpdate[] = [];
          try {
            for (const { updateId, incoming } of received.updates) {
              if (incoming !== null) taken.push(...(await take(updateId, incoming)));
              after = updateId;
            }
          } finally {
            taken.forEach(on.taken);
          }
          // Otherwise, a server that answers immediately would be polled in a busy loop.
          if (received.updates.length === 0 && clock.now() - asked < emptyPauseMs) await pause(emptyPauseMs);
          continue;
        }
        if (received.kind !== "limited") noteTrouble(received.reason, received.kind === "refused");
        const { kind } = received;
        await pause(kind === "limited" ? received.retryAfterMs : kind === "refused" ? refusedPauseMs : pauseMs);
      } catch (error) {
        if (signal.aborted) return;
        log.error({ channel: channel.name, reason: messageOf(error) }, "cannot store a chat message; trying again");
        await pause(pauseMs);
      }
      pauseMs = Math.min(pauseMs * 2, longestPauseMs);
    }
  }

  function pause(ms: number): Promise<void> {
    return clock.sleep(ms, signal).catch(() => undefined); // aborted: the loop ends
  }

  /** Logs each problem once, and its end. */
  function noteTrouble(reason: string | null, lasting = false): void {
    if (reason === trouble) return;
    trouble = reason;
    const fields = { channel: channel.name, ...(reason === null ? {} : { reason }) };
    if (reason === null) log.info(fields, "connected to the chat service again");
    else if (lasting) log.error(fields, "the chat service rejected the connection; trying again every minute");
    else log.warn(fields, "chat service unreachable; trying again");
  }

  /** @returns the update, if it is to be processed */
  async function take(updateId: number, incoming: Incoming): Promise<readonly ChatUpdate[]> {
    if (!allowedUserIds.has(incoming.userId)) {
      ignore(incoming.userId);
      return [];
    }
    const { chatId, content } = incoming;
    const messageId = content.kind === "press" ? null : incoming.messageId;
    const update = { updateId, chatId, messageId, body: JSON.stringify(incoming) };
    switch (await chats.inbox.add(update)) {
      case "taken":
        return [{ ...update, request: null, attempts: 0 }];
      case "full":
        await refuse(updateId, chatId);
        return [];
      case "too_many_chats":
        log.warn({ channel: channel.name }, "too many chats; messages from new chats are ignored");
        return [];
      case "known":
        return [];
    }
  }

  /** Strangers must not learn that there is a gateway. */
  function ignore(userId: string): void {
    if (strangers.has(userId) || strangers.size >= maxStrangers) return;
    strangers.add(userId);
    log.warn({ channel: channel.name, userId }, "ignored a message from a user who is not allowed to use the bot");
  }

  async function refuse(updateId: number, chatId: string): Promise<void> {
    const words = "⚠️ Too many messages are waiting in this chat. Send this one again later.";
    const body = JSON.stringify(plainMessage(styled(words)));
    await chats.settle({ say: [{ key: `refused:${updateId}`, chatId, sessionId: null, body, final: true }] });
    on.say(chatId);
  }

  return {
    start() {
      running = receive();
    },
    async close() {
      stopping.abort();
      await running;
    },
  };
}
