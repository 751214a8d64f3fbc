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

/** What a line of OpenCode's log is about, told by its first bytes; `other` is nothing for turns or facts. */
export type OpenCodeLineKind = "session" | "message" | "part" | "other";

/** The events' types end with a version. */
const kinds: readonly (readonly [Buffer, OpenCodeLineKind])[] = [
  [Buffer.from('{"type":"message.part.updated.1"'), "part"],
  [Buffer.from('{"type":"message.updated.1"'), "message"],
  [Buffer.from('{"type":"session.created.1"'), "session"],
  [Buffer.from('{"type":"session.updated.1"'), "session"],
];

/** Tells the kind of a line without parsing it. */
export function openCodeLineKind(line: Buffer): OpenCodeLineKind {
  return kinds.find(([head]) => line.subarray(0, head.length).equals(head))?.[1] ?? "other";
}

/** What an event says of a session or a message. */
export function openCodeInfo(line: Fields): Fields {
  return fieldsAt(fieldsAt(line, "data"), "info");
}

/** What an event says of a part of a message. */
export function openCodePart(line: Fields): Fields {
  return fieldsAt(fieldsAt(line, "data"), "part");
}

/** Ids have some thirty characters; of anything else so much is kept. */
const maxIdCharacters = 100;

/** The id under `key`; empty when there is none. */
export function openCodeId(from: Fields, key = "id"): string {
  return stringAt(from, key)?.slice(0, maxIdCharacters) ?? "";
}

/** Whether a session's first line says that it is a sub-agent's. */
export function isSubagentSession(first: Buffer): boolean {
  if (openCodeLineKind(first) !== "session" || !first.includes('"parentID"')) return false;
  const line = parseLine(first);
  return line !== null && stringAt(openCodeInfo(line), "parentID") !== null;
}

/** A title that the agent gives before it has one, also to what it hands to a sub-agent. */
const standInTitle = /^(?:New|Child) session - \d{4}-/;

/** What a session is called; null as long as it has no title of its own. */
export function openCodeTitle(info: Fields): string | null {
  const title = stringAt(info, "title");
  return title === null || title === "" || standInTitle.test(title) ? null : title;
}

/** A time as the log has it, epoch milliseconds, in ISO 8601. */
export function openCodeTime(ms: unknown): string | null {
  return typeof ms === "number" && Math.abs(ms) < 8.64e15 ? new Date(ms).toISOString() : null;
}

/** The prompt in a part of a message of the user; null for what the agent added, such as the text of a file. */
export function openCodePrompt(part: Fields): string | null {
  const text = stringAt(part, "text");
  const isTyped = part["type"] === "text" && part["synthetic"] !== true && part["ignored"] !== true;
  return isTyped && text !== null && text.trim() !== "" ? text : null;
}

/** The model of an answer, as `--model` takes it. */
export function openCodeModel(info: Fields): string | null {
  const [provider, model] = [stringAt(info, "providerID"), stringAt(info, "modelID")];
  return provider === null || model === null ? null : `${provider}/${model}`;
}

/** How the turn stands by its newest answer: one that ended with calls goes on. */
export function openCodeState(info: Fields): TurnState {
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

/** A first prompt is kept as far as a title and a preview need it. */
const promptCharacters = 2_000;

const savedSchema = savedIndexerSchema.extend({
  format: z.literal("opencode"),
  userMessage: z.string(),
  awaitsPrompt: z.boolean(),
});

/**
 * Finds the turns in a session's log of OpenCode, or continues where another one stood. What is taken out of the history (undo) was said
 * and stays a turn; what the agent says for the user (a summary, "go on") is part of its own turn.
 */
export function createOpenCodeIndexer(saved?: SavedIndexer): TurnIndexer {
  const from = savedSchema.safeParse(saved).data ?? null;
  const log = createTurnLog(from, { promptCharacters });
  const { facts } = log;
  /** The newest message of the user; its prompt comes after it. */
  let userMessage = from?.userMessage ?? "";
  let awaitsPrompt = from?.awaitsPrompt ?? false;

  // A mark ends in front of the next event, however long its own is.
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
      // Parts are long, and but for a prompt only the turns need them.
      if (kind === "part" && !awaitsPrompt) return true;
      const read = { message, part, session }[kind];
      return readLine(bytes, (line) => read(line, offset));
    },
    pause: () => undefined,
  };
}
