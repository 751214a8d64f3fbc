import type { TranscriptSummary } from "../../src/transcripts/index.ts";

/** The summary of a transcript of which only this matters. */
export function summaryWith(changes: Partial<TranscriptSummary>): TranscriptSummary {
  return {
    path: "/t",
    agentSessionId: null,
    cwd: null,
    branch: null,
    model: null,
    title: null,
    createdAt: null,
    updatedAt: null,
    turnCount: 0,
    lastTurn: { kind: "none" },
    sizeBytes: 1,
    turnLines: 1,
    skippedLines: 0,
    ...changes,
  };
}
