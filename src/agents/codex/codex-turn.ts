import type { TurnBuilder, TurnMark } from "../../transcripts/index.ts";
import {
  codexImages,
  countAt,
  createTurnDraft,
  type Fields,
  fieldsAt,
  listAt,
  parseLine,
  stringAt,
  sumOfUsages,
  type TurnDraft,
  timeOf,
} from "../../transcripts/index.ts";
import type { Block, Usage } from "../../wire/turn.ts";
import {
  type CodexForm,
  codexFormRank,
  codexLineKind,
  codexPayload,
  codexPromptText,
  codexTotalTokens,
  contentText,
  isOfOtherThread,
  isUsersOwnAction,
} from "./codex-lines.ts";
import { createScripts, shownCall, shownResult } from "./codex-scripts.ts";
import { codexAction, codexCall, codexResult } from "./codex-tools.ts";

/** Puts a turn of Codex together. */
export function createCodexTurnBuilder(mark: TurnMark): TurnBuilder {
  const draft = createTurnDraft();
  if (mark.role === "user") return userTurn(draft);
  draft.model = mark.before?.model ?? null;
  return assistantTurn(draft, mark);
}

function userTurn(draft: TurnDraft): TurnBuilder {
  return {
    line(bytes) {
      const line = parseLine(bytes);
      if (line === null) return false;
      const payload = codexPayload(line);
      const text = codexPromptText(payload);
      draft.images = codexImages(payload);
      if (text !== null) draft.add({ type: "text", text });
      draft.touch(timeOf(line));
      return true;
    },
    turn: (index) => draft.build(index, "user", null),
  };
}

function assistantTurn(draft: TurnDraft, mark: TurnMark): TurnBuilder {
  const usage = createUsageCount(mark.before?.totalTokens ?? null);
  const scripts = createScripts();
  const shownAsCommands = new Set<string>();
  /** The newest form of an answer in this turn: what older forms tell is the same once more. */
  let form: CodexForm = mark.before?.form ?? "responses";
  let unnamedCalls = 0;
  /** Whose lines count; the file may tell it only after its first answer. */
  let agentSessionId = mark.before?.agentSessionId ?? null;

  function answer(payload: Fields, of: CodexForm): void {
    if (codexFormRank[of] < codexFormRank[form]) return;
    if (of !== form) draft.dropTexts();
    form = of;
    const block = answerBlock(payload);
    if (block.text !== "") draft.add(block);
  }

  function call(payload: Fields): void {
    const told = codexCall(payload, `call-${unnamedCalls}`);
    if (told.id === `call-${unnamedCalls}`) unnamedCalls++;
    if (draft.hasCall(told.id)) return;
    const shown = shownCall(told);
    if (shown !== told) shownAsCommands.add(told.id);
    draft.putCall(shown);
    scripts.called(told);
  }

  function action(payload: Fields): void {
    const told = codexAction(fieldsAt(payload, "item"));
    if (told === null) return;
    if (!draft.hasCall(told.id)) scripts.didAction(told);
    draft.putCall(told);
  }

  function result(payload: Fields): void {
    const told = codexResult(payload);
    if (told === null) return;
    if (scripts.ended(told.id, told.result)) draft.dropCall(told.id);
    else draft.resolve(told.id, shownAsCommands.has(told.id) ? shownResult(told.result) : told.result);
  }

  return {
    line(bytes) {
      const line = codexLineKind(bytes);
      if (line.kind === "prompt" || line.kind === "other" || line.kind === "started") return true;
      if (line.kind === "context" || line.kind === "unreadable") return true;
      if (line.kind === "meta" && agentSessionId !== null) return true;
      const parsed = parseLine(bytes);
      if (parsed === null) return false;
      const payload = codexPayload(parsed);
      if (line.kind === "meta") {
        agentSessionId = stringAt(payload, "id");
        return true;
      }
      if (isOfOtherThread(payload, agentSessionId) || isUsersOwnAction(payload)) return true;
      if (line.kind === "usage") usage.add(payload);
      else {
        draft.touch(timeOf(parsed));
        if (line.kind === "answer" || line.kind === "thinking") answer(payload, line.form);
        else if (line.kind === "call") call(payload);
        else if (line.kind === "action") action(payload);
        else if (line.kind === "result") result(payload);
        else if (line.kind === "plan") addText(draft, stringAt(fieldsAt(payload, "item"), "text"));
      }
      return true;
    },
    turn: (index) => draft.build(index, "assistant", usage.total()),
  };
}

function addText(draft: TurnDraft, text: string | null): void {
  if (text !== null && text !== "") draft.add({ type: "text", text });
}

/** The text or thinking of an answer line of any form. */
function answerBlock(payload: Fields): Extract<Block, { readonly text: string }> {
  const item = fieldsAt(payload, "item");
  const type = stringAt(item, "type") ?? stringAt(payload, "type");
  switch (type) {
    case "AgentMessage":
      return { type: "text", text: contentText(item) };
    case "Reasoning":
      return { type: "thinking", text: stringsAt(item, "summary_text") || stringsAt(item, "raw_content") };
    case "agent_message":
      return { type: "text", text: stringAt(payload, "message") ?? "" };
    case "agent_reasoning":
    case "agent_reasoning_raw_content":
      return { type: "thinking", text: stringAt(payload, "text") ?? "" };
    case "reasoning":
      return { type: "thinking", text: textsAt(payload, "summary") || textsAt(payload, "content") };
    default:
      return { type: "text", text: contentText(payload) };
  }
}

function stringsAt(from: Fields, key: string): string {
  const value = from[key];
  return Array.isArray(value) ? value.filter((part) => typeof part === "string").join("\n\n") : "";
}

function textsAt(from: Fields, key: string): string {
  return listAt(from, key)
    .map((part) => stringAt(part, "text") ?? "")
    .filter((text) => text !== "")
    .join("\n\n");
}

/**
 * Counts each answer of the model once: by response id where the file tells it, else by the growth of the session's total, because
 * a `token_count` comes again when only the rate limits changed.
 */
function createUsageCount(totalBefore: number | null): { add(payload: Fields): void; total(): Usage | null } {
  const byResponse = new Map<string, Usage>();
  const counted: Usage[] = [];
  let lastTotal = totalBefore;
  return {
    add(payload) {
      const response = stringAt(payload, "response_id");
      if (response !== null) {
        byResponse.set(response, usageOf(fieldsAt(payload, "usage")));
        return;
      }
      const info = fieldsAt(payload, "info");
      const total = codexTotalTokens(payload);
      if (!("last_token_usage" in info) || (total !== null && total === lastTotal)) return;
      lastTotal = total;
      counted.push(usageOf(fieldsAt(info, "last_token_usage")));
    },
    total: () => sumOfUsages(byResponse.size > 0 ? byResponse.values() : counted),
  };
}

/** `inputTokens` as Codex counts it, cached ones included. */
function usageOf(usage: Fields): Usage {
  return {
    inputTokens: countAt(usage, "input_tokens"),
    outputTokens: countAt(usage, "output_tokens"),
    cacheReadTokens: countAt(usage, "cached_input_tokens"),
  };
}
