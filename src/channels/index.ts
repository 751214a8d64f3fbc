import { messageOf } from "../core/errors.ts";
import { commands } from "./commands.ts";
import { createDeliveries } from "./deliveries.ts";
import { createHandler } from "./handler.ts";
import { createIntake } from "./intake.ts";
import type { ChatDeps } from "./ports.ts";
import { createReports } from "./reports.ts";
import { createSessions } from "./sessions.ts";

export type { ChatDeps } from "./ports.ts";
export { createTelegram, type TelegramOptions } from "./telegram/telegram.ts";

/** Access to sessions through a chat program. */
export interface ChatFace {
  /** Stops; unprocessed updates wait for the next start. Idempotent. */
  close(): Promise<void>;
}

/**
 * Resumes queued work. Does not wait for the chat program: if it cannot be reached, this returns anyway
 * and retries.
 */
export async function openChatFace(deps: ChatDeps): Promise<ChatFace> {
  const { chats, channel, log } = deps;
  const sessions = createSessions(deps);
  const deliveries = createDeliveries(deps);
  const reports = createReports(deps, { sessions, deliveries });
  const handler = createHandler(deps, { sessions, reports, deliveries });
  const intake = createIntake(deps, {
    taken: (update) => void handler.handle(update),
    say: (chatId) => deliveries.wake(chatId),
  });
  await deliveries.start();
  const waiting = await chats.inbox.waiting();
  // Processes earlier button presses first. Otherwise, reports would show their questions as answered elsewhere.
  const presses = waiting.filter(({ messageId }) => messageId === null).map((update) => handler.handle(update));
  for (const update of waiting) if (update.messageId !== null) void handler.handle(update);
  const begun = Promise.all(presses)
    .then(() => reports.start())
    .catch((error: unknown) =>
      log.error({ channel: channel.name, reason: messageOf(error) }, "cannot start reporting to chats"),
    );
  intake.start();
  void channel.introduce(commands);
  return {
    async close() {
      await intake.close();
      await handler.close();
      await begun;
      await reports.close();
      await deliveries.close();
    },
  };
}
