import { z } from "zod";
import type { HookClaim, HookEvent } from "./template.ts";

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
    transcriptPath: parsed.data.transcript_path ?? null,
    cwd: parsed.data.cwd ?? null,
  };
}

/** A field of a payload as text; empty when it is missing or something else. */
export function textField(payload: HookPayload, name: string): string {
  const value = payload[name];
  return typeof value === "string" ? value : "";
}

/** The hook events that both agents word alike; null for the others. */
export function sharedEvent(payload: HookPayload): HookEvent | null {
  const tool = textField(payload, "tool_name");
  switch (payload.hook_event_name) {
    case "PermissionRequest":
      // Also from inside a sub-agent: the dialog is the session's.
      return { kind: "permission_asked", tool, input: payload["tool_input"] ?? null };
    case "PostToolUse":
      return { kind: "tool_ended", tool, input: payload["tool_input"] ?? null };
  }
  if (typeof payload.agent_id === "string" && payload.agent_id !== "") return null;
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
