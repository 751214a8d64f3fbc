import {
  countAt,
  createFormat,
  type Fields,
  fieldsAt,
  isFields,
  listAt,
  parseLine,
  readLine,
  stringAt,
  type TurnDraft,
  timeOf,
  toolInput,
  toolResult,
} from "../../transcripts/index.ts";
import type { Usage } from "../../wire/turn.ts";
import { createGeminiIndexer } from "./gemini-index.ts";
import { geminiCalls, geminiId, geminiLineKind, geminiText, isGeminiAnswer, readGeminiUser } from "./gemini-lines.ts";

/** Reads `<home>/.gemini/tmp/<project>/chats/session-<time>-<id's first 8>.jsonl` as Gemini CLI 0.61 writes it. */
export const geminiFormat = createFormat({
  createIndexer: createGeminiIndexer,
  promptOf(line) {
    const said = readGeminiUser(line);
    return said.kind === "prompt" ? said.text : null;
  },
  picturesOf: ({ content }) =>
    (Array.isArray(content) ? content : [content])
      .filter(isFields)
      .map((part) => stringAt(fieldsAt(part, "inlineData"), "data")),
  createAnswer,
  /** `command` holds the newest answer: it is written again when its calls have ended. */
  readAnswerText(bytes, memory, turn) {
    if (turn?.mark.role !== "assistant" || geminiLineKind(bytes) !== "answer") return;
    const line = parseLine(bytes);
    if (line === null || !isGeminiAnswer(line)) return;
    const id = geminiId(line);
    if (memory.command === id && !turn.begins) return;
    memory.command = id;
    turn.say(geminiText(line["content"]));
  },
  // A resume leaves a file of the same session behind that never gets a turn (measured).
  isPart: () => true,
  sessionOnceTurn: true,
});

function createAnswer(draft: TurnDraft): (bytes: Buffer) => boolean {
  /** The newest answer: it is written once more when its calls have ended. */
  let newest: string | null = null;

  function answer(line: Fields): void {
    if (!isGeminiAnswer(line)) return;
    const id = geminiId(line);
    draft.touch(timeOf(line));
    draft.model = stringAt(line, "model") ?? draft.model;
    const usage = usageOf(fieldsAt(line, "tokens"));
    if (usage !== null) draft.usages.set(id, usage);
    if (newest !== id) {
      newest = id;
      for (const thought of listAt(line, "thoughts")) {
        const text = [stringAt(thought, "subject"), stringAt(thought, "description")].filter(Boolean).join("\n");
        draft.addText(text, "thinking");
      }
      draft.addText(geminiText(line["content"]));
    }
    for (const { id: callId, name, input, result } of geminiCalls(line)) {
      const shown = result === null ? null : toolResult(result.ok, result.text);
      draft.putCall({ id: callId, name, input: toolInput(input), result: shown });
    }
    for (const call of listAt(line, "toolCalls")) draft.touch(timeOf(call));
  }

  return (bytes) => geminiLineKind(bytes) !== "answer" || readLine(bytes, answer);
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
