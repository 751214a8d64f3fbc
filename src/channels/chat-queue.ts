import { hasCode } from "../core/errors.ts";
import type { PromptQueueOutput } from "../wire/queue.ts";
import type { MessageBody } from "./channel.ts";
import type { Dealing, Dealt, Outcome, Pressed } from "./session-actions.ts";
import { plainLine, plainMessage, styled } from "./styled.ts";

const maxListedLength = 150;
const maxLabelLength = 40;

/** A session's queued prompts, each with a button that cancels it. */
export async function listQueue({ sessions, signal }: Dealing, id: string): Promise<Outcome> {
  const queue = await sessions.queue(id, signal);
  return { sessionId: queue.sessionId, say: [queueMessage(queue)] };
}

/** Cancels a prompt of the session that the pressed message is about. */
export async function cancelPrompt(dealing: Dealing, { incoming }: Dealt, promptId: string): Promise<Pressed> {
  const { sessions, deps, signal } = dealing;
  const { chatId, messageId } = incoming;
  const sessionId = messageId === null ? null : await deps.chats.outbox.sessionOf(chatId, messageId);
  if (sessionId === null) return { notice: "This button is no longer valid." };
  try {
    const { cancelled, ...queue } = await sessions.cancelPrompt({ sessionId, promptId }, signal);
    const words = styled(`✕ Cancelled: ${plainLine(cancelled.text, maxListedLength)}`);
    const rest = queue.prompts.length === 0 ? [] : [queueMessage(queue)];
    return { sessionId: queue.sessionId, say: [plainMessage(words), ...rest], notice: "Cancelled." };
  } catch (error) {
    if (!hasCode(error, "prompt_already_sent") && !hasCode(error, "prompt_not_found")) throw error;
    return { sessionId, notice: "This prompt is no longer queued." };
  }
}

function queueMessage({ prompts }: PromptQueueOutput): MessageBody {
  if (prompts.length === 0) return plainMessage(styled("No queued prompts."));
  const lines = prompts.map(({ position, text, attachments }) => {
    const files = attachments.length === 0 ? "" : ` 📎${attachments.length}`;
    return `\n${position + 1}. ${plainLine(text, maxListedLength)}${files}`;
  });
  const buttons = prompts.map(({ position, promptId, text }) => [
    { label: `✕ ${position + 1}. ${plainLine(text, maxLabelLength)}`, data: `x:${promptId}` },
  ]);
  const count = prompts.length === 1 ? "1 queued prompt." : `${prompts.length} queued prompts, the next one first.`;
  return plainMessage(styled(`${count}\n${lines.join("")}`), { buttons });
}
