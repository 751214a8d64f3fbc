import type { Caller } from "../wire/caller.ts";
import type { AskOutput, OnDraft } from "../wire/coding.ts";
import type { CommentSide } from "../wire/reviews.ts";

/** A file on one side of a session's changes. Paths are relative to the root of its worktree or repository. */
export interface ReviewedFile {
  readonly path: string;
  readonly side: CommentSide;
}

/** The outcome of a prompt: `none` if it was never accepted, `ended` once its turn has ended. */
export type PromptFate = "none" | "running" | "ended" | "lost";

/** What reviews need from sessions. Each function throws PosternError `session_not_found` for a session that the caller cannot see. */
export interface ReviewPorts {
  find(sessionId: string, caller: Caller): Promise<{ readonly agent: string; readonly sessionId: string }>;
  /**
   * The text of files, in the given order; null for a file that is missing, too large or not text.
   * @throws PosternError `dir_not_allowed` if the caller cannot read files there, and the codes of the session's diff
   */
  readFiles(sessionId: string, files: readonly ReviewedFile[], caller: Caller): Promise<readonly (string | null)[]>;
  /** Sends a prompt as `coding_ask` does. @param key identifies the prompt for {@link ReviewPorts.fateOf} */
  ask(
    prompt: {
      readonly sessionId: string;
      readonly text: string;
      readonly key: string;
      readonly onDraft: OnDraft | undefined;
    },
    caller: Caller,
  ): Promise<{ readonly deliveryState: AskOutput["deliveryState"] }>;
  fateOf(prompt: { readonly sessionId: string; readonly key: string }, caller: Caller): Promise<PromptFate>;
  /** Whether an agent would read files outside its directory because this text mentions them. */
  mentionsOutside(sessionId: string, text: string, caller: Caller): Promise<boolean>;
}
