import type { TranscriptSummary } from "../transcripts/index.ts";
import { type ActivityState, isResting, type Observation } from "./activity.ts";

/** What a live session knows about its transcript. The turns before the next prompt are counted, so that the end of an old turn is never mistaken for the end of a new one. */
export interface TranscriptView {
  /** As it was last read; null before that. */
  readonly summary: TranscriptSummary | null;
  /** How many turns it had while the agent was last idle. */
  readonly turnsWhenIdle: number;
  /** While the agent is idle: whether the file shows that too. */
  readonly settled: boolean;
  /** Whether the file has shown a running turn since the agent was last idle. */
  readonly sawOpen: boolean;
  /** When the agent accepted the newest prompt, according to its hook; epoch milliseconds. */
  readonly promptAt: number;
}

/** The view of a transcript that has not been read yet. */
export const unreadTranscript: TranscriptView = {
  summary: null,
  turnsWhenIdle: 0,
  settled: false,
  sawOpen: false,
  promptAt: 0,
};

// An event can be later than its timestamp by this much if the timestamp has no milliseconds.
const wholeSecondMs = 999;

/** The transcript was read. */
export function withSummary(view: TranscriptView, summary: TranscriptSummary | null): TranscriptView {
  const next = { ...view, summary };
  return hasBegun(next) ? { ...next, sawOpen: true } : next;
}

/** The agent is idle: all turns in the transcript are before the next prompt. */
export function markIdle(view: TranscriptView): TranscriptView {
  const { summary } = view;
  if (summary === null || summary.lastTurn.kind === "open") return view;
  return { ...view, turnsWhenIdle: summary.turnCount, settled: true, sawOpen: false };
}

/** A process continues this file: all its turns, finished or not, are before the next prompt. */
export function markResumed(view: TranscriptView): TranscriptView {
  return { ...view, turnsWhenIdle: turnCountOf(view) };
}

/** A process was found in mid-turn: at most the last two turns began after it was idle. */
export function markWorking(view: TranscriptView): TranscriptView {
  return { ...view, turnsWhenIdle: Math.max(0, turnCountOf(view) - 2) };
}

/** Whether a prompt was written since the agent was idle. */
export function hasNewTurn(view: TranscriptView): boolean {
  return turnCountOf(view) > view.turnsWhenIdle;
}

/** Whether a turn of a prompt or a command began after the file showed that the agent is idle. */
function hasBegun({ settled, summary }: TranscriptView): boolean {
  return settled && summary?.lastTurn.kind === "open";
}

/**
 * Whether a turn that began after the agent was idle has a mark of its end. `silent` means that no hook has reported for a while: lines
 * after the newest prompt then belong to its turn, although the file was read before the prompt's hook.
 */
export function newTurnIsOver(view: TranscriptView, silent: boolean): boolean {
  const begun = hasNewTurn(view) || view.sawOpen || (silent && isNewerThanPrompt(view));
  return begun && view.summary?.lastTurn.kind !== "open" && !isOlderThanPrompt(view);
}

function isNewerThanPrompt({ summary, promptAt }: TranscriptView): boolean {
  return promptAt > 0 && Date.parse(summary?.updatedAt ?? "") > promptAt;
}

/** Whether everything in the file is older than the newest prompt. Hooks may be faster than the file, so the end in the file is the previous turn's. */
function isOlderThanPrompt({ summary, promptAt }: TranscriptView): boolean {
  const written = Date.parse(summary?.updatedAt ?? "");
  return written + (written % 1_000 === 0 ? wholeSecondMs : 0) < promptAt;
}

function turnCountOf({ summary }: TranscriptView): number {
  return summary?.turnCount ?? 0;
}

/** What else is known at the time when the transcript changes. */
export interface TranscriptContext {
  readonly activity: ActivityState;
  readonly hasHooks: boolean;
  /** Whether the agent's state file reports: it is more reliable than the transcript about whether a turn runs. */
  readonly stateReports: boolean;
  /** Whether no hook has come for a while. */
  readonly silent: boolean;
  /** Whether a prompt was sent and not confirmed. */
  readonly awaitsPrompt: boolean;
  /** That prompt, when it is in the transcript. */
  readonly promptTaken: string | null;
}

/**
 * The information that only the transcript has: that a turn began or ended, and how. Always looks for a prompt of ours that no hook
 * confirmed. Pure.
 */
export function transcriptChanges(view: TranscriptView, context: TranscriptContext): readonly Observation[] {
  const { activity, hasHooks, stateReports } = context;
  const lastTurn = view.summary?.lastTurn ?? { kind: "none" };
  const working = activity.activity === "working" || activity.permissions.length > 0;
  const typedByOthers = !context.awaitsPrompt && !hasHooks && !working && hasNewTurn(view) && lastTurn.kind === "open";
  const seen: readonly Observation[] =
    context.promptTaken !== null || typedByOthers ? [{ kind: "prompt_seen", prompt: context.promptTaken }] : [];
  if (seen.length === 0 && !stateReports && !context.awaitsPrompt && isResting(activity) && hasBegun(view)) {
    return [{ kind: "turn_seen" }];
  }
  const runs = seen.length > 0 || (activity.started && !isResting(activity));
  if (!runs || stateReports || !newTurnIsOver(view, context.silent)) return seen;
  if (lastTurn.kind !== "failed") return [...seen, { kind: "turn_over" }];
  const { message, needs } = lastTurn;
  return [...seen, needs === undefined ? { kind: "turn_failed", message } : { kind: "turn_failed", message, needs }];
}
