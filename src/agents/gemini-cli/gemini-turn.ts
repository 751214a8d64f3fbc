import type { TurnBuilder, TurnMark } from "../../transcripts/index.ts";
import {
  countAt,
  createTurnDraft,
  type Fields,
  fieldsAt,
  geminiImages,
  listAt,
  parseLine,
  stringAt,
  sumOfUsages,
  type TurnDraft,
  timeOf,
  toolInput,
  toolResult,
} from "../../transcripts/index.ts";
import type { Usage } from "../../wire/turn.ts";
import { geminiCalls, geminiId, geminiLineKind, geminiText, isGeminiAnswer, readGeminiUser } from "./gemini-lines.ts";

/** Puts a turn of Gemini CLI together. */
export function createGeminiTurnBuilder(mark: TurnMark): TurnBuilder {
  const draft = createTurnDraft();
  return mark.role === "user" ? userTurn(draft) : assistantTurn(draft);
}

function userTurn(draft: TurnDraft): TurnBuilder {
  return {
    line(bytes) {
      const line = parseLine(bytes);
      if (line === null) return false;
      const said = readGeminiUser(line);
      if (said.kind === "prompt") draft.add({ type: "text", text: said.text });
      draft.images = geminiImages(line);
      draft.touch(timeOf(line));
      return true;
    },
    turn: (index) => draft.build(index, "user", null),
  };
}

function assistantTurn(draft: TurnDraft): TurnBuilder {
  const usages = new Map<string, Usage>();
  /** The newest answer: it is written once more when its calls have ended. */
  let newest: string | null = null;

  function answer(line: Fields): void {
    const id = geminiId(line);
    draft.touch(timeOf(line));
    draft.model = stringAt(line, "model") ?? draft.model;
    const usage = usageOf(fieldsAt(line, "tokens"));
    if (usage !== null) usages.set(id, usage);
    if (newest !== id) {
      newest = id;
      for (const thought of listAt(line, "thoughts")) {
        const text = [stringAt(thought, "subject"), stringAt(thought, "description")].filter(Boolean).join("\n");
        if (text !== "") draft.add({ type: "thinking", text });
      }
      const text = geminiText(line["content"]);
      if (text !== "") draft.add({ type: "text", text });
    }
    for (const { id: callId, name, input, result } of geminiCalls(line)) {
      const shown = result === null ? null : toolResult(result.ok, result.text);
      draft.putCall({ id: callId, name, input: toolInput(input), result: shown });
    }
    for (const call of listAt(line, "toolCalls")) draft.touch(timeOf(call));
  }

  return {
    line(bytes) {
      if (geminiLineKind(bytes) !== "answer") return true;
      const line = parseLine(bytes);
      if (line === null) return false;
      if (isGeminiAnswer(line)) answer(line);
      return true;
    },
    turn: (index) => draft.build(index, "assistant", sumOfUsages(usages.values())),
  };
}

/** `inputTokens` as Gemini counts it, cached ones included. */
function usageOf(tokens: Fields): Usage | null {
  if (!("input" in tokens) && !("output" in tokens)) return null;
  return {
    inputTokens: countAt(tokens, "input"),
    outputTokens: countAt(tokens, "output") + countAt(tokens, "thoughts"),
    cacheReadTokens: countAt(tokens, "cached"),
  };
}
