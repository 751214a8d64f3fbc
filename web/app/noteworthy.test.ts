import { expect, test } from "vitest";
import type { SessionEvent } from "../../src/wire/events.ts";
import { noteworthy } from "./noteworthy.ts";

const head = { id: "0".repeat(26), at: "2026-01-01T00:00:00Z", sessionId: "s1", agent: "codex", dir: "/code/a" };

const events: readonly (readonly [SessionEvent, string | null])[] = [
  [
    { ...head, kind: "session.activity", activity: "needs_permission", previous: "working" },
    "Codex asks for permission",
  ],
  [{ ...head, kind: "session.activity", activity: "needs_answer", previous: "working" }, "Codex has a question"],
  [{ ...head, kind: "session.activity", activity: "working", previous: "idle" }, null],
  [{ ...head, kind: "session.turn_ended" }, "Codex has finished"],
  [{ ...head, kind: "session.exited", status: "failed", exitCode: 1, signal: null }, "Codex has failed"],
  [{ ...head, kind: "session.exited", status: "completed", exitCode: 0, signal: null }, null],
  [{ ...head, kind: "session.closed" }, null],
];

test.each(events)("of %o somebody is told: %s", (event, words) => {
  expect(noteworthy(event)).toBe(words);
});
