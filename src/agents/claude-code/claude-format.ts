import type { TranscriptFormat } from "../../transcripts/index.ts";
import { createClaudeIndexer } from "./claude-index.ts";
import { createClaudeTurnBuilder } from "./claude-turn.ts";
import { readClaudeText } from "./turn-collector-claude.ts";

/** Reads `<config>/projects/<folder>/<id>.jsonl` as Claude Code 1.0 to 2.1 writes it. */
export const claudeFormat: TranscriptFormat = {
  createIndexer: createClaudeIndexer,
  createTurnBuilder: createClaudeTurnBuilder,
  readText: readClaudeText,
};
