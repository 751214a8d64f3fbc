import { hasCode } from "../core/errors.ts";
import type { OnDraft } from "../wire/coding.ts";
import { sessionError } from "./errors.ts";
import type { LiveSession } from "./live-session.ts";
import type { NewPrompt } from "./start.ts";

// Enough to recognize what was typed.
const shownDraftLength = 200;

type DraftedSession = Pick<LiveSession, "draft"> & { readonly record: Pick<LiveSession["record"], "sessionId"> };

/**
 * Refuses a prompt for which the composer is not free. Only while the agent rests: a prompt that waits for a turn finds the composer as
 * it is by then.
 *
 * @throws PosternError `composer_not_empty` | `prompt_not_text`
 */
export async function checkDraft(
  live: DraftedSession,
  prompt: Pick<NewPrompt, "checkBehind">,
  onDraft: OnDraft | undefined,
): Promise<void> {
  if (onDraft === "clear") return;
  const draft = await live.draft();
  if (!draft) return;
  if (onDraft === "append") return prompt.checkBehind(draft);
  throw sessionError(
    "composer_not_empty",
    `The composer of session ${live.record.sessionId} holds text that was typed in the terminal. Set onDraft to "clear" to remove it, or to "append" to send it with your prompt.`,
    { details: { draft: draft.slice(0, shownDraftLength) } },
  );
}

/** The same as a question, asked before the prompt is typed: the draft may have come later. A prompt that must not follow it waits. */
export function mayFollow(prompt: Pick<NewPrompt, "checkBehind">): (draft: string) => Promise<boolean> {
  return async (draft) => {
    try {
      await prompt.checkBehind(draft);
      return true;
    } catch (error) {
      if (hasCode(error, "prompt_not_text")) return false;
      throw error;
    }
  };
}
