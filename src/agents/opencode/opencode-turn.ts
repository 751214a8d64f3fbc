import type { TurnBuilder, TurnMark } from "../../transcripts/index.ts";
import {
  countAt,
  createTurnDraft,
  type Fields,
  fieldsAt,
  parseLine,
  stringAt,
  sumOfUsages,
  type TurnDraft,
  timeOf,
  toolInput,
  toolResult,
} from "../../transcripts/index.ts";
import type { Usage } from "../../wire/turn.ts";
import {
  openCodeId,
  openCodeInfo,
  openCodeLineKind,
  openCodeModel,
  openCodePart,
  openCodePrompt,
} from "./opencode-events.ts";

/** Puts a turn of OpenCode together. */
export function createOpenCodeTurnBuilder(mark: TurnMark): TurnBuilder {
  const draft = createTurnDraft();
  return mark.role === "user" ? userTurn(draft) : assistantTurn(draft);
}

function userTurn(draft: TurnDraft): TurnBuilder {
  return {
    line(bytes) {
      const line = parseLine(bytes);
      if (line === null) return false;
      const prompt = openCodePrompt(openCodePart(line));
      if (prompt !== null) draft.add({ type: "text", text: prompt });
      draft.touch(timeOf(line));
      return true;
    },
    turn: (index) => draft.build(index, "user", null),
  };
}

function assistantTurn(draft: TurnDraft): TurnBuilder {
  const usages = new Map<string, Usage>();
  /** Texts that are in the draft: each is told when it begins, empty, and when it has ended. */
  const told = new Set<string>();
  /** The answers of this turn; what is told of the next prompt before its text is not of it. */
  const answers = new Set<string>();

  function message(line: Fields): void {
    const info = openCodeInfo(line);
    if (info["role"] !== "assistant") return;
    answers.add(openCodeId(info));
    draft.touch(timeOf(line));
    draft.model = openCodeModel(info) ?? draft.model;
    const usage = usageOf(fieldsAt(info, "tokens"));
    if (usage !== null) usages.set(openCodeId(info), usage);
  }

  function part(line: Fields): void {
    const said = openCodePart(line);
    if (!answers.has(openCodeId(said, "messageID"))) return;
    draft.touch(timeOf(line));
    const id = openCodeId(said);
    const text = stringAt(said, "text") ?? "";
    const type = said["type"];
    if (type === "tool") return call(said);
    if ((type !== "text" && type !== "reasoning") || said["synthetic"] === true) return;
    if (text === "" || told.has(id)) return;
    told.add(id);
    draft.add({ type: type === "text" ? "text" : "thinking", text });
  }

  function call(said: Fields): void {
    const state = fieldsAt(said, "state");
    const status = stringAt(state, "status");
    const ended = status === "completed" || status === "error";
    const text = stringAt(state, status === "error" ? "error" : "output") ?? "";
    draft.putCall({
      id: openCodeId(said, "callID"),
      name: stringAt(said, "tool") ?? "",
      input: toolInput(state["input"] ?? null),
      result: ended ? toolResult(status === "completed", text) : null,
    });
  }

  return {
    line(bytes) {
      const kind = openCodeLineKind(bytes);
      if (kind !== "message" && kind !== "part") return true;
      const line = parseLine(bytes);
      if (line === null) return false;
      if (kind === "message") message(line);
      else part(line);
      return true;
    },
    turn: (index) => draft.build(index, "assistant", sumOfUsages(usages.values())),
  };
}

/** `inputTokens` without those of the cache, as OpenCode counts them. */
function usageOf(tokens: Fields): Usage | null {
  const usage = {
    inputTokens: countAt(tokens, "input"),
    outputTokens: countAt(tokens, "output") + countAt(tokens, "reasoning"),
    cacheReadTokens: countAt(fieldsAt(tokens, "cache"), "read"),
  };
  return usage.inputTokens + usage.outputTokens + usage.cacheReadTokens === 0 ? null : usage;
}
