import { z } from "zod";
import {
  countAt,
  createFormat,
  createTurnLog,
  type Fields,
  fieldsAt,
  isFields,
  parseLine,
  pathAt,
  readLine,
  type SavedIndexer,
  savedIndexerSchema,
  stringAt,
  type TurnDraft,
  type TurnIndexer,
  type TurnState,
  timeOf,
  toolInput,
  toolResult,
} from "../../transcripts/index.ts";
import type { Usage } from "../../wire/turn.ts";
import { eventAddressBytes, openCodeDatabase } from "./opencode-database.ts";

/** Reads a session's log in `<data>/opencode/opencode.db` of OpenCode 1.18. */
export const openCodeFormat = createFormat({
  createIndexer: createOpenCodeIndexer,
  promptOf: (line) => openCodePrompt(openCodePart(line)),
  createAnswer,
  /** `command` contains the newest text's id: a text is written again when it has ended. */
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
  /** Texts in the draft: each is written empty when it starts, and again when it has ended. */
  const written = new Set<string>();
  /** Message ids of this turn's answers; the next prompt's other parts can come before its text. */
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

/** As in OpenCode's own count, `inputTokens` exclude cached tokens. */
function usageOf(tokens: Fields): Usage | null {
  const usage = {
    inputTokens: countAt(tokens, "input"),
    outputTokens: countAt(tokens, "output") + countAt(tokens, "reasoning"),
    cacheReadTokens: countAt(fieldsAt(tokens, "cache"), "read"),
  };
  return usage.inputTokens + usage.outputTokens + usage.cacheReadTokens === 0 ? null : usage;
}

/** The kind of a line, from its first bytes; `other` has no turns or facts. */
type OpenCodeLineKind = "session" | "message" | "part" | "other";

/** Event types end with a version. */
const kinds: readonly (readonly [Buffer, OpenCodeLineKind])[] = [
  [Buffer.from('{"type":"message.part.updated.1"'), "part"],
  [Buffer.from('{"type":"message.updated.1"'), "message"],
  [Buffer.from('{"type":"session.created.1"'), "session"],
  [Buffer.from('{"type":"session.updated.1"'), "session"],
];

/** The kind of a line, without parsing it. */
function openCodeLineKind(line: Buffer): OpenCodeLineKind {
  return kinds.find(([head]) => line.subarray(0, head.length).equals(head))?.[1] ?? "other";
}

/** The session or message of an event. */
function openCodeInfo(line: Fields): Fields {
  return fieldsAt(fieldsAt(line, "data"), "info");
}

/** The part of a message in an event. */
function openCodePart(line: Fields): Fields {
  return fieldsAt(fieldsAt(line, "data"), "part");
}

/** Ids have about thirty characters; this limit is for anything else. */
const maxIdCharacters = 100;

/** The id under `key`; empty if there is none. */
function openCodeId(from: Fields, key = "id"): string {
  return stringAt(from, key)?.slice(0, maxIdCharacters) ?? "";
}

/** Whether a session's first line is a sub-agent's. */
function isSubagentSession(first: Buffer): boolean {
  if (openCodeLineKind(first) !== "session" || !first.includes('"parentID"')) return false;
  const line = parseLine(first);
  return line !== null && stringAt(openCodeInfo(line), "parentID") !== null;
}

/** A provisional title, for sessions and sub-agents. */
const standInTitle = /^(?:New|Child) session - \d{4}-/;

/** The session's title; null while it is provisional. */
function openCodeTitle(info: Fields): string | null {
  const title = stringAt(info, "title");
  return title === null || title === "" || standInTitle.test(title) ? null : title;
}

/** Epoch milliseconds as ISO 8601. */
function openCodeTime(ms: unknown): string | null {
  return typeof ms === "number" && Math.abs(ms) < 8.64e15 ? new Date(ms).toISOString() : null;
}

/** The prompt in a user's part; null for text that the agent added, such as a file's content. */
function openCodePrompt(part: Fields): string | null {
  const text = stringAt(part, "text");
  const isTyped = part["type"] === "text" && part["synthetic"] !== true && part["ignored"] !== true;
  return isTyped && text !== null && text.trim() !== "" ? text : null;
}

/** The model of an answer, in the form that `--model` accepts. */
function openCodeModel(info: Fields): string | null {
  const [provider, model] = [stringAt(info, "providerID"), stringAt(info, "modelID")];
  return provider === null || model === null ? null : `${provider}/${model}`;
}

/** The turn's state after its newest answer: if the answer ends with tool calls, the turn continues. */
function openCodeState(info: Fields): TurnState {
  const error = info["error"];
  if (isFields(error)) return failureOf(error);
  const finish = stringAt(info, "finish");
  const isOver = fieldsAt(info, "time")["completed"] !== undefined && finish !== "tool-calls" && finish !== "unknown";
  return { kind: isOver ? "ended" : "open" };
}

function failureOf(error: Fields): TurnState {
  const name = stringAt(error, "name") ?? "";
  if (name === "MessageAbortedError") return { kind: "aborted" };
  const message = stringAt(fieldsAt(error, "data"), "message") || name || "The model's API answered with an error.";
  return name === "ProviderAuthError" ? { kind: "failed", message, needs: "login" } : { kind: "failed", message };
}

/** Enough for a title and a preview. */
const promptCharacters = 2_000;

const savedSchema = savedIndexerSchema.extend({
  format: z.literal("opencode"),
  userMessage: z.string(),
  awaitsPrompt: z.boolean(),
});

/**
 * Finds the turns in a session's log of OpenCode, from its start or from a saved state. Turns that an undo removes are kept. Text that the
 * agent writes as the user (a summary, "go on") belongs to the agent's turn.
 */
function createOpenCodeIndexer(saved?: SavedIndexer): TurnIndexer {
  const from = savedSchema.safeParse(saved).data ?? null;
  const log = createTurnLog(from, { promptCharacters });
  const { facts } = log;
  /** The user's newest message; its prompt follows it. */
  let userMessage = from?.userMessage ?? "";
  let awaitsPrompt = from?.awaitsPrompt ?? false;

  // The mark always ends before the next event, regardless of the length of its own event.
  const markAt = (start: number) => ({ start, firstLineBytes: eventAddressBytes - 1 });

  function message(line: Fields, offset: number): void {
    const info = openCodeInfo(line);
    const id = openCodeId(info);
    if (info["role"] === "user") {
      if (id === userMessage) return;
      userMessage = id;
      awaitsPrompt = true;
    } else if (info["role"] === "assistant" && log.marks.length > 0) {
      if (log.lastRole() === "user") log.answer(markAt(offset));
      facts.model = openCodeModel(info) ?? facts.model;
      facts.lastTurn = info["summary"] === true ? { kind: "open" } : openCodeState(info);
      if (facts.lastTurn.kind === "aborted") log.interrupt();
    }
    facts.updatedAt = timeOf(line) ?? facts.updatedAt;
  }

  function part(line: Fields, offset: number): void {
    const said = openCodePart(line);
    if (openCodeId(said, "messageID") !== userMessage) return;
    const prompt = openCodePrompt(said);
    if (prompt === null) return;
    awaitsPrompt = false;
    log.prompt(markAt(offset), prompt);
    facts.updatedAt = timeOf(line) ?? facts.updatedAt;
  }

  function session(line: Fields): void {
    const info = openCodeInfo(line);
    facts.agentSessionId ??= openCodeId(info) || null;
    facts.cwd = pathAt(info, "directory") ?? facts.cwd;
    facts.ownTitle = openCodeTitle(info) ?? facts.ownTitle;
    facts.createdAt ??= openCodeTime(fieldsAt(info, "time")["created"]);
  }

  return {
    ...log,
    save: () => ({ ...log.saved("opencode"), userMessage, awaitsPrompt }),
    line(bytes, offset) {
      const kind = openCodeLineKind(bytes);
      if (kind === "other") return true;
      if (kind !== "session") facts.turnLines++;
      // Parts are long. Unless a prompt is expected, the index does not need them.
      if (kind === "part" && !awaitsPrompt) return true;
      const read = { message, part, session }[kind];
      return readLine(bytes, (line) => read(line, offset));
    },
    pause: () => undefined,
  };
}
