import { describe, expect, test } from "vitest";
import type { SessionEvent } from "../../src/wire/events.ts";
import { needsYou, noteworthy, projectOf, sessionState, sessionTitle, shortPath } from "./session-state.ts";

const running = {
  status: "running",
  activity: "working",
  owner: "gateway",
  closedAt: null,
  turnFailure: null,
  endedAfterIdleMs: null,
} as const;

describe("the state of a session", () => {
  test.each([
    ["needs_permission", "needs-you"],
    ["needs_answer", "needs-you"],
    ["needs_login", "needs-you"],
    ["working", "working"],
    ["idle", "idle"],
    ["limited", "limited"],
  ] as const)("%s has a %s indicator", (activity, tone) => {
    expect(sessionState({ ...running, activity }).tone).toBe(tone);
    expect(needsYou({ ...running, activity })).toBe(tone === "needs-you");
  });

  test("that has ended needs no attention, whatever it did last", () => {
    const ended = { ...running, status: "completed", activity: "needs_permission" } as const;
    expect(needsYou(ended)).toBe(false);
    expect(sessionState(ended).words).toBe("Ended");
    expect(sessionState({ ...ended, endedAfterIdleMs: 43_200_500 }).words).toBe("Ended after 12 hours idle");
    expect(sessionState({ ...ended, closedAt: "2026-01-01T00:00:00Z", endedAfterIdleMs: 1 }).words).toBe("Closed");
    expect(sessionState({ ...ended, status: "failed" })).toEqual({ tone: "failed", words: "Failed" });
  });

  test("that runs in another program is labelled so", () => {
    expect(sessionState({ ...running, owner: "external", activity: null }).words).toBe("Running outside Postern");
  });
});

test("a session whose last turn failed is not ready until the next turn runs", () => {
  const failed = { ...running, turnFailure: "Your credit is too low." };
  expect(sessionState({ ...failed, activity: "idle" })).toEqual({ tone: "failed", words: "Last turn failed" });
  expect(sessionState({ ...failed, activity: "working" }).words).toBe("Working");
  expect(sessionState({ ...failed, status: "completed", activity: null }).words).toBe("Ended");
});

test("a session in a worktree belongs to the worktree's project", () => {
  const worktree = {
    repository: "/code/app",
    path: "/code/app-try-it",
    branch: "try-it",
    baseBranch: "main",
    removed: false,
    rescue: null,
  };
  expect(projectOf({ dir: "/code/app-try-it/web", worktree })).toBe("/code/app");
  expect(projectOf({ dir: "/code/app/web", worktree: null })).toBe("/code/app/web");
});

test("a session without a title still has a name", () => {
  expect(sessionTitle({ title: "  " })).toBe("Untitled session");
  expect(sessionTitle({ title: "Fix it" })).toBe("Fix it");
});

test("a long path keeps its end", () => {
  expect(shortPath("/code/a")).toBe("/code/a");
  expect(shortPath("/home/ada/code/ledger")).toBe("…/code/ledger");
});

const head = { id: "0".repeat(26), at: "2026-01-01T00:00:00Z", sessionId: "s1", agent: "codex", dir: "/code/a" };

const events: readonly (readonly [SessionEvent, string | null])[] = [
  [
    { ...head, kind: "session.activity", activity: "needs_permission", previous: "working" },
    "Codex asks for permission",
  ],
  [{ ...head, kind: "session.activity", activity: "needs_answer", previous: "working" }, "Codex has a question"],
  [{ ...head, kind: "session.activity", activity: "working", previous: "idle" }, null],
  [{ ...head, kind: "session.turn_ended" }, "Codex has finished"],
  [
    { ...head, kind: "session.exited", status: "failed", exitCode: 1, signal: null, endedAfterIdleMs: null },
    "Codex has failed",
  ],
  [{ ...head, kind: "session.exited", status: "completed", exitCode: 0, signal: null, endedAfterIdleMs: null }, null],
  [{ ...head, kind: "session.closed" }, null],
  [{ ...head, kind: "session.queue_changed", queuedPrompts: 2 }, null],
];

test.each(events)("the notification of %o is: %s", (event, words) => {
  expect(noteworthy(event)).toBe(words);
});
