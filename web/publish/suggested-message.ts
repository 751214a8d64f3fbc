import { useEffect, useRef } from "react";
import { askOutputSchema, readOutputSchema, type SessionSummary } from "../../src/wire/coding.ts";
import type { Turn } from "../../src/wire/turn.ts";
import { acting, reading } from "../api/client.ts";
import { useAct } from "../api/query.ts";
import { isLive } from "../ui/session-state.ts";

const prompt =
  "Suggest a commit message for the staged changes. Answer with the message only, in one code block. Do not change anything.";
/** Shorter than proxies usually allow for a response. */
const waitMs = 20_000;
/** An agent that takes longer is doing something else. Its answer is then only in the conversation. */
const longestMs = 300_000;

/** Whether the agent can be asked immediately, without a prompt that waits in the queue. */
export function canSuggest(summary: SessionSummary): boolean {
  const { owner, activity, queuedPrompts } = summary;
  return isLive(summary) && owner !== "external" && activity === "idle" && queuedPrompts === 0;
}

/** Asks the session's agent for a commit message. Ends when the component does. */
export function useSuggestedMessage({ sessionId, dir }: Pick<SessionSummary, "sessionId" | "dir">) {
  const open = useRef(new AbortController());
  useEffect(() => {
    const controller = new AbortController();
    open.current = controller;
    return () => controller.abort();
  }, []);
  return useAct({
    mutationFn: async () => {
      const signal = AbortSignal.any([open.current.signal, AbortSignal.timeout(longestMs)]);
      const read = { signal, output: readOutputSchema };
      let { nextAfter } = await reading.codingReadSession({ sessionId, last: 1, blocks: false }, read);
      let { activity } = await acting.codingAsk({ sessionId, dir, prompt }, { signal, output: askOutputSchema });
      const turns = new Map<number, Turn>();
      for (;;) {
        const input = { sessionId, after: nextAfter, waitMs, activity, blocks: false };
        const answer = await reading.codingReadSession(input, read).catch((error: unknown) => {
          throw signal.aborted ? new Error("The agent did not answer in time. See the conversation.") : error;
        });
        for (const turn of answer.turns) turns.set(turn.index, turn);
        ({ nextAfter, activity } = answer);
        if (activity === "working" || activity === "starting") continue;
        if (activity !== "idle") throw new Error("The agent cannot answer now. See the conversation.");
        if (answer.turnFailure !== null) throw new Error(`The agent did not answer: ${answer.turnFailure}`);
        const suggested = suggestionIn([...turns.values()]);
        if (suggested !== null) return suggested;
      }
    },
  });
}

/** The message in the answer to the prompt: the first code block, or the whole text. Null while there is no answer. */
export function suggestionIn(turns: readonly Pick<Turn, "role" | "index" | "text" | "interrupted">[]): string | null {
  const sorted = turns.toSorted((a, b) => a.index - b.index);
  const asked = sorted.findLastIndex(({ role, text }) => role === "user" && text.trim() === prompt);
  const answer = sorted[asked + 1];
  if (asked === -1 || answer === undefined || answer.role !== "assistant") return null;
  if (answer.interrupted === true) throw new Error("The agent was interrupted.");
  const [, , block] = /^ {0,3}(`{3,}|~{3,})[^\n]*\n([\s\S]*?)^ {0,3}\1/m.exec(answer.text) ?? [];
  const text = (block ?? answer.text).trim();
  return text === "" ? null : text;
}
