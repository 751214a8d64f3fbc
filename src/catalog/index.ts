export { type Catalog, createCatalog } from "./catalog.ts";
export type { CatalogPlace } from "./catalog-database.ts";
export type { TranscriptRow } from "./catalog-tables.ts";
export { createForgottenSessions } from "./forgotten-sessions.ts";
export type { NotedFilter } from "./noted-filter.ts";
export { findTerms, parseQuery, type QueryTerm, searchText } from "./query.ts";
export {
  type FoundFilter,
  notedTitles,
  type RecordedTitle,
  recordedTitles,
  sessionsOf,
  wantedAmong,
} from "./query-rows.ts";
export { findTranscripts, type HeadText, type Hit, matchesOf } from "./query-search.ts";
export {
  type AliveSessions,
  type DirRow,
  dirRows,
  findSessions,
  labelRows,
  type SessionGrouping,
  type SessionRow,
  sessionDirs,
  transcriptRows,
} from "./session-rows.ts";
export { createTextStore } from "./text-index.ts";
export type { CatalogSource } from "./transcript-walk.ts";
