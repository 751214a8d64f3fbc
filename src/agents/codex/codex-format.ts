import {
  type CollectorMemory,
  type CollectorTurn,
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
  type TurnMark,
  timeOf,
} from "../../transcripts/index.ts";
import type { Block, Usage } from "../../wire/turn.ts";
import { createCodexIndexer } from "./codex-index.ts";
import {
  type CodexForm,
  codexFormRank,
  codexLineKind,
  codexPayload,
  codexPromptText,
  codexTotalTokens,
  contentText,
  isOfOtherThread,
  isSubagentRollout,
  isUsersOwnAction,
} from "./codex-lines.ts";
import { codexAction, codexCall, codexResult, createScripts, shownCall, shownResult } from "./codex-tools.ts";
import { withEarlierParts } from "./rollout-chain.ts";

/** Reads `<home>/sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl` of all versions up to Codex 0.169. */
export const codexFormat = createFormat({
  createIndexer: createCodexIndexer,
  promptOf: (line) => codexPromptText(codexPayload(line)),
  picturesOf: (line) => pictures(codexPayload(line)),
  filesOf: (line) => {
    const content = listAt(fieldsAt(codexPayload(line), "item"), "content");
    return content.flatMap((part) => (part["type"] === "local_image" ? [stringAt(part, "path") ?? ""] : []));
  },
  createAnswer,
  readAnswerText,
  isPart: isSubagentRollout,
  withEarlierParts,
});

/** The images in a tool's output. */
function picturesOfResult(payload: Fields): readonly string[] {
  const output = payload["output"];
  const parts = Array.isArray(output) ? output.filter(isFields) : listAt(fieldsAt(payload, "output"), "content");
  return parts.flatMap((part) => dataIn(part["image_url"]) ?? []);
}

/** Images given as data URLs; images given by path are not read from disk. */
function pictures(payload: Fields): readonly (string | null)[] {
  const content = [...listAt(payload, "content"), ...listAt(fieldsAt(payload, "item"), "content")];
  const listed = payload["images"];
  const addresses = content.map((part) => stringAt(part, "image_url") ?? stringAt(part, "url"));
  const others: readonly unknown[] = Array.isArray(listed) ? listed : [];
  return [...addresses, ...others].map(dataIn);
}

function dataIn(address: unknown): string | null {
  if (typeof address !== "string" || !address.startsWith("data:")) return null;
  const comma = address.indexOf(";base64,");
  return comma === -1 || comma > 100 ? null : address.slice(comma + ";base64,".length);
}

function createAnswer(draft: TurnDraft, { before }: TurnMark): (bytes: Buffer) => boolean {
  draft.model = before?.model ?? null;
  const count = createUsageCount(draft, before?.totalTokens ?? null);
  const scripts = createScripts();
  const shownAsCommands = new Set<string>();
  /** The newest form of an answer in this turn; lines in older forms repeat the same answers. */
  let form: CodexForm = before?.form ?? "responses";
  let unnamedCalls = 0;
  /** The thread whose lines count; in some files, it is known only after the first answer. */
  let agentSessionId = before?.agentSessionId ?? null;

  function answer(payload: Fields, of: CodexForm): void {
    if (codexFormRank[of] < codexFormRank[form]) return;
    if (of !== form) draft.dropTexts();
    form = of;
    const { text, type } = answerBlock(payload);
    draft.addText(text, type);
  }

  function call(payload: Fields): void {
    const found = codexCall(payload, `call-${unnamedCalls}`);
    if (found.id === `call-${unnamedCalls}`) unnamedCalls++;
    if (draft.hasCall(found.id)) return;
    const shown = shownCall(found);
    if (shown !== found) shownAsCommands.add(found.id);
    draft.putCall(shown);
    scripts.called(found);
  }

  function action(payload: Fields): void {
    const found = codexAction(fieldsAt(payload, "item"));
    if (found === null) return;
    if (!draft.hasCall(found.id)) scripts.didAction(found);
    draft.putCall(found);
  }

  function result(payload: Fields): void {
    const found = codexResult(payload);
    if (found === null) return;
    if (scripts.ended(found.id, found.result)) draft.dropCall(found.id);
    else draft.resolve(found.id, shownAsCommands.has(found.id) ? shownResult(found.result) : found.result);
    draft.addPictures(found.id, picturesOfResult(payload));
  }

  function read(line: ReturnType<typeof codexLineKind>, parsed: Fields): void {
    const payload = codexPayload(parsed);
    if (line.kind === "meta") {
      agentSessionId = stringAt(payload, "id");
      return;
    }
    if (isOfOtherThread(payload, agentSessionId) || isUsersOwnAction(payload)) return;
    if (line.kind === "usage") return count(payload);
    draft.touch(timeOf(parsed));
    if (line.kind === "answer" || line.kind === "thinking") answer(payload, line.form);
    else if (line.kind === "call") call(payload);
    else if (line.kind === "action") action(payload);
    else if (line.kind === "result") result(payload);
    else if (line.kind === "plan") draft.addText(planText(payload));
  }

  return (bytes) => {
    const line = codexLineKind(bytes);
    if (passed.has(line.kind) || (line.kind === "meta" && agentSessionId !== null)) return true;
    return readLine(bytes, (parsed) => read(line, parsed));
  };
}

