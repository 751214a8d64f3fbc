import { z } from "zod";
import {
  createPeek,
  type FailureNeeds,
  type Fields,
  fieldsAt,
  isFields,
  isoSeconds,
  listAt,
  type MessageForm,
  parseLine,
  peekNull,
  stringAt,
  type Verdict,
} from "../../transcripts/index.ts";

/**
 * The generation of a line: `items` are the current `item_completed` events, `events` the earlier `user_message` and `agent_message` events,
 * `responses` the plain items of the model's API. A file may hold several forms, and then repeats each message in each form: the newest form counts.
 */
export type CodexForm = MessageForm;

/** From the oldest to the newest form. */
export const codexFormRank = { responses: 1, events: 2, items: 3 } satisfies Record<CodexForm, number>;

/** The kind of a line, from its first bytes. */
export type CodexLine =
  | { readonly kind: "prompt"; readonly form: CodexForm }
  | { readonly kind: "answer" | "thinking"; readonly form: CodexForm }
  /** `action` is a tool call together with its result. */
  | { readonly kind: "plan" | "action" | "call" | "result" | "usage" | "meta" | "context" }
  | { readonly kind: "started" | "complete" | "aborted" | "error" | "other" | "unreadable" };

const other: CodexLine = { kind: "other" };
const unreadable: CodexLine = { kind: "unreadable" };

const ofEvent: Readonly<Record<string, CodexLine>> = {
  user_message: { kind: "prompt", form: "events" },
  agent_message: { kind: "answer", form: "events" },
  agent_reasoning: { kind: "thinking", form: "events" },
  agent_reasoning_raw_content: { kind: "thinking", form: "events" },
  task_started: { kind: "started" },
  turn_started: { kind: "started" },
  task_complete: { kind: "complete" },
  turn_complete: { kind: "complete" },
  turn_aborted: { kind: "aborted" },
  error: { kind: "error" },
  token_count: { kind: "usage" },
};

const ofItem: Readonly<Record<string, CodexLine>> = {
  UserMessage: { kind: "prompt", form: "items" },
  EnteredReviewMode: { kind: "prompt", form: "items" },
  AgentMessage: { kind: "answer", form: "items" },
  Reasoning: { kind: "thinking", form: "items" },
  Plan: { kind: "plan" },
  CommandExecution: { kind: "action" },
  FileChange: { kind: "action" },
  McpToolCall: { kind: "action" },
  WebSearch: { kind: "action" },
};

const ofResponse: Readonly<Record<string, CodexLine>> = {
  reasoning: { kind: "thinking", form: "responses" },
  function_call: { kind: "call" },
  custom_tool_call: { kind: "call" },
  local_shell_call: { kind: "call" },
  web_search_call: { kind: "call" },
  function_call_output: { kind: "result" },
  custom_tool_call_output: { kind: "result" },
  local_shell_call_output: { kind: "result" },
};

const responsePrompt: CodexLine = { kind: "prompt", form: "responses" };
const responseAnswer: CodexLine = { kind: "answer", form: "responses" };

const peek = createPeek([
  ...["type", "payload", "id", "instructions", "item", "role", "message", "user", "assistant"],
  ...["error", "last_agent_message"],
  ...["session_meta", "turn_context", "token_usage_record", "event_msg", "response_item", "item_completed"],
  ...Object.keys(ofEvent).filter((name) => name !== "error"),
  ...Object.keys(ofItem),
  ...Object.keys(ofResponse),
]);

