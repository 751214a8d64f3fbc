import type { AgentTemplate } from "../agents/index.ts";
import type { TerminalExit } from "../terminal-host/terminal-info.ts";
import { splitAttached } from "../transcripts/index.ts";
import type { OnDraft } from "../wire/coding.ts";
import type { OpenPrompt, PromptState } from "./prompt-queue.ts";
import { withoutInvisible } from "./prompt-text.ts";

/** A prompt for a live session. `onDraft` is omitted for a prompt that waits until the composer is empty. */
export interface OutboxPrompt extends OpenPrompt {
  readonly onDraft?: OnDraft | undefined;
  /** Whether it can be appended to this draft. Defaults to no. */
  readonly mayFollow?: ((draft: string) => Promise<boolean>) | undefined;
}

/** `received`: the agent reported that it accepted the prompt, but it is not in the transcript yet. */
export type DeliveryState = PromptState | "received";

/** How far a prompt has come. */
export interface PromptProgress {
  readonly state: DeliveryState;
  /** Turns in the transcript before this prompt's; known once it was sent. */
  readonly turnsBefore: number;
  /** Whether the turn that it began has ended. */
  readonly turnOver: boolean;
}

/** A prompt that was sent. */
export interface SentPrompt {
  readonly promptId: string;
  readonly text: string;
  /** What was in the composer before it, and was sent with it. */
  readonly draft?: string | undefined;
  /** On the command line, or typed into the terminal. */
  readonly by: "argv" | "typing";
  readonly turnsBefore: number;
  /** Epoch milliseconds. */
  readonly sentAt: number;
  /** How often Enter was pressed. */
  readonly enters: number;
  /** Whether the agent has since accepted a prompt that may not be this one. */
  readonly otherTaken: boolean;
}

/** The prompts of one live session: each is sent at most once, one at a time, in order. */
export interface PromptsState {
  readonly progress: ReadonlyMap<string, PromptProgress>;
  /** Not sent yet, oldest first. */
  readonly waiting: readonly OutboxPrompt[];
  /** The prompt that is being sent, from before it is typed until Enter is pressed; `typing` is true from the first byte on. */
  readonly sending: { readonly prompt: OutboxPrompt; readonly typing: boolean } | null;
  /** Sent, and not confirmed. */
  readonly sent: SentPrompt | null;
  /** Accepted according to the agent's report, and not in its transcript yet. */
  readonly received: readonly (SentPrompt & { readonly receivedAt: number })[];
  /** Given up as unknown: the agent may still accept one of them. */
  readonly late: readonly SentPrompt[];
  /** The prompt whose turn runs. */
  readonly current: string | null;
  /** Whether the next prompt waits because the composer holds text that is not ours. */
  readonly behindDraft: boolean;
  /** The prompt that could not be typed at the last attempt and waits for the next attempt. */
  readonly returned: string | null;
  /** Whether this session's prompts have been read from the store. */
  readonly isRead: boolean;
  /** How often the text of a waiting prompt was changed. */
  readonly edits: number;
  /** How many tasks keep prompts from being typed. */
  readonly holds: number;
}

/** A session without a prompt. */
export const noPrompts: PromptsState = {
  progress: new Map(),
  waiting: [],
  sending: null,
  sent: null,
  received: [],
  late: [],
  current: null,
  behindDraft: false,
  returned: null,
  isRead: false,
  edits: 0,
  holds: 0,
};

/** What happened. */
export type PromptMessage =
  /** The store's prompts of this session: queued ones in order, and one that was sent and not confirmed. */
  | { readonly kind: "found"; readonly prompts: readonly OutboxPrompt[]; readonly sentBy: "argv" | "typing" }
  /** Its `onDraft` also applies to an earlier prompt that waits for the draft to be removed. */
  | { readonly kind: "added"; readonly prompt: OutboxPrompt }
  /** The next prompt may be sent now, if nothing else is in progress. */
  | { readonly kind: "send_next" }
  /** The prompt is about to be typed, after this draft. */
  | { readonly kind: "typing"; readonly promptId: string; readonly draft: string; readonly turnsBefore: number }
  /** Its session was closed, and the prompt given up, before it was typed. */
  | { readonly kind: "revoked"; readonly promptId: string }
  /** Its text was changed in the store. */
  | { readonly kind: "edited"; readonly prompt: OutboxPrompt }
  /** The store has the waiting prompts in this order. */
  | { readonly kind: "moved"; readonly promptIds: readonly string[] }
  /** It was taken out of the queue in the store. */
  | { readonly kind: "cancelled"; readonly promptId: string }
  | { readonly kind: "typed"; readonly promptId: string; readonly result: TypedPrompt }
  /** A command that was left in the composer was removed, or could not be removed. */
  | { readonly kind: "cleared"; readonly promptId: string; readonly cleared: boolean }
  /** All of it is typed, or nothing more will be typed. */
  | { readonly kind: "typing_ended"; readonly promptId: string }
  /** The next one may be sent. */
  | { readonly kind: "sending_ended"; readonly promptId: string }
  /** The agent accepted a prompt, according to its hook (which runs before the prompt is in the transcript) or its transcript. */
  | { readonly kind: "taken"; readonly text: string; readonly by: "hook" | "transcript" }
  /** The agent accepted a prompt, possibly the one that waits for confirmation. */
  | { readonly kind: "other_taken" }
  /** The transcript was searched for a received prompt; `final` when nothing more will be written. */
  | { readonly kind: "searched"; readonly promptId: string; readonly written: boolean; readonly final: boolean }
  | { readonly kind: "turn_over" }
  | { readonly kind: "tick" }
  /** What a look at the terminal shows about the sent prompt. `held` is null when the composer cannot be read. */
  | { readonly kind: "looked"; readonly promptId: string; readonly maySend: false }
  | { readonly kind: "looked"; readonly promptId: string; readonly maySend: true; readonly held: boolean | null }
  /** Nothing confirmed it in time, and the wait is over. */
  | { readonly kind: "given_up"; readonly promptId: string; readonly state: GivenUp }
  /** Before a prompt is given up, hooks and transcript are read once more. */
  | { readonly kind: "asked_again"; readonly promptId: string; readonly taken: boolean; readonly state: GivenUp }
  /** The process has ended. `exit` is null when its end was not seen. */
  | { readonly kind: "ended"; readonly exit: TerminalExit | null }
  | { readonly kind: "held" | "released" };

