import { createCodexIndexer } from "./codex-index.ts";
import { createCodexTurnBuilder } from "./codex-turn.ts";
import type { TranscriptReader } from "./turn-index.ts";

/** Reads `<home>/sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl` in every form from the first versions of Codex to 0.169. */
export const codexReader: TranscriptReader = {
  createIndexer: createCodexIndexer,
  createTurnBuilder: createCodexTurnBuilder,
};