/** The kind of a line, without parsing it. */
export function codexLineKind(line: Buffer): CodexLine {
  let found: CodexLine = other;
  let type: string | null = null;
  let hasId = false;
  const readable = peek.members(line, 0, (key, at): Verdict => {
    if (key === "type") {
      type = peek.string(line, at) ?? "";
      if (type === "session_meta") found = { kind: "meta" };
      else if (type === "turn_context") found = { kind: "context" };
      else if (type === "token_usage_record") found = { kind: "usage" };
      else if (type === "event_msg" || type === "response_item") return "go_on";
      // The oldest files hold the model's items without an envelope.
      else found = responseKind(line, 0, type);
      return "stop";
    }
    if (key === "payload") {
      if (type === "event_msg") found = eventKind(line, at);
      else if (type === "response_item") found = responseKind(line, at, peek.field(line, at, "type") ?? "");
      return "stop";
    }
    if (key === "id") hasId = true;
    if (key === "instructions" && hasId) {
      found = { kind: "meta" };
      return "stop";
    }
    return "go_on";
  });
  return readable ? found : unreadable;
}

function eventKind(line: Buffer, payload: number): CodexLine {
  let found: CodexLine = other;
  peek.members(line, payload, (key, at) => {
    if (key === "type") {
      const type = peek.string(line, at) ?? "";
      if (type === "item_completed") return "go_on";
      found = lookUp(ofEvent, type);
      return "stop";
    }
    if (key !== "item") return "go_on";
    found = lookUp(ofItem, peek.field(line, at, "type") ?? "");
    return "stop";
  });
  return found;
}

function responseKind(line: Buffer, at: number, type: string): CodexLine {
  if (type !== "message") return lookUp(ofResponse, type);
  const role = peek.field(line, at, "role");
  if (role === "user") return responsePrompt;
  return role === "assistant" ? responseAnswer : other;
}

function lookUp(table: Readonly<Record<string, CodexLine>>, name: string): CodexLine {
  return Object.hasOwn(table, name) ? (table[name] ?? other) : other;
}

/** The end of a turn from a `task_complete` line, without parsing it: an error, no answer, or neither. */
export function codexEnding(line: Buffer): "error" | "silent" | "fine" {
  let ending: "error" | "silent" | "fine" = "fine";
  peek.members(line, 0, (key, payload) => {
    if (key !== "payload") return "go_on";
    peek.members(line, payload, (name, at) => {
      if (name === "error" && !peekNull(line, at)) ending = "error";
      else if (name === "last_agent_message" && peekNull(line, at)) ending = "silent";
      return ending === "error" ? "stop" : "go_on";
    });
    return "stop";
  });
  return ending;
}

/** The payload of a parsed line; in the oldest form, the line itself. */
export function codexPayload(line: Fields): Fields {
  return isFields(line["payload"]) ? line["payload"] : line;
}

/** The first words of context that Codex injects as the user. */
const injected = [
  "<environment_context>",
  "<user_instructions>",
  "<permissions instructions>",
  "<collaboration_mode>",
  "<multi_agent",
  "<apps_instructions>",
  "<skills_instructions>",
  "<skill>",
  "<turn_aborted>",
  "<subagent_notification>",
  "<user_shell_command>",
  "<user_action>",
  "<INSTRUCTIONS>",
  "# AGENTS.md instructions",
];

const editorContext = "# Context from my IDE setup:";
const editorRequest = "## My request for Codex:\n";

/** The user's text in a prompt line of any form; null for injected context. */
export function codexPromptText(payload: Fields): string | null {
  const item = fieldsAt(payload, "item");
  if (item["type"] === "EnteredReviewMode") return `/review ${stringAt(item, "user_facing_hint") ?? ""}`.trim();
  const kind = stringAt(payload, "kind");
  if (kind === "user_instructions" || kind === "environment_context") return null;
  const typed = stringAt(payload, "message") ?? ("content" in item ? contentText(item) : null);
  const text = typed ?? contentText(payload);
  const opening = text.trimStart();
  if (typed === null && injected.some((beginning) => opening.startsWith(beginning))) return null;
  const request = opening.startsWith(editorContext) ? text.indexOf(editorRequest) : -1;
  const asked = request < 0 ? text : text.slice(request + editorRequest.length);
  const said = hasImages(payload) ? asked.replace(imagePlaceholders, "") : asked;
  return said === "" && !hasImages(payload) ? null : said || "[image]";
}