/**
 * How a delivery ended.
 * - `typed`: the text is in the composer and Enter was pressed, or the agent became busy before that.
 * - `held`: every Enter became a new line, or a dialog or a changing screen prevented it; the text stays in the composer.
 * - `not_ready`: the terminal did not accept input; `onTyping` was not called.
 * - `draft`: the composer holds text that is not ours; `onTyping` was not called.
 * - `not_typed`: `onTyping` was called, but then a dialog opened or text appeared in the composer, so nothing was typed.
 * - `given_up`: `onTyping` returned false, because the prompt must not be sent.
 * - `lost`: no editor started and the composer is gone, so nothing was typed. The prompt must not be sent again.
 */
export type TypedPrompt = "typed" | "held" | "not_ready" | "draft" | "not_typed" | "given_up" | "lost";

/** The final state of a prompt that was never confirmed. */
export type GivenUp = "lost" | "unknown";

/** Actions to carry out, each once and in order. */
export type PromptEffect =
  | { readonly kind: "send"; readonly prompt: OutboxPrompt }
  /** Store the new state. */
  | { readonly kind: "mark"; readonly promptId: string; readonly state: GivenUp | "delivered" }
  /** Store that it was not sent. */
  | { readonly kind: "put_back"; readonly promptId: string }
  | { readonly kind: "press_enter"; readonly sent: SentPrompt }
  | { readonly kind: "clear"; readonly promptId: string; readonly text: string }
  /** Look at the terminal; with `overdue` the prompt is given up, and removed from the composer if it is there. */
  | { readonly kind: "look"; readonly sent: SentPrompt; readonly overdue: boolean }
  | { readonly kind: "ask_again"; readonly sent: SentPrompt; readonly state: GivenUp };

/** What is known about the session when a message arrives. */
export interface PromptContext {
  /** Epoch milliseconds. */
  readonly now: number;
  /** Whether the agent is at rest: the only time to type. */
  readonly maySend: boolean;
  /** Number of turns in the transcript while the agent was last idle. */
  readonly turnCount: number;
  /** Whether the agent is still booting. */
  readonly starting: boolean;
  /** Whether this process's hooks have reported anything. */
  readonly hooksReport: boolean;
  readonly template: Pick<AgentTemplate, "hasHooks" | "transcriptFormat" | "commandPrefixes" | "commandWords">;
}

// Hooks cut strings to 16,384 characters (`hook-inbox.mjs`).
const hookCutLength = 16_384;
// Transcript turns are cut too. No two prompts in flight are equal up to this length and differ after it.
const comparedLength = 8_000;

/**
 * Whether an agent's report is about this prompt. Agents fold white space, compose accents and drop invisible characters
 * (measured: Claude Code), and the report can be cut.
 */
export function samePrompt(ours: string, reported: string): boolean {
  const [left, right] = [asReported(ours), asReported(reported)];
  if (left === "" || right === "") return false;
  if (left === right) return true;
  // The text can be cut between a letter and its accent.
  if (reported.length >= hookCutLength && left.startsWith(right.slice(0, -1))) return true;
  return (
    left.length >= comparedLength &&
    right.length >= comparedLength &&
    left.slice(0, comparedLength) === right.slice(0, comparedLength)
  );
}

/** Whether the text that an agent accepted contains this prompt, possibly after a draft or with additions of the agent. */
export function containsPrompt(ours: string, reported: string): boolean {
  const text = asReported(ours).slice(0, comparedLength);
  return text !== "" && asReported(reported).includes(text);
}

/** A text in the form in which agents report and show it. */
export function asReported(text: string): string {
  return withoutInvisible(splitAttached(text).text).normalize("NFC").replaceAll(/\s+/g, " ").trim();
}
