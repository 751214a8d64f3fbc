import { describe, expect, test } from "vitest";
import { claudeCode } from "./claude-code/claude-code.ts";
import { codex } from "./codex/codex.ts";
import type { AgentTemplate, HookEvent } from "./template.ts";

/** Payloads as Claude Code 2.1.329 and Codex 0.169.0 wrote them, paths and ids shortened. */
const claudeBase = {
  session_id: "c7ac9168-4625-4f5b-810a-9b883df78b89",
  transcript_path: "/state/projects/-work/c7ac9168-4625-4f5b-810a-9b883df78b89.jsonl",
  cwd: "/work",
};
const codexBase = {
  session_id: "01a1fdf6-310a-7d22-bfd4-89acc38633e6",
  transcript_path: "/state/sessions/2026/11/21/rollout-2026-11-21T11-55-32-01a1fdf6-310a-7d22-bfd4-89acc38633e6.jsonl",
  cwd: "/work",
  model: "gpt-6.1-sol",
  permission_mode: "default",
};

function read(template: AgentTemplate, payload: object): HookEvent | null {
  return template.parseHook(JSON.stringify(payload))?.event ?? null;
}
const fromClaude = (payload: object): HookEvent | null => read(claudeCode, { ...claudeBase, ...payload });
const fromCodex = (payload: object): HookEvent | null => read(codex, { ...codexBase, ...payload });

describe.each([
  ["Claude Code", claudeCode, claudeBase],
  ["Codex", codex, codexBase],
] as const)("%s", (_title, template, base) => {
  test("the beginning and end of a session and of its turns", () => {
    const events = [
      { hook_event_name: "SessionStart", source: "startup" },
      { hook_event_name: "UserPromptSubmit", prompt: "do it", turn_id: "t" },
      { hook_event_name: "Stop", stop_hook_active: false, last_assistant_message: "done" },
      { hook_event_name: "SessionEnd", reason: "clear" },
    ];
    expect(events.map((event) => read(template, { ...base, ...event }))).toEqual([
      { kind: "session_start", reason: "startup" },
      { kind: "prompt_submitted", prompt: "do it" },
      { kind: "turn_ended" },
      { kind: "session_end", reason: "clear" },
    ]);
  });

  test("the claims that come with the event", () => {
    const claim = template.parseHook(JSON.stringify({ ...base, hook_event_name: "Stop" }));
    expect(claim).toMatchObject({
      agentSessionId: base.session_id,
      transcriptPath: base.transcript_path,
      cwd: "/work",
    });
  });

  test("an event inside a sub-agent starts and ends nothing, and names no transcript", () => {
    const inside = { ...base, agent_id: "a03745d72b2ebbad5", agent_type: "general-purpose" };
    for (const event of ["SessionStart", "UserPromptSubmit", "Stop", "StopFailure", "SessionEnd", "SubagentStop"]) {
      expect(read(template, { ...inside, hook_event_name: event })).toBeNull();
    }
    const question = {
      ...inside,
      hook_event_name: "PermissionRequest",
      tool_name: "Bash",
      tool_input: { command: "x" },
    };
    expect(template.parseHook(JSON.stringify(question))).toMatchObject({
      event: { kind: "permission_asked", subagent: "a03745d72b2ebbad5" },
      transcriptPath: null,
    });
  });

  test("an invalid payload is ignored", () => {
    for (const text of ["", "{", "[]", "null", '"x"', "{}", '{"session_id":1,"hook_event_name":"Stop"}']) {
      expect(template.parseHook(text)).toBeNull();
    }
    expect(read(template, { ...base, hook_event_name: "SomethingNew" })).toBeNull();
    expect(read(template, { ...base, hook_event_name: "Stop", session_id: "" })).toBeNull();
  });
});

test("Claude Code: the question about a call and its end have one key", () => {
  const input = { command: "touch x.txt", description: "Run the command of the script" };
  const asked = fromClaude({ hook_event_name: "PermissionRequest", tool_name: "Bash", tool_input: input });
  const ended = { hook_event_name: "PostToolUse", tool_name: "Bash", tool_input: input, tool_use_id: "toolu_1" };
  expect(asked).toMatchObject({ kind: "permission_asked", tool: "Bash", input, subagent: null });
  expect(fromClaude(ended)).toEqual({ ...asked, kind: "tool_ended", asks: undefined, cwd: undefined });
  expect(fromClaude({ ...ended, hook_event_name: "PostToolUseFailure", error: "Exit code 3" })).toEqual({
    ...asked,
    kind: "tool_ended",
    asks: undefined,
    cwd: undefined,
  });
  expect(fromClaude({ ...ended, tool_input: { command: "touch y.txt" } })).not.toHaveProperty("callKey", keyOf(asked));
  expect(fromClaude({ ...ended, tool_name: "Other" })).not.toHaveProperty("callKey", keyOf(asked));
});

test("Claude Code: a request for more than permission is marked as such", () => {
  const asks = (tool: string) =>
    fromClaude({ hook_event_name: "PermissionRequest", tool_name: tool, tool_input: {}, agent_id: "sub" });
  expect(asks("AskUserQuestion")).toMatchObject({ asks: "question", subagent: "sub" });
  expect(asks("ExitPlanMode")).toMatchObject({ asks: "plan" });
  expect(asks("Write")).toMatchObject({ asks: "permission" });
});

test("Claude Code: a question to the user keeps its key when the answers come", () => {
  const questions = [
    { question: "Which?", header: "H", options: [{ label: "A", description: "a" }], multiSelect: false },
  ];
  const call = { tool_name: "AskUserQuestion", hook_event_name: "PermissionRequest", tool_input: { questions } };
  const end = {
    ...call,
    hook_event_name: "PostToolUse",
    tool_input: { questions, answers: { "Which?": "A" }, annotations: {} },
  };
  expect(keyOf(fromClaude(end))).toBe(keyOf(fromClaude(call)));
});

test("Codex: the key is the same although the end leaves out the reason and adds a newline", () => {
  const asked = {
    hook_event_name: "PermissionRequest",
    tool_name: "Bash",
    tool_input: { command: "touch b", description: "x" },
  };
  const ended = {
    hook_event_name: "PostToolUse",
    tool_name: "Bash",
    tool_input: { command: "touch b" },
    tool_response: "",
  };
  expect(keyOf(fromCodex(ended))).toBe(keyOf(fromCodex(asked)));
  const patch = "*** Begin Patch\n*** Add File: a.txt\n+hi\n*** End Patch";
  const edit = { hook_event_name: "PermissionRequest", tool_name: "apply_patch", tool_input: { command: patch } };
  const edited = { ...edit, hook_event_name: "PostToolUse", tool_input: { command: `${patch}\n` } };
  expect(keyOf(fromCodex(edited))).toBe(keyOf(fromCodex(edit)));
  expect(keyOf(fromCodex(edited))).not.toBe(keyOf(fromCodex(asked)));
});

function keyOf(event: HookEvent | null): string | null {
  return event?.kind === "permission_asked" || event?.kind === "tool_ended" ? event.callKey : null;
}

test("Claude Code: a failed turn has the reason that must be resolved first", () => {
  const failed = (error: string): HookEvent | null =>
    fromClaude({ hook_event_name: "StopFailure", error, last_assistant_message: "Not logged in · Please run /login" });
  const message = "Not logged in · Please run /login";
  expect(failed("authentication_failed")).toEqual({ kind: "turn_failed", message, needs: "login" });
  expect(failed("rate_limit")).toEqual({ kind: "turn_failed", message, needs: "limit_reset" });
  expect(failed("unknown")).toEqual({ kind: "turn_failed", message });
});
