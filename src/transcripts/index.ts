export { type AttachedRef, attachedPathLine, splitAttached } from "./attached-files.ts";
export {
  countAt,
  type Fields,
  fieldsAt,
  isFields,
  isoSeconds,
  listAt,
  parseLine,
  pathAt,
  stringAt,
  timeOf,
} from "./json-fields.ts";
export { createPeek, looksLikeObject, peekFirstElement, peekNull, peekTrue, type Verdict } from "./json-peek.ts";
export type { FileStamp, LineSource } from "./line-source.ts";
export { headId, type LineSink, maxLineBytes, openBlockingSource, type ScanPosition } from "./line-source.ts";
export type { TranscriptSummary, TurnRange } from "./open-transcript.ts";
export { promptTitle, sessionTitle } from "./session-title.ts";
export {
  type CollectorMemory,
  type CollectorTurn,
  createFormat,
  type ReadText,
  type StoredSession,
  type TranscriptDatabase,
  type TranscriptFormat,
  type TranscriptFormats,
  type TurnOfLine,
} from "./transcript-format.ts";
export { createTranscripts, type Transcripts } from "./transcripts.ts";
export {
  createTurnLog,
  type FailureNeeds,
  failedTurn,
  type MessageForm,
  markSchema,
  messageFormSchema,
  readLine,
  readNewestFirst,
  type SavedIndexer,
  savedIndexerSchema,
  type TurnIndexer,
  type TurnMark,
  type TurnState,
} from "./turn-index.ts";
export { cut, type TurnDraft, toolInput, toolResult } from "./turn-parts.ts";
