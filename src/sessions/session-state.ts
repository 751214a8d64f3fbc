import type { AgentTemplate, HookEvent, ObservedState, ScreenDialog } from "../agents/index.ts";
import type { TranscriptSummary } from "../transcripts/index.ts";
import { type ActivityState, initialActivity, isResting, type OpenPermission } from "./activity.ts";
import { type AgentView, newAgentView } from "./agent-view.ts";
import type { ReportedLine } from "./hook-reports.ts";
import { type IdentityMessage, type IdentityState, newIdentity } from "./identity.ts";
import type { OpenPrompt } from "./prompt-queue.ts";
import { noPrompts, type PromptEffect, type PromptMessage, type PromptsState, samePrompt } from "./prompts.ts";
import { newScreen, type ScreenLook, type ScreenView, screenMatters } from "./screen-view.ts";
import type { SessionRecord } from "./session-store.ts";
import { hasNewTurn, type TranscriptView, unreadTranscript } from "./transcript-view.ts";

/** All that is known about a live session. */
export interface SessionState {
  readonly identity: IdentityState;
  readonly life: SessionLife;
  readonly use: SessionUse;
  readonly activity: ActivityState;
  readonly prompts: PromptsState;
  readonly transcript: TranscriptView;
  readonly agent: AgentView;
  readonly screen: ScreenView;
  readonly hooks: HooksView;
  /** Since when no turn runs. */
  readonly restingSince: number;
  /** Turns in the transcript before the newest prompt that the agent accepted. */
  readonly turnsBefore: number;
  /** Permissions that closed without an observed answer, and until when their dialog may still appear. */
  readonly unanswered: { readonly permissions: readonly OpenPermission[]; readonly until: number };
}

/** Whether the process runs. `idleMs`: how long the agent was idle before Postern ended it; null when it ended otherwise. */
export type SessionLife =
  | { readonly kind: "running" }
  /** The agent is being ended because it was idle; nothing is typed any more except its exit keys. */
  | { readonly kind: "retiring"; readonly idleMs: number }
  | { readonly kind: "ended"; readonly idleMs: number | null };

/** How the agent is used, besides its turns. */
export interface SessionUse {
  /** Viewers of its terminal at this moment. */
  readonly viewers: number;
  /** When it was last used, or found in use; epoch milliseconds. */
  readonly lastAt: number;
  /** When it accepted its first prompt; before that, it has no background tasks. Null if it has not accepted any, or if the time is unknown. */
  readonly firstPromptAt: number | null;
  /** Whether it ran before this gateway: a prompt that no hook reports may not be its first. */
  readonly ranBefore: boolean;
}

/** What the hooks of a session reported. */
export interface HooksView {
  readonly lastAt: number;
  readonly any: boolean;
  /** Prompts that the agent accepted, the newest last. */
  readonly taken: readonly { readonly text: string; readonly at: number }[];
}

/** The state of a session whose process is followed from now on. */
export function newSessionState(record: SessionRecord, origin: "launched" | "found", now: number): SessionState {
  return {
    identity: newIdentity(record),
    life: { kind: "running" },
    use: { viewers: 0, lastAt: 0, firstPromptAt: null, ranBefore: origin === "found" },
    activity: initialActivity,
    prompts: noPrompts,
    transcript: unreadTranscript,
    agent: newAgentView(now),
    screen: newScreen(origin, now),
    hooks: { lastAt: now, any: false, taken: [] },
    restingSince: 0,
    turnsBefore: 0,
    unanswered: { permissions: [], until: 0 },
  };
}

/** What happened to a session. */
export type SessionMessage =
  /** A hook's line that counts for this session. */
  | {
      readonly kind: "reported";
      readonly event: HookEvent;
      readonly line: ReportedLine;
      /** How a standing rule has already answered this permission request. */
      readonly ruled?: "allow" | "deny";
    }
  /** A hook passed on our decision, or the dialog on the screen accepted it. */
  | { readonly kind: "answered"; readonly permissionId: string; readonly decision: "allow" | "deny" }
  /** The session has another transcript from now on. */
  | { readonly kind: "transcript_bound" }
  | { readonly kind: "transcript_read"; readonly summary: TranscriptSummary | null }
  /** The transcript was read because it has changed. */
  | {
      readonly kind: "transcript_changed";
      /** The text of the prompt that waits for its confirmation, when it is in the transcript now. */
      readonly promptTaken: string | null;
      /** The dialog on the screen, when a question is open. */
      readonly dialog: ScreenDialog | null;
    }
  /** `resumed`: all turns so far are before the next prompt; `working`: all turns except the running one. */
  | { readonly kind: "turns_counted"; readonly as: "resumed" | "working" }
  | { readonly kind: "looked"; readonly look: SessionLook }
  /** The last lines of a turn that has ended are now in the transcript. */
  | { readonly kind: "turn_written" }
  /** Everything that happened while no gateway ran has been read. */
  | { readonly kind: "caught_up"; readonly open: readonly FoundPrompt[] }
  | { readonly kind: "prompt"; readonly message: PromptMessage }
  | { readonly kind: "identity"; readonly message: IdentityMessage }
  /** A viewer attached to the terminal, or left. */
  | { readonly kind: "viewer"; readonly did: "attach" | "leave" }
  /** The session may have been idle for so long that its agent is ended. */
  | { readonly kind: "idle_checked"; readonly found: FoundAtRest; readonly idleTimeoutMs: number }
  /** The agent shows that it is in use after all. */
  | { readonly kind: "found_in_use" }
  | { readonly kind: "ended" };

