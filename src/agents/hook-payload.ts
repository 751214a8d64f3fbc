import { fileURLToPath } from "node:url";
import { z } from "zod";
import { sha256 } from "../core/ids.ts";
import type { PendingPermission } from "../wire/coding.ts";
import type { HookClaim, HookEvent, ToolCall } from "./template.ts";

/** What the hook payloads of both agents have in common (measured); everything else is looked up by event. */
const payloadSchema = z.looseObject({
  session_id: z.string().min(1).max(200),
  hook_event_name: z.string(),
  transcript_path: z.string().nullish(),
  cwd: z.string().nullish(),
  /** Set on what happens inside a sub-agent. */
  agent_id: z.string().nullish(),
});

/** A hook payload with the fields that both agents share. */
export type HookPayload = z.infer<typeof payloadSchema>;

/** Reads a payload and lets `toEvent` name what it says; null when it is none, or says nothing. Never throws. */
export function parsePayload(text: string, toEvent: (payload: HookPayload) => HookEvent | null): HookClaim | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null; // not a payload: a claim that says nothing
  }
  const parsed = payloadSchema.safeParse(value);
  if (!parsed.success) return null;
  const event = toEvent(parsed.data);
  if (event === null) return null;
  return {
    event,
    agentSessionId: parsed.data.session_id,
    // A sub-agent's own file is not the session's (Codex, measured).
    transcriptPath: subagentOf(parsed.data) === null ? (parsed.data.transcript_path ?? null) : null,
    cwd: parsed.data.cwd ?? null,
  };
}

/** A field of a payload as text; empty when it is missing or something else. */
export function textField(payload: HookPayload, name: string): string {
  const value = payload[name];
  return typeof value === "string" ? value : "";
}

/** The tool call that a payload is about. */
export function toolCall(payload: HookPayload): ToolCall {
  const tool = textField(payload, "tool_name");
  const input = payload["tool_input"] ?? null;
  return { tool, input, callKey: sha256(`${tool}\n${comparable(input)}`).slice(0, 32), subagent: subagentOf(payload) };
}

// What one agent says at the question and not at the end, or adds in between: the words for the person, and the answers.
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

/** The hook events that both agents word alike; null for the others. */
export function sharedEvent(payload: HookPayload): HookEvent | null {
  // Also from inside a sub-agent: the dialog is the session's.
  if (payload.hook_event_name === "PermissionRequest") {
    return { kind: "permission_asked", asks: "permission", ...toolCall(payload) };
  }
  if (payload.hook_event_name === "PostToolUse") return { kind: "tool_ended", ...toolCall(payload) };
  if (subagentOf(payload) !== null) return null;
  switch (payload.hook_event_name) {
    case "SessionStart":
      return { kind: "session_start", reason: textField(payload, "source") };
    case "UserPromptSubmit":
      return { kind: "prompt_submitted", prompt: textField(payload, "prompt") };
    case "Stop":
      return { kind: "turn_ended" };
    case "SessionEnd":
      return { kind: "session_end", reason: textField(payload, "reason") };
  }
  return null;
}

/**
 * The one hook command of every session, as a shell line that agents run: this Node and the fixed script, nothing else. It does
 * not vary with the session, so that an agent that remembers what it trusts (Codex) is asked once.
 */
export function hookCommand(node: string = process.execPath): string {
  return `${shellQuoted(node)} ${shellQuoted(fileURLToPath(new URL("./hook.mjs", import.meta.url)))}`;
}

/** In double quotes where that is safe in every shell, else in single ones. */
function shellQuoted(path: string): string {
  return /^[\w./@+-]+$/.test(path) ? `"${path}"` : `'${path.replaceAll("'", `'\\''`)}'`;
}

/** What somebody decided on a permission. */
export interface PermissionAnswer {
  readonly decision: "allow" | "deny";
  /** Told to the agent with a denial. */
  readonly message: string | null;
  /** To a question: the answer to each, by the question's text. */
  readonly answers: Readonly<Record<string, string>>;
}

const noReason = "The user does not allow this.";

/**
 * An answer as a PermissionRequest hook gives it, in both agents (measured). Claude Code takes an answered question and an approved plan
 * only with the call's input, into which the answers go; a bare "allow" leaves the dialog open.
 */
export function toHookDecision(asks: PendingPermission["kind"], answer: PermissionAnswer): HookDecision {
  const { decision: behavior, message, answers } = answer;
  if (behavior === "deny") return { decision: { behavior, message: message ?? noReason } };
  if (asks === "permission") return { decision: { behavior } };
  return { decision: { behavior }, input: asks === "question" ? { answers } : {} };
}

/** What a hook is told to pass on, in its agent's own form. */
export interface HookDecision {
  readonly decision: Readonly<Record<string, unknown>>;
  /** Laid over the call's own input, for what an agent allows only with more than it had (the answers to a question). */
  readonly input?: Readonly<Record<string, unknown>>;
}

const wantedSchema = z.strictObject({ permissionId: z.string().regex(/^[0-9a-f]{32}$/) });
const takenSchema = z.strictObject({ taken: z.literal(true) });

/** What a hook asks for; null for anything that is not of the hook script's form. */
export function parseWanted(line: string): string | null {
  return parse(wantedSchema, line)?.permissionId ?? null;
}

/** Whether a hook says that it passed the decision on to its agent. */
export function parseTaken(line: string): boolean {
  return parse(takenSchema, line) !== null;
}

function parse<T>(schema: z.ZodType<T>, line: string): T | null {
  try {
    return schema.safeParse(JSON.parse(line)).data ?? null;
  } catch {
    return null; // not a message: it asks nothing
  }
}
