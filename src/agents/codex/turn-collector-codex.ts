import type { CollectorMemory, CollectorTurn } from "../../transcripts/index.ts";
import { type Fields, fieldsAt, parseLine, stringAt } from "../../transcripts/index.ts";
import {
  codexFormRank,
  codexLineKind,
  codexPayload,
  codexPromptText,
  contentText,
  isOfOtherThread,
} from "./codex-lines.ts";

/** What a line of Codex says. `command` holds the session's id, where the file told it only within this turn. */
export function readCodexText(bytes: Buffer, memory: CollectorMemory, turn: CollectorTurn | null): void {
  if (turn === null) return;
  if (turn.begins) memory.command = null;
  if (turn.mark.role === "user") {
    if (turn.begins) readPrompt(bytes, turn);
    return;
  }
  const line = codexLineKind(bytes);
  const agentSessionId = turn.mark.before?.agentSessionId ?? memory.command;
  if (line.kind === "meta" && agentSessionId === null) {
    const meta = parseLine(bytes);
    memory.command = meta === null ? null : stringAt(codexPayload(meta), "id");
  } else if (line.kind === "plan") {
    const payload = payloadOf(bytes, agentSessionId);
    if (payload !== null) turn.say(stringAt(fieldsAt(payload, "item"), "text") ?? "");
  } else if (line.kind === "answer" || (line.kind === "thinking" && line.form !== memory.form)) {
    if (codexFormRank[line.form] < codexFormRank[memory.form]) return;
    const payload = payloadOf(bytes, agentSessionId);
    if (payload === null) return;
    // What an older form told of this turn is told once more.
    if (line.form !== memory.form) turn.restart();
    memory.form = line.form;
    if (line.kind === "answer") turn.say(answerText(payload));
  }
}

function readPrompt(bytes: Buffer, turn: CollectorTurn): void {
  const line = parseLine(bytes);
  const text = line === null ? null : codexPromptText(codexPayload(line));
  if (text !== null) turn.say(text);
}

function payloadOf(bytes: Buffer, agentSessionId: string | null): Fields | null {
  const line = parseLine(bytes);
  if (line === null) return null;
  const payload = codexPayload(line);
  return isOfOtherThread(payload, agentSessionId) ? null : payload;
}

function answerText(payload: Fields): string {
  const item = fieldsAt(payload, "item");
  if (stringAt(item, "type") === "AgentMessage") return contentText(item);
  return stringAt(payload, "type") === "agent_message" ? (stringAt(payload, "message") ?? "") : contentText(payload);
}
