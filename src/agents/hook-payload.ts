import { fileURLToPath } from "node:url";
import { z } from "zod";
import { sha256 } from "../core/ids.ts";
import { splitAttached } from "../transcripts/index.ts";
import type { PendingPermission } from "../wire/coding.ts";
import type { HookClaim, HookEvent, ToolCall } from "./template.ts";

/** The fields that all agents' hook payloads share (measured). */
const payloadSchema = z.looseObject({
  session_id: z.string().min(1).max(200),
  hook_event_name: z.string(),
  transcript_path: z.string().nullish(),
  cwd: z.string().nullish(),
  /** Set for events inside a sub-agent. */
  agent_id: z.string().nullish(),
});

export type HookPayload = z.infer<typeof payloadSchema>;

/** Parses a payload and maps it with `toEvent`; null if it is invalid or has no meaning here. Never throws. */
export function parsePayload(text: string, toEvent: (payload: HookPayload) => HookEvent | null): HookClaim | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null; // not a payload
  }
  const parsed = payloadSchema.safeParse(value);
  if (!parsed.success) return null;
  const event = toEvent(parsed.data);
  if (event === null) return null;
  const cwd = parsed.data.cwd ?? null;
  return {
    event: event.kind === "permission_asked" ? { ...event, cwd } : event,
    agentSessionId: parsed.data.session_id,
    // A sub-agent's own file is not the session's (Codex, measured).
    transcriptPath: subagentOf(parsed.data) === null ? (parsed.data.transcript_path ?? null) : null,
    cwd,
  };
}

/** A text field of a payload; empty if it is missing or of another type. */
export function textField(payload: HookPayload, name: string): string {
  const value = payload[name];
  return typeof value === "string" ? value : "";
}

export function toolCall(payload: HookPayload): ToolCall {
  const tool = textField(payload, "tool_name");
  const input = payload["tool_input"] ?? null;
  return { tool, input, callKey: sha256(`${tool}\n${comparable(input)}`).slice(0, 32), subagent: subagentOf(payload) };
}

// Fields that can differ between an agent's permission request and the end of the call: descriptions and answers.
const passing = new Set(["description", "answers", "annotations"]);

function comparable(input: unknown): string {
  return JSON.stringify(input, (key, value: unknown) => {
    if (passing.has(key)) return undefined;
    if (typeof value === "string") return value.trimEnd();
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)));
  });
}

function subagentOf(payload: HookPayload): string | null {
  return payload.agent_id || null;
}

/** Maps the hook events that have the same form in all agents; null for others. */
export function sharedEvent(payload: HookPayload): HookEvent | null {
  // This includes requests from inside a sub-agent, because the dialog belongs to the session.
  if (payload.hook_event_name === "PermissionRequest") {
    return { kind: "permission_asked", asks: "permission", ...toolCall(payload) };
  }
  if (payload.hook_event_name === "PostToolUse") return { kind: "tool_ended", ...toolCall(payload) };
  if (subagentOf(payload) !== null) return null;
  switch (payload.hook_event_name) {
    case "SessionStart":
      return { kind: "session_start", reason: textField(payload, "source") };
    case "UserPromptSubmit":
      return { kind: "prompt_submitted", prompt: splitAttached(textField(payload, "prompt")).text };
    case "Stop":
      return { kind: "turn_ended" };
    case "SessionEnd":
      return { kind: "session_end", reason: textField(payload, "reason") };
  }
  return null;
}

/**
 * The hook command of every session, as a shell line: this Node and a fixed script. It does not vary by session, so that an agent that
 * remembers what it trusts (Codex) asks once.
 */
export function hookCommand(node: string = process.execPath): string {
  return `${shellQuoted(node)} ${shellQuoted(fileURLToPath(new URL("./hook.mjs", import.meta.url)))}`;
}

/** Quotes a path: with double quotes where that is safe in every shell, else with single quotes. */
function shellQuoted(path: string): string {
  return /^[\w./@+-]+$/.test(path) ? `"${path}"` : `'${path.replaceAll("'", `'\\''`)}'`;
}

/** The answer to a permission request. */
export interface PermissionAnswer {
  readonly decision: "allow" | "deny";
  /** Sent to the agent with a denial. */
  readonly message: string | null;
  /** Answers to a question, by the question's text. */
  readonly answers: Readonly<Record<string, string>>;
}

const noReason = "The user does not allow this.";

/**
 * The answer as a PermissionRequest hook returns it (measured). Claude Code accepts an answered question or an approved plan only with the
 * call's input; a bare "allow" leaves the dialog open.
 */
export function toHookDecision(asks: PendingPermission["kind"], answer: PermissionAnswer): HookDecision {
  const { decision: behavior, message, answers } = answer;
  if (behavior === "deny") return { decision: { behavior, message: message ?? noReason } };
  if (asks === "permission") return { decision: { behavior } };
  return { decision: { behavior }, input: asks === "question" ? { answers } : {} };
}

/** A decision in the agent's own form. */
export interface HookDecision {
  readonly decision: Readonly<Record<string, unknown>>;
  /** Merged into the call's input, for calls that can only be allowed with more input (answers to a question). */
  readonly input?: Readonly<Record<string, unknown>>;
}

const wantedSchema = z.strictObject({ permissionId: z.string().regex(/^[0-9a-f]{32}$/) });
const takenSchema = z.strictObject({ taken: z.literal(true) });

/** The id of the permission that a hook asks about; null if the message is invalid. */
export function parseWanted(line: string): string | null {
  return parse(wantedSchema, line)?.permissionId ?? null;
}

/** Whether a hook confirms that it passed the decision to its agent. */
export function parseTaken(line: string): boolean {
  return parse(takenSchema, line) !== null;
}

function parse<T>(schema: z.ZodType<T>, line: string): T | null {
  try {
    return schema.safeParse(JSON.parse(line)).data ?? null;
  } catch {
    return null; // not a message
  }
}
