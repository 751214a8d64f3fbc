import { expect, test } from "vitest";
import { sessionRecord } from "../../test/support/session-record.ts";
import type { TurnState } from "../transcripts/index.ts";
import { summarize } from "./summary.ts";

const record = sessionRecord({
  sessionId: "0b0c0000-0000-4000-8000-000000000001",
  transcriptPath: "/code/rollout.jsonl",
  createdAt: 0,
  updatedAt: 0,
  exitCode: 0,
});

const notes = { title: null, pinned: false, archived: false, labels: [], seenAt: 0 };

function turnFailureAfter(lastTurn: TurnState | undefined): string | null {
  const facts = { title: "hi", updatedAt: null, turnCount: 1, model: null, branch: null, sizeBytes: 10 };
  const transcript = { ...facts, ...(lastTurn !== undefined && { lastTurn }) };
  return summarize({ record, live: null, transcript, external: null, queuedPrompts: 0, worktree: null, notes })
    .turnFailure;
}

test("a turn that failed says why, cut where a server sent a whole page; one that ended, runs or is unknown says nothing", () => {
  expect(turnFailureAfter({ kind: "failed", message: "Your credit is too low." })).toBe("Your credit is too low.");
  expect(turnFailureAfter({ kind: "failed", message: "x".repeat(5000) })).toBe("x".repeat(1000));
  for (const kind of ["none", "open", "ended", "aborted"] as const) expect(turnFailureAfter({ kind })).toBeNull();
  expect(turnFailureAfter(undefined)).toBeNull();
});
