import type { TranscriptFormat } from "../../transcripts/index.ts";
import { createCodexIndexer } from "./codex-index.ts";
import { isSubagentRollout } from "./codex-lines.ts";
import { createCodexTurnBuilder } from "./codex-turn.ts";
import { withEarlierParts } from "./rollout-chain.ts";
import { readCodexText } from "./turn-collector-codex.ts";

/** Reads `<home>/sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl` in every form from the first versions of Codex to 0.169. */
export const codexFormat: TranscriptFormat = {
  createIndexer: createCodexIndexer,
  createTurnBuilder: createCodexTurnBuilder,
  readText: readCodexText,
  isPart: isSubagentRollout,
  withEarlierParts,
};
