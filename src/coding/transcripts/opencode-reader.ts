import { createOpenCodeIndexer } from "./opencode-index.ts";
import { createOpenCodeTurnBuilder } from "./opencode-turn.ts";
import type { TranscriptReader } from "./turn-index.ts";

/** Reads a session's log in `<data>/opencode/opencode.db` as OpenCode 1.18 writes it. */
export const openCodeReader: TranscriptReader = {
  createIndexer: createOpenCodeIndexer,
  createTurnBuilder: createOpenCodeTurnBuilder,
};
