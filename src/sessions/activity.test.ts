import fc from "fast-check";
import { expect, test } from "vitest";
import { type ActivityState, initialActivity, nextActivity, type Observation } from "./activity.ts";
import { statusOf } from "./status.ts";

function after(...events: readonly Observation[]): ActivityState {
  return events.reduce(
    (state, event, index) => nextActivity(state, event, { at: 1_000 * index, permissionId: `p${index}` }),
    initialActivity,
  );
}

const prompted: Observation = { kind: "prompt_submitted", prompt: "do it" };
function call(tool: string, input: unknown, subagent: string | null) {
  return { tool, input, callKey: `${tool} ${JSON.stringify(input)}`, subagent };
}
const asked = (tool: string, input: unknown = {}, subagent: string | null = null): Observation => ({
  kind: "permission_asked",
  asks: "permission",
  ...call(tool, input, subagent),
});
const ended = (tool: string, input: unknown = {}, subagent: string | null = null): Observation => ({
  kind: "tool_ended",
  ...call(tool, input, subagent),
});

test("an agent starts, works and is idle again", () => {
  expect(after().activity).toBe("starting");
  expect(after({ kind: "session_start", reason: "startup" }).activity).toBe("idle");
  expect(after({ kind: "session_start", reason: "startup" }, prompted).activity).toBe("working");
  expect(after(prompted, { kind: "turn_ended" })).toMatchObject({ activity: "idle", promptsTaken: 1, turnsEnded: 1 });
});

test("a command that ends after the turn that began it begins no other turn", () => {
  const over = [prompted, { kind: "turn_ended" }] as const;
  expect(after(...over, ended("Bash"))).toMatchObject({ activity: "idle", turnRuns: false, turnsEnded: 1 });
  expect(after(...over, ended("Bash"), { kind: "turn_over" }), "it ended once").toMatchObject({ turnsEnded: 1 });
  expect(after(...over, prompted, ended("Bash")), "the next turn still runs").toMatchObject({ activity: "working" });
});

test("a painted composer makes a starting agent idle, and never a working one", () => {
  expect(after({ kind: "composer_painted" }).activity).toBe("idle");
  expect(after(prompted, { kind: "composer_painted" }).activity).toBe("working");
});

test("a permission stays open until its own tool ran, whatever else runs", () => {
  const open = after(prompted, asked("Bash", { command: "a" }), ended("Read"));
  expect(open.activity).toBe("needs_permission");
  expect(open.permissions).toMatchObject([
    {
      permissionId: "p1",
      kind: "permission",
      tool: "Bash",
      input: { command: "a" },
      askedAt: "1970-01-01T00:00:01.000Z",
      answerable: false,
    },
  ]);
  const both = after(
    prompted,
    asked("Bash", { command: "a" }),
    asked("Bash", { command: "b" }),
    ended("Bash", { command: "b" }),
  );
  expect(both.permissions.map(({ input }) => input)).toEqual([{ command: "a" }]);
  expect(after(prompted, asked("Bash"), ended("Bash")).activity).toBe("working");
});

const answered = (permissionId: string, decision: "allow" | "deny"): Observation => ({
  kind: "permission_answered",
  permissionId,
  decision,
});

test("an answer changes the state directly, because no hook reports a denial", () => {
  const denied = after(prompted, asked("Bash"), answered("p1", "deny"));
  expect(denied).toMatchObject({ activity: "working", permissions: [] });
  const again = nextActivity(denied, answered("p1", "deny"), { at: 9_000, permissionId: "" });
  expect(again, "the hook's note comes after the answer").toBe(denied);
  expect(after(prompted, asked("Bash"), answered("another", "allow")).activity).toBe("needs_permission");
});

test("the end of a call that was allowed through its hook answers no equal call", () => {
  const both = [prompted, asked("Bash"), asked("Bash"), answered("p1", "allow")] as const;
  expect(after(...both, ended("Bash")).permissions).toMatchObject([{ permissionId: "p2" }]);
  expect(after(...both, ended("Bash"), ended("Bash"))).toMatchObject({ activity: "working", permissions: [] });
});

test("a question or a plan alone needs an answer; a permission next to them comes first", () => {
  const question = { ...asked("AskUserQuestion"), asks: "question" } as const;
  expect(after(prompted, question).activity).toBe("needs_answer");
  expect(after(prompted, question, asked("Bash")).activity).toBe("needs_permission");
  expect(after(prompted, question, asked("Bash"), answered("p2", "allow")).activity).toBe("needs_answer");
});

