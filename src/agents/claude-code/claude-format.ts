import {
  type CollectorMemory,
  type CollectorTurn,
  countAt,
  createFormat,
  createPeek,
  type Fields,
  fieldsAt,
  listAt,
  parseLine,
  peekFirstElement,
  readLine,
  stringAt,
  type TurnDraft,
  timeOf,
  toolInput,
  toolResult,
} from "../../transcripts/index.ts";
import type { Usage } from "../../wire/turn.ts";
import { createClaudeIndexer } from "./claude-index.ts";
import {
  claudeLineKind,
  claudePictures,
  claudeResultText,
  claudeToolResults,
  isClaudeAnswer,
  readClaudeQueued,
  readClaudeUser,
} from "./claude-lines.ts";

/** Reads `<config>/projects/<folder>/<id>.jsonl` of Claude Code 1.0 to 2.1. */
export const claudeFormat = createFormat({
  createIndexer: createClaudeIndexer,
  promptOf(line) {
    const said = readClaudeUser(line);
    return said.kind === "prompt" || said.kind === "command" ? said.text : readClaudeQueued(line);
  },
  picturesOf: (line) =>
    // Images from a message's content, or from a queued prompt.
    claudePictures([
      ...listAt(fieldsAt(line, "message"), "content"),
      ...listAt(fieldsAt(line, "attachment"), "prompt"),
    ]),
  createAnswer,
  readAnswerText,
});

function createAnswer(draft: TurnDraft): (bytes: Buffer) => boolean {
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
      // Counted once for each message id: a message has several lines, and the last line has the final count.
      if (usage !== null) draft.usages.set(stringAt(message, "id") ?? uuid ?? String(draft.usages.size), usage);
    }
    draft.addText(stringAt(message, "content"));
    for (const block of listAt(message, "content")) addBlock(draft, block);
  }

  function results(line: Fields): void {
    if (line["isSidechain"] === true) return;
    const all = claudeToolResults(line);
    for (const { id, ok, text, pictures } of all) {
      draft.resolve(id, toolResult(ok, text));
      draft.addPictures(id, pictures);
    }
    if (all.some(({ id }) => draft.hasCall(id))) draft.touch(timeOf(line));
  }

  return (bytes) => {
    const kind = claudeLineKind(bytes);
    if (kind !== "assistant" && kind !== "tool_result" && kind !== "user") return true;
    return readLine(bytes, kind === "assistant" ? assistant : results);
  };
}

function addBlock(draft: TurnDraft, block: Fields): void {
  const type = stringAt(block, "type") ?? "";
  if (type === "text" || type === "thinking") return draft.addText(stringAt(block, type), type);
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

/** Beyond this number, a line that repeats in a turn is collected twice. */
const maxSeenLines = 10_000;
const maxCommandCharacters = 4_000;

function readAnswerText(bytes: Buffer, memory: CollectorMemory, turn: CollectorTurn | null): void {
  const kind = claudeLineKind(bytes);
  if (kind === "user") {
    readLine(bytes, (line) => {
      const said = readClaudeUser(line);
      if (said.kind === "command") memory.command = said.text.slice(0, maxCommandCharacters);
    });
  } else if (kind === "assistant" && turn?.mark.role === "assistant") {
    if (turn.began > 1 && memory.command !== null) turn.sayBefore(memory.command);
    if (turn.begins) memory.command = null;
    if (mayHoldText(bytes)) sayAnswer(bytes, memory, turn);
  }
}

function sayAnswer(bytes: Buffer, { seenLines }: CollectorMemory, turn: CollectorTurn): void {
  const line = parseLine(bytes);
  if (line === null || !isClaudeAnswer(line)) return;
  const uuid = stringAt(line, "uuid");
  if (uuid !== null && seenLines.has(uuid)) return;
  if (uuid !== null && seenLines.size < maxSeenLines) seenLines.add(uuid);
  const message = fieldsAt(line, "message");
  turn.say(stringAt(message, "content") ?? "");
  for (const block of listAt(message, "content")) {
    if (block["type"] === "text") turn.say(stringAt(block, "text") ?? "");
  }
}

const peek = createPeek(["message", "content"]);
const textType = Buffer.from('"text"');

/** Whether the content may hold text. Most lines hold only thinking and calls, and are not parsed. */
function mayHoldText(bytes: Buffer): boolean {
  let may = true;
  peek.members(bytes, 0, (key, message) => {
    if (key !== "message") return "go_on";
    peek.members(bytes, message, (name, content) => {
      if (name !== "content") return "go_on";
      if (peekFirstElement(bytes, content) >= 0) may = bytes.includes(textType, content);
      return "stop";
    });
    return "stop";
  });
  return may;
}
