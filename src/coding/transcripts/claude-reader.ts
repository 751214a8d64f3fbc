import { createClaudeIndexer } from "./claude-index.ts";
import { createClaudeTurnBuilder } from "./claude-turn.ts";
import type { TranscriptReader } from "./turn-index.ts";

/** Reads `<config>/projects/<folder>/<id>.jsonl` as Claude Code 1.0 to 2.1 writes it. */
export const claudeReader: TranscriptReader = {
  createIndexer: createClaudeIndexer,
  createTurnBuilder: createClaudeTurnBuilder,
};
