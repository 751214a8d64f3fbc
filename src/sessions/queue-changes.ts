import type { OutboxPrompt, PromptMessage, PromptProgress, PromptsState } from "./prompts.ts";

type QueueChange = Extract<PromptMessage, { kind: "edited" | "moved" | "cancelled" }>;

/** The state of the prompts after a caller changed waiting prompts. The change is already stored. Pure. */
export function queueChanged(state: PromptsState, change: QueueChange): PromptsState {
  switch (change.kind) {
    case "edited": {
      const { prompt } = change;
      const waiting = state.waiting.map((other) => (other.promptId === prompt.promptId ? prompt : other));
      return { ...state, waiting, edits: state.edits + 1 };
    }
    case "moved":
      return { ...state, waiting: inOrder(state.waiting, change.promptIds) };
    case "cancelled": {
      const { promptId } = change;
      const before = state.progress.get(promptId);
      const lost: PromptProgress = { turnsBefore: before?.turnsBefore ?? 0, state: "lost", turnOver: true };
      return {
        ...state,
        waiting: state.waiting.filter((other) => other.promptId !== promptId),
        progress: new Map(state.progress).set(promptId, lost),
      };
    }
  }
}

/** Prompts without a position, such as one that was just added, come last. */
function inOrder(waiting: readonly OutboxPrompt[], promptIds: readonly string[]): readonly OutboxPrompt[] {
  const places = new Map(promptIds.map((promptId, at) => [promptId, at]));
  const placeOf = ({ promptId }: OutboxPrompt): number => places.get(promptId) ?? promptIds.length;
  return waiting.toSorted((left, right) => placeOf(left) - placeOf(right));
}

/** The waiting prompts, in order, without one that is being sent for the first time. */
export function waitingIds({ waiting, sending, returned }: PromptsState): readonly string[] {
  const underWay = sending?.prompt.promptId;
  return waiting.map(({ promptId }) => promptId).filter((id) => id !== underWay || id === returned);
}
