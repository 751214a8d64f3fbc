import type { HookReports } from "./hook-reports.ts";
import type { Outbox } from "./outbox.ts";
import type { OpenPrompt } from "./prompt-queue.ts";
import type { TranscriptFollower } from "./transcript-follower.ts";

// An agent may stamp its lines with whole seconds.
const toleranceMs = 1_000;

/** What {@link catchUp} looks at and sets right. */
export interface CatchUp {
  readonly open: readonly OpenPrompt[];
  readonly outbox: Outbox;
  readonly reports: Pick<HookReports, "tookSince">;
  readonly transcript: Pick<TranscriptFollower, "findPromptSince" | "markBefore">;
}

/**
 * Gives an outbox the prompts of an earlier gateway. One that was sent and not confirmed is looked for in what the hooks left and in the
 * transcript since it was sent: the agent may have answered it long ago.
 *
 * @returns the prompt that only the transcript tells of: its turn may have begun without a hook.
 */
export async function catchUp({ open, outbox, reports, transcript }: CatchUp): Promise<string | null> {
  let unreported: string | null = null;
  for (const prompt of open) {
    if (prompt.state === "sent") {
      const since = (prompt.sentAt ?? 0) - toleranceMs;
      const turn = await transcript.findPromptSince(prompt.prompt, since);
      if (turn !== null) transcript.markBefore(turn);
      outbox.resume([prompt], "typing");
      const reported = reports.tookSince(prompt.prompt, since);
      if (turn !== null && !reported) unreported = prompt.prompt;
      if (turn !== null || reported) await outbox.onPromptTaken(prompt.prompt, turn === null ? "hook" : "transcript");
      else if (reports.tookSince(null, since)) outbox.doubt();
    } else {
      outbox.resume([prompt], "typing");
    }
  }
  return unreported;
}
