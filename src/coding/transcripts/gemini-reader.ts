import { createGeminiIndexer } from "./gemini-index.ts";
import { createGeminiTurnBuilder } from "./gemini-turn.ts";
import type { TranscriptReader } from "./turn-index.ts";

/** Reads `<home>/.gemini/tmp/<project>/chats/session-<time>-<id's first 8>.jsonl` as Gemini CLI 0.61 writes it. */
export const geminiReader: TranscriptReader = {
  createIndexer: createGeminiIndexer,
  createTurnBuilder: createGeminiTurnBuilder,
};
