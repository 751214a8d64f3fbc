export { openBlockingSource } from "./blocking-source.ts";
export { type FailureNeeds, isoSeconds } from "./failure.ts";
export { headId } from "./head-id.ts";
export {
  countAt,
  type Fields,
  fieldsAt,
  isFields,
  listAt,
  parseLine,
  pathAt,
  stringAt,
  timeOf,
} from "./json-fields.ts";
export { createPeek, looksLikeObject, peekFirstElement, peekNull, peekTrue, type Verdict } from "./json-peek.ts";
export type { FileStamp, LineSource } from "./line-source.ts";
export { type ChainLink, chainedSource } from "./line-source-chain.ts";
export { type LineSink, maxLineBytes, type ScanPosition } from "./line-splitter.ts";
export { markSchema, messageFormSchema, type SavedIndexer, savedIndexerSchema } from "./saved-indexer.ts";
export type { TranscriptSummary, Transcripts, TurnRange, TurnState } from "./transcript.ts";
export type { StoredSession, TranscriptDatabase, TranscriptFormat, TranscriptFormats } from "./transcript-format.ts";
export { createTranscripts } from "./transcripts.ts";
export type { CollectorMemory, CollectorTurn, ReadText, TurnOfLine } from "./turn-collector-turn.ts";
export { claudeImages, codexImages, geminiImages } from "./turn-images.ts";
export {
  interruptLast,
  type MessageForm,
  noFacts,
  type TranscriptFacts,
  type TurnBuilder,
  type TurnIndexer,
  type TurnMark,
} from "./turn-index.ts";
export { createTurnDraft, cut, sumOfUsages, type TurnDraft, titleFrom, toolInput, toolResult } from "./turn-parts.ts";