/** A prompt of an earlier gateway, and the turn that it started since it was sent. */
export interface FoundPrompt {
  readonly prompt: OpenPrompt;
  readonly turn: number | null;
}

/** What was found when the agent was looked at. */
export interface SessionLook {
  /** Null if the screen could not show anything new. */
  readonly screen: ScreenLook | null;
  /** Whether the process uses the CPU, if that matters for the screen. */
  readonly computes: boolean;
  /** The agent's state file; null for an agent without one. */
  readonly file: ObservedState | null;
  /** Permissions whose hooks wait for a decision. */
  readonly held: readonly string[];
}

/** What a look at an agent at rest found. */
export interface FoundAtRest {
  /** The state that the agent itself reports; `none` if it reports no states. */
  readonly observed: ObservedState | "none" | "unknown";
  /** The text in the composer; null when it cannot be read. */
  readonly draft: string | null;
  /** Whether a process that the agent started after its first prompt still runs. */
  readonly runsTask: boolean;
  /** Whether the conversation can be resumed from its transcript. */
  readonly canResume: boolean;
}

/** The effects to carry out, in this order. */
export type SessionEffect =
  | PromptEffect
  /** The state changed. `at`: when the agent reported it, or null if Postern observed it. */
  | { readonly kind: "moved"; readonly at: number | null }
  /** A turn has ended: its last lines come into the transcript a moment later. */
  | { readonly kind: "turn_ended" }
  /** The screen has been empty for so long that the agent may hang; `certain` if no start takes this long. */
  | { readonly kind: "end_if_hung"; readonly certain: boolean }
  /** The last viewer left; the time is recorded. */
  | { readonly kind: "note_use"; readonly at: number }
  /** The agent is idle, and is ended now. */
  | { readonly kind: "retire" };

/** What the reducer knows about this kind of agent. */
export type SessionTemplate = Pick<
  AgentTemplate,
  "hasHooks" | "transcriptFormat" | "commandPrefixes" | "commandWords" | "readyBy" | "readTitle"
>;

// Hooks take precedence. The agent's state file and the transcript are read when hooks have been silent this long.
const hookSilenceMs = 1_500;
// An agent may write its timestamps in whole seconds.
const toleranceMs = 1_000;
// An agent's activity after a turn becomes visible within this time.
const afterTurnMs = 2_000;

/** The earliest time at which the agent may have accepted this prompt; epoch milliseconds. */
export function sentSince({ sentAt }: Pick<OpenPrompt, "sentAt">): number {
  return (sentAt ?? 0) - toleranceMs;
}

/** Whether no hook came for a while. */
export function hooksAreSilent({ hooks }: SessionState, now: number): boolean {
  return now - hooks.lastAt > hookSilenceMs;
}

/** Whether the agent reported at that time or later that it accepted this prompt, or any prompt if `text` is null. */
export function tookSince({ taken }: HooksView, text: string | null, since: number): boolean {
  return taken.some((prompt) => prompt.at >= since && (text === null || samePrompt(text, prompt.text)));
}

/** Whether a prompt may be sent: the agent is at rest. */
export function maySend({ life, activity }: Pick<SessionState, "life" | "activity">): boolean {
  return life.kind === "running" && isResting(activity);
}

/** Whether something may have happened that nothing reports. */
export function needsLook(state: SessionState, now: number): boolean {
  const { activity, prompts, agent, screen, unanswered } = state;
  if (!isResting(activity) || now - state.restingSince < afterTurnMs || !agent.agrees) return true;
  if (now < unanswered.until || activity.inBackground || activity.activity === "limited") return true;
  return isUnsettled(prompts) || prompts.waiting.length > 0 || !screen.sawComposer;
}

/** Whether the screen may show something new. */
export function needsScreen(state: SessionState, template: Pick<SessionTemplate, "readTitle">, now: number): boolean {
  const { activity, screen, unanswered } = state;
  if (template.readTitle !== undefined || activity.permissions.length > 0 || now < unanswered.until) return true;
  return screenMatters(screen, activity, isPending(state));
}

/** Whether the fate of a prompt is still open. */
export function isUnsettled({ sent, received }: PromptsState): boolean {
  return sent !== null || received.length > 0;
}

/** Whether a prompt waits for the composer or for its confirmation. */
export function isPending({ prompts }: SessionState): boolean {
  return prompts.sent !== null || prompts.waiting.length > 0;
}

/** Whether the transcript must be searched for the prompt that waits for its confirmation. */
export function seeksPrompt(
  state: SessionState,
  { hasHooks }: Pick<SessionTemplate, "hasHooks">,
  now: number,
): boolean {
  return state.prompts.sent !== null && (!hasHooks || hooksAreSilent(state, now)) && hasNewTurn(state.transcript);
}
