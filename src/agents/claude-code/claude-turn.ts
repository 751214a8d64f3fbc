import type { TurnBuilder, TurnMark } from "../../transcripts/index.ts";
import {
  claudeImages,
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
  toolInput,
  toolResult,
} from "../../transcripts/index.ts";
import type { Usage } from "../../wire/turn.ts";
import {
  claudeLineKind,
  claudeResultText,
  claudeToolResults,
  isClaudeAnswer,
  readClaudeQueued,
  readClaudeUser,
} from "./claude-lines.ts";

/** Puts a turn of Claude Code together. */
export function createClaudeTurnBuilder(mark: TurnMark): TurnBuilder {
  const draft = createTurnDraft();
  return mark.role === "user" ? userTurn(draft) : assistantTurn(draft);
}

function userTurn(draft: TurnDraft): TurnBuilder {
  return {
    line(bytes) {
      const line = parseLine(bytes);
      if (line === null) return false;
      const said = readClaudeUser(line);
      const text = said.kind === "prompt" || said.kind === "command" ? said.text : readClaudeQueued(line);
      if (text !== null) draft.add({ type: "text", text });
      draft.images = claudeImages(line);
      draft.touch(timeOf(line));
      return true;
    },
    turn: (index) => draft.build(index, "user", null),
  };
}

function assistantTurn(draft: TurnDraft): TurnBuilder {
  /** By message id: a message is several lines, and the last one knows best. */
  const usages = new Map<string, Usage>();
  const seenLines = new Set<string>();

  function assistant(line: Fields): void {
    if (!isClaudeAnswer(line)) return;
    const uuid = stringAt(line, "uuid");
    if (uuid !== null && seenLines.has(uuid)) return;
    if (uuid !== null) seenLines.add(uuid);
    const message = fieldsAt(line, "message");
    const model = stringAt(message, "model");
    draft.touch(timeOf(line));
    if (model !== null && model !== "<synthetic>") {
      draft.model = model;
      const usage = usageOf(fieldsAt(message, "usage"));
      if (usage !== null) usages.set(stringAt(message, "id") ?? uuid ?? String(usages.size), usage);
    }
    const content = message["content"];
    if (typeof content === "string" && content !== "") draft.add({ type: "text", text: content });
    for (const block of listAt(message, "content")) addBlock(draft, block);
  }

  return {
    line(bytes) {
      const kind = claudeLineKind(bytes);
      if (kind !== "assistant" && kind !== "tool_result" && kind !== "user") return true;
      const line = parseLine(bytes);
      if (line === null) return false;
      if (kind === "assistant") assistant(line);
      else if (line["isSidechain"] !== true) {
        const results = claudeToolResults(line);
        for (const { id, ok, text } of results) draft.resolve(id, toolResult(ok, text));
        if (results.some(({ id }) => draft.hasCall(id))) draft.touch(timeOf(line));
      }
      return true;
    },
    turn: (index) => draft.build(index, "assistant", sumOfUsages(usages.values())),
  };
}

function addBlock(draft: TurnDraft, block: Fields): void {
  const type = stringAt(block, "type") ?? "";
  if (type === "text" || type === "thinking") {
    const text = stringAt(block, type) ?? "";
    if (text !== "") draft.add({ type, text });
    return;
  }
  const id = stringAt(block, "id");
  if ((type === "tool_use" || type === "server_tool_use") && id !== null && !draft.hasCall(id)) {
    draft.putCall({ id, name: stringAt(block, "name") ?? "", input: toolInput(block["input"] ?? null), result: null });
    return;
  }
  const resultOf = stringAt(block, "tool_use_id");
  if (resultOf !== null && type.endsWith("tool_result")) {
    draft.resolve(resultOf, toolResult(block["is_error"] !== true, claudeResultText(block["content"])));
  }
}

function usageOf(usage: Fields): Usage | null {
  if (!("input_tokens" in usage) && !("output_tokens" in usage)) return null;
  return {
    inputTokens: countAt(usage, "input_tokens"),
    outputTokens: countAt(usage, "output_tokens"),
    cacheReadTokens: countAt(usage, "cache_read_input_tokens"),
  };
}
