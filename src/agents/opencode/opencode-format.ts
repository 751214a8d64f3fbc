import type { TranscriptFormat } from "../../transcripts/index.ts";
import { openCodeDatabase } from "./opencode-database.ts";
import { isSubagentSession } from "./opencode-events.ts";
import { createOpenCodeIndexer } from "./opencode-index.ts";
import { createOpenCodeTurnBuilder } from "./opencode-turn.ts";
import { readOpenCodeText } from "./turn-collector-opencode.ts";

/** Reads a session's log in `<data>/opencode/opencode.db` as OpenCode 1.18 writes it. */
export const openCodeFormat: TranscriptFormat = {
  createIndexer: createOpenCodeIndexer,
  createTurnBuilder: createOpenCodeTurnBuilder,
  readText: readOpenCodeText,
  isPart: isSubagentSession,
  database: openCodeDatabase,
};
