import { expect, test } from "vitest";
import type { TurnState } from "../transcripts/index.ts";
import { initialActivity } from "./activity.ts";
import { type TranscriptLook, transcriptNews } from "./transcript-news.ts";

const idle = { ...initialActivity, started: true, activity: "idle" } as const;
const working = { ...idle, activity: "working", turnRuns: true } as const;

function look(lastTurn: TurnState, changes: Partial<Omit<TranscriptLook, "transcript">> & { begun?: boolean } = {}) {
  const summary = {
    path: "/t",
    agentSessionId: null,
    cwd: null,
    branch: null,
    model: null,
    title: null,
    createdAt: null,
    updatedAt: null,
    turnCount: 1,
    lastTurn,
    sizeBytes: 1,
    turnLines: 1,
    skippedLines: 0,
  };
  const { begun = true, ...rest } = changes;
  return transcriptNews({
    state: working,
    transcript: { summary, hasNewTurn: begun, newTurnIsOver: begun && lastTurn.kind !== "open", hasBegun: begun },
    hasHooks: true,
    stateTells: false,
    awaitsPrompt: false,
    promptTaken: null,
    ...rest,
  });
}

test("an agent without a state file begins and ends its turns by its transcript, whatever its hooks left out", () => {
  expect(look({ kind: "open" }, { state: idle })).toEqual([{ kind: "turn_seen" }]);
  expect(look({ kind: "open" }, { state: idle, begun: false })).toEqual([]);
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

test("where a state file tells, the transcript says nothing of a turn's end, but confirms a prompt", () => {
  expect(look({ kind: "ended" }, { stateTells: true })).toEqual([]);
  expect(look({ kind: "open" }, { stateTells: true, state: idle })).toEqual([]);
  expect(look({ kind: "open" }, { stateTells: true, state: idle, promptTaken: "hi" })).toEqual([
    { kind: "prompt_seen", prompt: "hi" },
  ]);
});

test("a prompt that is on its way waits for its hook", () => {
  expect(look({ kind: "open" }, { state: idle, awaitsPrompt: true })).toEqual([]);
});
