import type { OutboxPrompt, PromptMessage, PromptProgress, PromptsState } from "./prompts.ts";

type QueueChange = Extract<PromptMessage, { kind: "edited" | "moved" | "cancelled" }>;

/** The prompts after a caller changed those that wait. The store has the change already. Pure. */
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

/** Prompts without a place, such as one that was added meanwhile, come last. */
function inOrder(waiting: readonly OutboxPrompt[], promptIds: readonly string[]): readonly OutboxPrompt[] {
  const places = new Map(promptIds.map((promptId, at) => [promptId, at]));
  const placeOf = ({ promptId }: OutboxPrompt): number => places.get(promptId) ?? promptIds.length;
  return waiting.toSorted((left, right) => placeOf(left) - placeOf(right));
}

/** The prompts that wait for their turn, in order: without one that is on its way for the first time. */
export function waitingIds({ waiting, sending, returned }: PromptsState): readonly string[] {
  const underWay = sending?.prompt.promptId;
  return waiting.map(({ promptId }) => promptId).filter((id) => id !== underWay || id === returned);
}