/** Lines without parts of an answer. */
const passed: ReadonlySet<string> = new Set(["prompt", "other", "started", "context", "unreadable"]);

function planText(payload: Fields): string | null {
  return stringAt(fieldsAt(payload, "item"), "text");
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
 * Counts each of the model's answers once: by response id if there is one, else by the increase in the session's total, because a
 * `token_count` is repeated when only the rate limits change.
 */
function createUsageCount({ usages }: TurnDraft, totalBefore: number | null): (payload: Fields) => void {
  let hasIds = false;
  let lastTotal = totalBefore;
  return (payload) => {
    const response = stringAt(payload, "response_id");
    if (response !== null) {
      if (!hasIds) usages.clear();
      hasIds = true;
      usages.set(response, usageOf(fieldsAt(payload, "usage")));
      return;
    }
    const info = fieldsAt(payload, "info");
    const total = codexTotalTokens(payload);
    if (hasIds || !("last_token_usage" in info) || (total !== null && total === lastTotal)) return;
    lastTotal = total;
    usages.set(String(usages.size), usageOf(fieldsAt(info, "last_token_usage")));
  };
}

/** As in Codex's own count, `inputTokens` include cached tokens. */
function usageOf(usage: Fields): Usage {
  return {
    inputTokens: countAt(usage, "input_tokens"),
    outputTokens: countAt(usage, "output_tokens"),
    cacheReadTokens: countAt(usage, "cached_input_tokens"),
  };
}

/** `command` holds the session's id if the file has it only within this turn. */
function readAnswerText(bytes: Buffer, memory: CollectorMemory, turn: CollectorTurn | null): void {
  if (turn?.mark.role !== "assistant") return;
  if (turn.begins) memory.command = null;
  const line = codexLineKind(bytes);
  const agentSessionId = turn.mark.before?.agentSessionId ?? memory.command;
  if (line.kind === "meta" && agentSessionId === null) {
    const meta = parseLine(bytes);
    memory.command = meta === null ? null : stringAt(codexPayload(meta), "id");
  } else if (line.kind === "plan") {
    const payload = payloadOf(bytes, agentSessionId);
    if (payload !== null) turn.say(planText(payload) ?? "");
  } else if (line.kind === "answer" || (line.kind === "thinking" && line.form !== memory.form)) {
    if (codexFormRank[line.form] < codexFormRank[memory.form]) return;
    const payload = payloadOf(bytes, agentSessionId);
    if (payload === null) return;
    // An older form of this turn repeats it.
    if (line.form !== memory.form) turn.restart();
    memory.form = line.form;
    if (line.kind === "answer") turn.say(answerBlock(payload).text);
  }
}

function payloadOf(bytes: Buffer, agentSessionId: string | null): Fields | null {
  const line = parseLine(bytes);
  if (line === null) return null;
  const payload = codexPayload(line);
  return isOfOtherThread(payload, agentSessionId) ? null : payload;
}
