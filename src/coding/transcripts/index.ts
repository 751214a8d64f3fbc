export type * from "./transcript.ts";
export { createTranscripts, type TranscriptsOptions } from "./transcripts.ts";
