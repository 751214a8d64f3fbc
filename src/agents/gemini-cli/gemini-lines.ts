import {
  createPeek,
  type Fields,
  fieldsAt,
  isFields,
  listAt,
  peekFirstElement,
  stringAt,
} from "../../transcripts/index.ts";

/**
 * The kind of a line, from its first bytes. `user` may be a prompt and must be parsed; `other` has no turns or facts; `unreadable` is not
 * JSON.
 */
type GeminiLineKind =
  | "head"
  | "user"
  | "tool_result"
  | "answer"
  | "info"
  | "error"
  | "history"
  | "facts"
  | "rewound"
  | "other"
  | "unreadable";

const peek = createPeek([
  ...["type", "content", "sessionId", "$set", "$rewindTo", "messages", "summary", "functionResponse"],
  ...["user", "gemini", "info", "warning", "error"],
]);

const kindOfType: Readonly<Record<string, GeminiLineKind>> = {
  user: "user",
  gemini: "answer",
  info: "info",
  error: "error",
};

/** The kind of a line, without parsing it. */
export function geminiLineKind(line: Buffer): GeminiLineKind {
  let kind: GeminiLineKind = "other";
  const readable = peek.members(line, 0, (key, at) => {
    if (key === "sessionId") kind = "head";
    else if (key === "$rewindTo") kind = "rewound";
    else if (key === "$set") kind = kindOfChange(line, at);
    else if (key === "type") {
      kind = kindOfType[peek.string(line, at) ?? ""] ?? "other";
      if (kind === "user") return "go_on";
    } else if (key === "content" && kind === "user") {
      const first = peekFirstElement(line, at);
      if (first >= 0 && holds(line, first, "functionResponse")) kind = "tool_result";
    } else return "go_on";
    return "stop";
  });
  return readable ? kind : "unreadable";
}

function kindOfChange(line: Buffer, at: number): GeminiLineKind {
  if (holds(line, at, "messages")) return "history";
  return holds(line, at, "summary") ? "facts" : "other";
}

function holds(line: Buffer, at: number, key: string): boolean {
  let found = false;
  peek.members(line, at, (name) => {
    found = name === key;
    return found ? "stop" : "go_on";
  });
  return found;
}

/** Context that the agent injects as the user. */
const contextTag = /^\s*<(session_context|hook_context)>/;

/** The content of a user line. `context` starts a copy of the history, which a `history` line ends (measured). */
type GeminiUserLine =
  | { readonly kind: "prompt"; readonly text: string }
  | { readonly kind: "context" }
  | { readonly kind: "none" };

export function readGeminiUser(line: Fields): GeminiUserLine {
  const content = line["content"];
  if (contextTag.test(geminiText(content))) return { kind: "context" };
  // The typed text, if it differs from the text that the model received.
  const text = geminiText(line["displayContent"] ?? content);
  return text.trim() === "" ? { kind: "none" } : { kind: "prompt", text };
}

/** The start of the text that the agent adds for files mentioned in a prompt. */
const referencedFiles = "\n--- Content from referenced files ---";

/** The text of a content (a string, a part, or a list of parts), with `[image]` for images and without added files. */
export function geminiText(content: unknown): string {
  if (typeof content === "string") return content;
  const parts = Array.isArray(content) ? content : [content];
  const end = parts.findIndex((part) => isFields(part) && part["text"] === referencedFiles);
  return parts
    .slice(0, end === -1 ? parts.length : end)
    .map((part) => {
      if (typeof part === "string") return part;
      if (!isFields(part) || part["thought"] === true) return "";
      return stringAt(part, "text") ?? ("inlineData" in part ? "[image]" : "");
    })
    .filter((text) => text !== "")
    .join("\n\n");
}

/**
 * Whether a line of the model is an answer. When the agent resets its history, it copies earlier answers, with a list as content
 * (measured).
 */
export function isGeminiAnswer(line: Fields): boolean {
  return typeof line["content"] === "string" || line["content"] === undefined;
}

/** Whether the agent reports that the user cancelled. */
export function isGeminiCancelled(line: Fields): boolean {
  return line["content"] === "Request cancelled.";
}

/** Ids are UUIDs; this limit is for anything else. */
const maxIdCharacters = 100;

/** The id of an answer; empty if it has none. */
export function geminiId(line: Fields): string {
  return stringAt(line, "id")?.slice(0, maxIdCharacters) ?? "";
}

/** A call; its result is null while it runs. */
interface GeminiCall {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
  readonly result: { readonly ok: boolean; readonly text: string } | null;
}

/** The calls of an answer. */
export function geminiCalls(line: Fields): readonly GeminiCall[] {
  return listAt(line, "toolCalls").flatMap((call) => {
    const id = stringAt(call, "id");
    if (id === null) return [];
    const status = stringAt(call, "status");
    const text = resultText(call["result"]);
    const ended = status === "success" || status === "error" || status === "cancelled" || text !== "";
    const result = ended ? { ok: status === "success", text } : null;
    return [{ id, name: stringAt(call, "name") ?? "", input: call["args"] ?? null, result }];
  });
}

function resultText(result: unknown): string {
  if (typeof result === "string") return result;
  if (!Array.isArray(result)) return "";
  return result
    .filter(isFields)
    .map((part) => {
      const response = fieldsAt(fieldsAt(part, "functionResponse"), "response");
      return stringAt(response, "output") ?? stringAt(response, "error") ?? stringAt(part, "text") ?? "";
    })
    .filter((text) => text !== "")
    .join("\n");
}

/** The working directory from the context in a `history` line, or null. */
export function geminiDir(line: Fields): string | null {
  const [first] = listAt(fieldsAt(line, "$set"), "messages");
  if (first === undefined) return null;
  const text = geminiText(first["content"]);
  if (!contextTag.test(text)) return null;
  return /^- \*\*Workspace Directories:\*\*\n {2}- (\/[^\n\0]*)$/m.exec(text)?.[1] ?? null;
}