test("a turn that is over, whichever way, leaves no permission open", () => {
  for (const over of [
    { kind: "turn_ended" },
    { kind: "turn_failed", message: "529" },
    { kind: "turn_over" },
  ] as const) {
    expect(after(prompted, asked("Bash"), over)).toMatchObject({ activity: "idle", permissions: [], turnsEnded: 1 });
  }
});

test("a sub-agent's question outlives the turn, until its call ends or the agent says that no dialog is open", () => {
  const open = [prompted, asked("Bash", {}, "helper"), { kind: "turn_ended" }] as const;
  expect(after(...open)).toMatchObject({ activity: "needs_permission", turnsEnded: 1 });
  expect(after(...open, prompted).activity).toBe("needs_permission");
  expect(after(...open, ended("Bash")).permissions).toEqual([]);
  expect(after(...open, { kind: "dialog_closed", activity: "idle" })).toMatchObject({
    activity: "idle",
    permissions: [],
  });
});

test("a sub-agent that works on after the turn leaves a resting session at rest", () => {
  const over = [prompted, { kind: "turn_ended" }] as const;
  expect(after(...over, ended("Bash", {}, "helper"))).toMatchObject({ activity: "idle", turnsEnded: 1 });
  const failed = [prompted, { kind: "turn_failed", message: "limit", needs: "limit_reset" }] as const;
  expect(after(...failed, ended("Bash", {}, "helper")).activity).toBe("limited");
  const open = [...over, asked("Bash", {}, "helper")] as const;
  expect(after(...open, ended("Bash", {}, "helper"))).toMatchObject({ activity: "idle", permissions: [] });
  expect(after(...open, { kind: "turn_ended" }).turnsEnded, "its question is not a turn").toBe(1);
  expect(after(prompted, ended("Bash", {}, "helper")).activity, "in the turn").toBe("working");
});

test("an end that is reported twice is one end", () => {
  expect(after(prompted, { kind: "turn_over" }, { kind: "turn_ended" }).turnsEnded).toBe(1);
});

test("an agent that waits for an answer is never idle, so that nothing is pasted into its dialog", () => {
  const events = fc.array(
    fc.oneof(
      fc.constant(prompted),
      fc.constantFrom(
        asked("Bash"),
        asked("Edit", { file: "a" }),
        ended("Bash"),
        ended("Edit", { file: "a" }),
        ended("Bash", {}, "helper"),
      ),
      fc.constantFrom<Observation>(
        { kind: "turn_ended" },
        { kind: "turn_over" },
        asked("Bash", {}, "helper"),
        { kind: "tool_started", tool: "Read" },
        { kind: "session_start", reason: "startup" },
        { kind: "composer_painted" },
      ),
    ),
  );
  fc.assert(
    fc.property(events, (list) => {
      const state = after(...list);
      if (state.permissions.length > 0) expect(state.activity).toBe("needs_permission");
      expect(state.turnsEnded).toBeLessThanOrEqual(list.length);
    }),
  );
});

test("a permission whose dialog appears after its turn has ended is needed, and no prompt is typed into it", () => {
  const [permission] = after(prompted, asked("Bash")).permissions;
  if (permission === undefined) throw new Error("nothing was asked");
  const over = [prompted, asked("Bash"), { kind: "turn_ended" }] as const;
  expect(after(...over)).toMatchObject({ activity: "idle", permissions: [] });
  const seen = [...over, { kind: "permission_seen", permission }] as const;
  expect(after(...seen)).toMatchObject({ activity: "needs_permission", permissions: [permission] });
  const answered = { kind: "permission_answered", permissionId: permission.permissionId, decision: "deny" } as const;
  expect(after(...seen, answered)).toMatchObject({ activity: "idle", permissions: [] });
  expect(after(...seen, { kind: "dialog_closed", activity: "idle" }).activity).toBe("idle");
});

test("the status follows from three facts", () => {
  const rows = [
    [true, false, false, "initializing"],
    [true, true, false, "running"],
    [true, false, true, "running"],
    [true, true, true, "running"],
    [false, false, false, "failed"],
    [false, true, false, "failed"],
    [false, false, true, "completed"],
    [false, true, true, "completed"],
  ] as const;
  for (const [alive, ready, hasTranscript, status] of rows) {
    expect(statusOf({ alive, ready, hasTranscript }), `${alive} ${ready} ${hasTranscript}`).toBe(status);
  }
});
