import { expect, test } from "vitest";
import { sessionRecord } from "../../test/support/session-record.ts";
import { summaryWith } from "../../test/support/transcript-summary.ts";
import { dueSessions, sleptSince } from "./idle-retirement.ts";
import { idleEndsAt } from "./retirement.ts";
import { newSessionState, type SessionState } from "./session-state.ts";

const timeoutMs = 1_000;
const at = (ms: number) => ({ summary: summaryWith({ updatedAt: new Date(ms).toISOString() }) });
const created = newSessionState(sessionRecord(), "found", 9_000);
const unused: SessionState = {
  ...created,
  activity: { ...created.activity, activity: "idle", started: true },
  transcript: { ...created.transcript, ...at(200) },
};
const { activity, prompts, transcript, use, hooks, identity } = unused;
const prompt = { promptId: "p", prompt: "go on", state: "queued", sentAt: null } as const;
const permission = {
  ...({ permissionId: "1", kind: "permission", tool: "Bash", input: {}, askedAt: "", answerable: false } as const),
  ...{ callKey: "", subagent: null },
};

test.each<[string, Partial<SessionState>, number | null]>([
  ["it was resumed, by its record", { identity: { ...identity, record: sessionRecord({ updatedAt: 400 }) } }, 1_400],
  ["its transcript was written", {}, 1_200],
  ["its last hook came", { hooks: { ...hooks, any: true, lastAt: 500 } }, 1_500],
  ["its turn ended without a hook", { restingSince: 600 }, 1_600],
  ["its last viewer left", { use: { ...use, lastAt: 700 } }, 1_700],
  ["no time, as a turn runs", { activity: { ...activity, activity: "working", turnRuns: true } }, null],
  ["no time, as sub-agents work", { activity: { ...activity, activity: "working", inBackground: true } }, null],
  ["no time, as it starts", { activity: { ...activity, activity: "starting" } }, null],
  ["no time, as its dialog waits for a person", { activity: { ...activity, activity: "needs_attention" } }, null],
  ["no time, as a permission is open", { activity: { ...activity, permissions: [permission] } }, null],
  ["no time, as it has a viewer", { use: { ...use, viewers: 1 } }, null],
  ["no time, as a prompt waits", { prompts: { ...prompts, waiting: [prompt] } }, null],
  ["no time, as it has no conversation yet", { transcript: { ...transcript, summary: null } }, null],
  [
    "no time, as it is to keep running",
    { identity: { ...identity, record: sessionRecord({ keepRunning: true }) } },
    null,
  ],
  ["no time, as it is being ended", { life: { kind: "retiring", idleMs: 1 } }, null],
])("an agent ends a whole time after %s", (_what, differs, endsAt) => {
  expect(idleEndsAt({ ...unused, ...differs }, timeoutMs)).toBe(endsAt);
});

test("of the sessions that are due, the one that was idle for longest is ended first", () => {
  const [early, late, future, kept] = [{ idleEndsAt: 1 }, { idleEndsAt: 5 }, { idleEndsAt: 11 }, { idleEndsAt: null }];
  expect(dueSessions([late, kept, future, early], 10)).toEqual([early, late]);
});

test("a check that comes much later than planned shows that the machine slept", () => {
  expect(sleptSince(0, 60_000 + 40_000, 60_000)).toBe(false);
  expect(sleptSince(0, 8 * 3_600_000, 60_000)).toBe(true);
});
