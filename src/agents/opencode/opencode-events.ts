import type { TurnState } from "../../transcripts/index.ts";
import { type Fields, fieldsAt, isFields, parseLine, stringAt } from "../../transcripts/index.ts";

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