/** The text that the composer inserts for pasted images, before the prompt. */
const imagePlaceholders = /^(?:\[Image #\d{1,4}\] ?)+/;

function hasImages(payload: Fields): boolean {
  const content = [...listAt(payload, "content"), ...listAt(fieldsAt(payload, "item"), "content")];
  const images = payload["images"] ?? payload["local_images"];
  return (
    (Array.isArray(images) && images.length > 0) || content.some((part) => /image/i.test(stringAt(part, "type") ?? ""))
  );
}

/** The text parts of `content`, joined. */
export function contentText(from: Fields): string {
  const content = from["content"];
  if (typeof content === "string") return content;
  return listAt(from, "content")
    .map((part) => stringAt(part, "text") ?? "")
    .join("");
}

/** Whether the user ran this command in the agent's terminal. */
export function isUsersOwnAction(payload: Fields): boolean {
  return fieldsAt(payload, "item")["source"] === "user_shell";
}

/** The session's token total in a `token_count`; null if it has only rate limits. */
export function codexTotalTokens(payload: Fields): number | null {
  const total = fieldsAt(fieldsAt(payload, "info"), "total_token_usage")["total_tokens"];
  return typeof total === "number" ? total : null;
}

/** Whether an event belongs to another thread, such as a sub-agent's. */
export function isOfOtherThread(payload: Fields, agentSessionId: string | null): boolean {
  const thread = stringAt(payload, "thread_id");
  return thread !== null && agentSessionId !== null && thread !== agentSessionId;
}

/** Each sub-agent has its own rollout, whose first line identifies it as a sub-agent's. */
export function isSubagentRollout(bytes: Buffer): boolean {
  if (!bytes.includes('"parent_thread_id"') && !bytes.includes('"subagent"')) return false;
  const line = parseLine(bytes);
  if (line === null) return false;
  const meta = codexPayload(line);
  return (
    stringAt(meta, "parent_thread_id") !== null ||
    stringAt(meta, "thread_source") === "subagent" ||
    "subagent" in fieldsAt(meta, "source")
  );
}

const codexErrorSchema = z.object({
  codex_error_info: z.union([
    z.string(),
    z.record(z.string(), z.object({ http_status_code: z.number().nullish() }).catch({})),
  ]),
});

/** What is needed before another turn can succeed, from the error of a turn in a rollout (measured). */
export function codexNeeds(error: unknown): FailureNeeds | undefined {
  const info = codexErrorSchema.safeParse(error).data?.codex_error_info;
  if (info === undefined) return undefined;
  if (typeof info !== "string") {
    return Object.values(info).some(({ http_status_code }) => http_status_code === 401) ? "login" : undefined;
  }
  if (info === "unauthorized") return "login";
  return info === "usage_limit_exceeded" ? "limit_reset" : undefined;
}

/** The API's message if Codex quotes its JSON, else the error's text. */
export function codexErrorMessage(error: unknown): string {
  const text = typeof error === "string" ? error : messageIn(error);
  try {
    return messageIn(JSON.parse(text)) || text;
  } catch {
    return text; // not JSON: the message itself
  }
}

function messageIn(error: unknown): string {
  if (typeof error !== "object" || error === null) return "The turn failed.";
  if ("error" in error) return messageIn(error.error);
  return "message" in error && typeof error.message === "string" ? error.message : "The turn failed.";
}

const codexWindowSchema = z.object({ used_percent: z.number(), resets_at: z.number() }).nullish().catch(null);
const codexLimitsSchema = z.object({
  rate_limits: z.object({ primary: codexWindowSchema, secondary: codexWindowSchema }),
});

/** When the exhausted limits reset, from the newest token count of a rollout; null if unknown. */
export function codexResetsAt(tokenCount: unknown): string | null {
  const limits = codexLimitsSchema.safeParse(tokenCount).data?.rate_limits;
  const full = [limits?.primary, limits?.secondary].filter((window) => (window?.used_percent ?? 0) >= 100);
  return isoSeconds(
    full.reduce<number | undefined>((latest, window) => Math.max(latest ?? 0, window?.resets_at ?? 0), undefined),
  );
}
