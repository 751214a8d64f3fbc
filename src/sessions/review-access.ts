import { hasCode } from "../core/errors.ts";
import type { Caller } from "../wire/caller.ts";
import type { AskInput, AskOutput, OnDraft } from "../wire/coding.ts";
import { isResting } from "./activity.ts";
import type { SessionLocator } from "./locate.ts";
import type { PromptQueue } from "./prompt-queue.ts";
import { refuseOutsideMentions } from "./prompt-text.ts";

/** What reviews need from sessions and their prompts. */
export interface ReviewAccess {
  /** @throws PosternError `session_not_found` */
  find(sessionId: string, caller: Caller): Promise<{ readonly agent: string; readonly sessionId: string }>;
  /** Works like `coding_ask`, in the session's own directory and mode. @param key identifies the prompt for {@link ReviewAccess.fateOf} */
  ask(
    prompt: {
      readonly sessionId: string;
      readonly text: string;
      readonly key: string;
      readonly onDraft: OnDraft | undefined;
    },
    caller: Caller,
  ): Promise<{ readonly deliveryState: AskOutput["deliveryState"] }>;
  /** What became of that prompt: `none` if the gateway does not know it. */
  fateOf(
    prompt: { readonly sessionId: string; readonly key: string },
    caller: Caller,
  ): Promise<"none" | "running" | "ended" | "lost">;
  /** Whether an agent that reads mentions would read files outside its directory because of this text. */
  mentionsOutside(sessionId: string, text: string, caller: Caller): Promise<boolean>;
}

/** A prompt is accepted within 15 s after the agent has started; the start has its own limit. It is sent even if its caller disconnects. */
const askMs = 180_000;

/** @see ReviewAccess */
export function createReviewAccess(deps: {
  readonly locator: SessionLocator;
  readonly queue: Pick<PromptQueue, "remembered" | "stateOf">;
  readonly ask: (input: AskInput, caller: Caller, signal: AbortSignal) => Promise<AskOutput>;
  /** The state folder. */
  readonly home: string;
}): ReviewAccess {
  const { locator, queue } = deps;
  return {
    async find(sessionId, caller) {
      const { record } = await locator.locate(sessionId, caller);
      return { agent: record.agent, sessionId: record.sessionId };
    },

    async ask({ sessionId, text, key, onDraft }, caller) {
      const { record, live } = await locator.locate(sessionId, caller);
      const { dir, permissionMode } = record;
      // A stopped session is resumed in its own mode.
      const mode = live === null && caller.scopes.has("coding:drive") ? { permissionMode } : {};
      const input = { sessionId, dir, prompt: text, idempotencyKey: key, ...(onDraft && { onDraft }), ...mode };
      return deps.ask(input, caller, AbortSignal.timeout(askMs));
    },

    async fateOf({ sessionId, key }, caller) {
      const { live } = await locator.locate(sessionId, caller);
      const remembered = await queue.remembered(caller.accountId, key);
      if (remembered === null) return "none";
      const progress = live?.outbox.progressOf(remembered.promptId) ?? null;
      const state = progress?.state ?? (await queue.stateOf(remembered.promptId)) ?? "delivered";
      if (state === "lost") return "lost";
      if (progress !== null) return progress.turnOver ? "ended" : "running";
      if (state === "queued") return "running";
      // Sent by an earlier gateway, or to a process that has ended.
      return live === null || isResting(live.state) ? "ended" : "running";
    },

    async mentionsOutside(sessionId, text, caller) {
      const { template, record } = await locator.locate(sessionId, caller);
      if (!template.readsMentions) return false;
      try {
        await refuseOutsideMentions(text, { dir: record.dir, stateDir: deps.home });
        return false;
      } catch (error) {
        if (hasCode(error, "prompt_not_text")) return true;
        throw error;
      }
    },
  };
}
