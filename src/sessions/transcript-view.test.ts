import { expect, test } from "vitest";
import { summaryWith } from "../../test/support/transcript-summary.ts";
import type { TurnState } from "../transcripts/index.ts";
import { initialActivity } from "./activity.ts";
import { type TranscriptContext, transcriptChanges, unreadTranscript } from "./transcript-view.ts";

const idle = { ...initialActivity, started: true, activity: "idle" } as const;
const working = { ...idle, activity: "working", turnRuns: true } as const;

/** A transcript with one turn, which started after the agent was idle unless `begun` is false. */
function look(lastTurn: TurnState, changes: Partial<TranscriptContext> & { begun?: boolean } = {}) {
  const { begun = true, ...rest } = changes;
  const view = {
    ...unreadTranscript,
    summary: summaryWith({ turnCount: 1, lastTurn }),
    turnsWhenIdle: begun ? 0 : 1,
    settled: begun,
  };
  return transcriptChanges(view, {
    activity: working,
    hasHooks: true,
    stateReports: false,
    silent: false,
    awaitsPrompt: false,
    promptTaken: null,
    ...rest,
  });
}

test("an agent without a state file begins and ends its turns by its transcript, whatever its hooks left out", () => {
  expect(look({ kind: "open" }, { activity: idle })).toEqual([{ kind: "turn_seen" }]);
  expect(look({ kind: "open" }, { activity: idle, begun: false })).toEqual([]);
  expect(look({ kind: "ended" })).toEqual([{ kind: "turn_over" }]);
  expect(look({ kind: "aborted" })).toEqual([{ kind: "turn_over" }]);
  expect(look({ kind: "ended" }, { begun: false }), "the turn before").toEqual([]);
});

test("a turn that failed says what it needs", () => {
  expect(look({ kind: "failed", message: "no", needs: "limit_reset" })).toEqual([
    { kind: "turn_failed", message: "no", needs: "limit_reset" },
  ]);
  expect(look({ kind: "failed", message: "no" })).toEqual([{ kind: "turn_failed", message: "no" }]);
});

test("with a state file, the transcript does not end turns, but confirms prompts", () => {
  expect(look({ kind: "ended" }, { stateReports: true })).toEqual([]);
  expect(look({ kind: "open" }, { stateReports: true, activity: idle })).toEqual([]);
  expect(look({ kind: "open" }, { stateReports: true, activity: idle, promptTaken: "hi" })).toEqual([
    { kind: "prompt_seen", prompt: "hi" },
  ]);
});

test("a prompt that is on its way waits for its hook", () => {
  expect(look({ kind: "open" }, { activity: idle, awaitsPrompt: true })).toEqual([]);
});
