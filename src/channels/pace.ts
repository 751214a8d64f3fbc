import type { Clock } from "../core/clock.ts";
import type { ChannelLimits } from "./channel.ts";

/** Keeps to the rate limits of a chat program. */
export interface Pace {
  /** Resolves when something may be sent to this chat. Rejects when the signal is aborted. */
  turn(chatId: string, signal: AbortSignal): Promise<void>;
  /** Nothing to this chat for so long. */
  hold(chatId: string, forMs: number): void;
}

/** A {@link Pace}; it remembers as many chats as were written to. */
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
