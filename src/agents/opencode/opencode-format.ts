import {
  countAt,
  createFormat,
  type Fields,
  fieldsAt,
  parseLine,
  readLine,
  stringAt,
  type TurnDraft,
  timeOf,
  toolInput,
  toolResult,
} from "../../transcripts/index.ts";
import type { Usage } from "../../wire/turn.ts";
import { openCodeDatabase } from "./opencode-database.ts";
import {
  isSubagentSession,
  openCodeId,
  openCodeInfo,
  openCodeLineKind,
  openCodeModel,
  openCodePart,
  openCodePrompt,
} from "./opencode-events.ts";
import { createOpenCodeIndexer } from "./opencode-index.ts";

/** Reads a session's log in `<data>/opencode/opencode.db` as OpenCode 1.18 writes it. */
export const openCodeFormat = createFormat({
  createIndexer: createOpenCodeIndexer,
  promptOf: (line) => openCodePrompt(openCodePart(line)),
  createAnswer,
  /** `command` holds the newest text's id: it is written again when it has ended. */
  readAnswerText(bytes, memory, turn) {
    if (turn?.mark.role !== "assistant" || openCodeLineKind(bytes) !== "part") return;
    const line = parseLine(bytes);
    if (line === null) return;
    const part = openCodePart(line);
    const [id, text] = [openCodeId(part), stringAt(part, "text") ?? ""];
    if (part["type"] !== "text" || part["synthetic"] === true || text === "" || memory.command === id) return;
    memory.command = id;
    turn.say(text);
  },
  isPart: isSubagentSession,
  database: openCodeDatabase,
});

function createAnswer(draft: TurnDraft): (bytes: Buffer) => boolean {
  /** Texts that are in the draft: each is written when it begins, empty, and when it has ended. */
  const written = new Set<string>();
  /** The answers of this turn; what is written of the next prompt before its text is not of it. */
  const answers = new Set<string>();

  function message(line: Fields): void {
    const info = openCodeInfo(line);
    if (info["role"] !== "assistant") return;
    answers.add(openCodeId(info));
    draft.touch(timeOf(line));
    draft.model = openCodeModel(info) ?? draft.model;
    const usage = usageOf(fieldsAt(info, "tokens"));
    if (usage !== null) draft.usages.set(openCodeId(info), usage);
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
    if (text === "" || written.has(id)) return;
    written.add(id);
    draft.addText(text, type === "text" ? "text" : "thinking");
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

  return (bytes) => {
    const kind = openCodeLineKind(bytes);
    if (kind !== "message" && kind !== "part") return true;
    return readLine(bytes, kind === "message" ? message : part);
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
