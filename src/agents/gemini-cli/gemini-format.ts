import type { TranscriptFormat } from "../../transcripts/index.ts";
import { createGeminiIndexer } from "./gemini-index.ts";
import { createGeminiTurnBuilder } from "./gemini-turn.ts";
import { readGeminiText } from "./turn-collector-gemini.ts";

/** Reads `<home>/.gemini/tmp/<project>/chats/session-<time>-<id's first 8>.jsonl` as Gemini CLI 0.61 writes it. */
export const geminiFormat: TranscriptFormat = {
  createIndexer: createGeminiIndexer,
  createTurnBuilder: createGeminiTurnBuilder,
  readText: readGeminiText,
  // A resume leaves a file of the same session behind that never gets a turn (measured).
  isPart: () => true,
  sessionOnceTurn: true,
};
