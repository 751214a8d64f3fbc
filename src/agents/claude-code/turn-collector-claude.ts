import type { CollectorMemory, CollectorTurn } from "../../transcripts/index.ts";
import { createPeek, fieldsAt, listAt, parseLine, peekFirstElement, stringAt } from "../../transcripts/index.ts";
import { claudeLineKind, isClaudeAnswer, readClaudeQueued, readClaudeUser } from "./claude-lines.ts";

/** More lines of one turn than this are not known again; a repeated one is then found twice. */
const maxSeenLines = 10_000;
/** A command is a word and its arguments. */
const maxCommandCharacters = 4_000;

const peek = createPeek(["message", "content"]);
const textType = Buffer.from('"text"');

/** What a line of Claude Code says. */
export function readClaudeText(bytes: Buffer, memory: CollectorMemory, turn: CollectorTurn | null): void {
  const kind = claudeLineKind(bytes);
  if (kind === "user") readUser(bytes, memory, turn);
  else if (kind === "queued_prompt") readQueued(bytes, memory, turn);
  else if (kind === "assistant" && turn?.mark.role === "assistant") {
    if (turn.began > 1 && memory.command !== null) turn.sayBefore(memory.command);
    if (turn.begins) memory.command = null;
    if (mayHoldText(bytes)) readAnswer(bytes, memory, turn);
  }
}

function readUser(bytes: Buffer, memory: CollectorMemory, turn: CollectorTurn | null): void {
  const line = parseLine(bytes);
  if (line === null) return;
  const said = readClaudeUser(line);
  if (said.kind === "command") memory.command = said.text.slice(0, maxCommandCharacters);
  else if (said.kind === "prompt" && turn?.begins === true) turn.say(said.text);
}

function readQueued(bytes: Buffer, _memory: CollectorMemory, turn: CollectorTurn | null): void {
  const line = turn?.begins === true ? parseLine(bytes) : null;
  const text = line === null ? null : readClaudeQueued(line);
  if (text !== null) turn?.say(text);
}

function readAnswer(bytes: Buffer, { seenLines }: CollectorMemory, turn: CollectorTurn): void {
  const line = parseLine(bytes);
  if (line === null || !isClaudeAnswer(line)) return;
  const uuid = stringAt(line, "uuid");
  if (uuid !== null && seenLines.has(uuid)) return;
  if (uuid !== null && seenLines.size < maxSeenLines) seenLines.add(uuid);
  const message = fieldsAt(line, "message");
  const { content } = message;
  if (typeof content === "string") turn.say(content);
  for (const block of listAt(message, "content")) {
    if (block["type"] === "text") turn.say(stringAt(block, "text") ?? "");
  }
}

/** Whether the content is a string, or may have a block of text: thinking and calls are most lines, and are not parsed. */
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
