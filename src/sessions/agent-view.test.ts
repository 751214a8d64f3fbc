import { expect, test } from "vitest";
import type { ObservedActivity } from "../agents/template.ts";
import { initialActivity, type OpenPermission } from "./activity.ts";
import { isSame, observedChanges, type StateObservation } from "./agent-view.ts";

const hookAt = 1_000;
const permission: OpenPermission = {
  permissionId: "1",
  kind: "permission",
  tool: "Bash",
  input: {},
  askedAt: "2026-01-01T00:00:00.000Z",
  answerable: false,
  callKey: "k",
  subagent: null,
};

/** An observation that is newer than all reports and was made twice, except for `changes`. */
function look(
  activity: ObservedActivity,
  state: Partial<StateObservation["state"]>,
  changes: Partial<StateObservation> = {},
) {
  return observedChanges({
    state: { ...initialActivity, ...state },
    observed: { activity, since: hookAt + 1, hooked: false },
    repeated: true,
    observedForMs: 500,
    reportedAt: hookAt,
    silent: false,
    restingMs: 10_000,
    ...changes,
  });
}

const asked = { activity: "needs_permission", permissions: [permission] } as const;
const older = { activity: "working", since: hookAt - 1, hooked: true } as const;

test("a turn that no hook reported, such as a prompt that the agent itself had queued, is seen at once", () => {
  expect(look("working", { activity: "idle" }, { repeated: false })).toEqual([{ kind: "turn_seen" }]);
  expect(look("working", { activity: "limited" }, { repeated: false })).toEqual([{ kind: "turn_seen" }]);
  expect(look("working", { activity: "working" })).toEqual([]);
});

test("an agent that was busy before its turn ended, and still is, continues in the background", () => {
  expect(look("working", { activity: "idle" }, { observed: older })).toEqual([{ kind: "background_seen" }]);
  expect(look("working", { activity: "idle" }, { observed: older, restingMs: 300 })).toEqual([]);
});

test("a turn that ended without a hook is over at once; an idle that is older than the newest prompt says nothing", () => {
  expect(look("idle", { activity: "working" }, { repeated: false })).toEqual([{ kind: "turn_over" }]);
  const before = { activity: "idle", since: hookAt - 1, hooked: true } as const;
  expect(look("idle", { activity: "working" }, { observed: before })).toEqual([]);
  expect(look("idle", { activity: "working" }, { observed: before, silent: true })).toEqual([{ kind: "turn_over" }]);
  expect(look("idle", { activity: "working", inBackground: true })).toEqual([{ kind: "turn_over" }]);
});

test("a question is closed only when the agent was found without a dialog twice: another one may follow", () => {
  expect(look("working", asked, { repeated: false })).toEqual([]);
  expect(look("working", asked)).toEqual([{ kind: "dialog_closed", activity: "working" }]);
  expect(look("idle", asked)).toEqual([{ kind: "dialog_closed", activity: "idle" }]);
  expect(look("working", asked, { observed: older }), "its dialog is still to come").toEqual([]);
});

test("a dialog that no hook reported needs an answer, until it is gone", () => {
  expect(look("needs_answer", { activity: "idle" }, { repeated: false })).toEqual([]);
  expect(look("needs_answer", { activity: "idle" })).toEqual([{ kind: "dialog_seen", activity: "needs_answer" }]);
  expect(look("needs_permission", asked)).toEqual([]);
  expect(look("needs_answer", { activity: "needs_answer" })).toEqual([]);
  expect(look("idle", { activity: "needs_answer" })).toEqual([{ kind: "dialog_closed", activity: "idle" }]);
});

test("a dialog with a hook waits a while for that hook, which has the question", () => {
  const observed = { activity: "needs_permission", since: hookAt + 1, hooked: true } as const;
  expect(look("needs_permission", { activity: "working" }, { observed })).toEqual([]);
  expect(look("needs_permission", { activity: "working" }, { observed, observedForMs: 2_500 })).toEqual([
    { kind: "dialog_seen", activity: "needs_permission" },
  ]);
});

test("an agent whose hooks are forbidden is idle by its own word", () => {
  expect(look("idle", { activity: "starting" })).toEqual([{ kind: "composer_painted" }]);
});

test("a report without a time counts when nothing else reports", () => {
  const observed = { activity: "idle", since: null, hooked: true } as const;
  expect(look("idle", { activity: "working" }, { observed })).toEqual([]);
  expect(look("idle", { activity: "working" }, { observed, silent: true })).toEqual([{ kind: "turn_over" }]);
});

test("what is known and what the agent says agree, or have to be looked at again", () => {
  const observed = (activity: ObservedActivity) => ({ activity, since: null, hooked: true });
  expect(isSame(observed("idle"), { activity: "limited", inBackground: false })).toBe(true);
  expect(isSame(observed("idle"), { activity: "working", inBackground: true })).toBe(false);
  expect(isSame(observed("working"), { activity: "idle", inBackground: false })).toBe(false);
});
