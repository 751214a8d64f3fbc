import type { Kysely } from "kysely";
import type { Clock } from "../core/clock.ts";
import { type Log, silentLog } from "../core/log.ts";
import type { Erasure } from "../storage/erasure.ts";
import type { Tables } from "../storage/schema.ts";
import type {
  DeletionPreview,
  EntitiesInput,
  EntityPage,
  FactPage,
  FactsInput,
  ListLogsInput,
  LogDeletion,
  LogDetail,
  LogPage,
  LogSearch,
  SearchLogsInput,
  SessionLogDeletion,
  SubmitLogInput,
  TimelineInput,
} from "../wire/logs.ts";
import { createDeletion, previewDeletion } from "./deletion.ts";
import { findEntities } from "./entities.ts";
import { createLogIds, listLogs, readLog } from "./entries.ts";
import { createExtraction } from "./extraction.ts";
import { factFilter, findFacts } from "./facts.ts";
import { type Recorded, recordSession, type SessionRecording, type Submitted, submitLog } from "./ingest.ts";
import { createSharedWrites } from "./logs-database.ts";
import type {
  DeletionOrigin,
  Extractor,
  LogsCaller,
  NamesOf,
  NoteDeletion,
  ResolveDir,
  SearchText,
  VisibleAmong,
} from "./ports.ts";
import { searchLogs } from "./search.ts";
import { visibilityFilterOf } from "./visibility-filter.ts";

export type { Assertion, EntityRef } from "./assertion.ts";
export { removeAllLogs, removeLogs } from "./delete-logs.ts";
export type { LogsErrorCode } from "./errors.ts";
export { createModelExtractor } from "./extractor/model-extractor.ts";
export type { Recorded, SessionRecording, Submitted } from "./ingest.ts";
export { type AccountForgetting, createAccountForgetting } from "./large-deletion.ts";
export type { RemovedRows } from "./logs-database.ts";
export { mask, maskSecrets, namesSecret } from "./mask-secrets.ts";
export type {
  DeletionNote,
  DeletionOrigin,
  Extractor,
  LogsCaller,
  NamesOf,
  NoteDeletion,
  ResolveDir,
  SearchTerm,
  SearchText,
  SessionPart,
  TermPlace,
  VisibleAmong,
} from "./ports.ts";
export { createRecorder, type Recorder } from "./recorder.ts";
export type { LogContext } from "./rules.ts";
export { createMemoryTools } from "./tools.ts";

/**
 * The memory of sessions: what was asked, decided, changed and run. Entries of other accounts, or of directories that the caller cannot
 * see, are not found. All content is untrusted: it comes from transcripts and callers.
 */
export interface Logs {
  /**
   * Stores what a caller submits. With an extractor the entry is `pending` first.
   * @param options `idempotencyKey`: repeated submissions with the same key are stored once
   * @throws PosternError `idempotency_conflict`, and the errors of {@link ResolveDir} for its `dir`
   */
  submit(
    caller: LogsCaller,
    input: SubmitLogInput,
    options?: { readonly idempotencyKey?: string | undefined },
  ): Promise<Submitted>;
  /** Records turns of a session, each once. Deleted turns are recorded again only on explicit request. */
  record(accountId: string, recording: SessionRecording): Promise<Recorded>;

  /** Newest first. `sessionId` can be any name the session ever had. @throws PosternError `invalid_request` for a bad cursor */
  list(caller: LogsCaller, input: ListLogsInput): Promise<LogPage>;
  /** With its facts and entities. @throws PosternError `log_not_found` */
  get(caller: LogsCaller, logId: string): Promise<LogDetail>;
  /** Entries that contain all words, best match first. `sessionId` can be any name the session ever had. */
  search(caller: LogsCaller, input: SearchLogsInput): Promise<LogSearch>;
  /** Facts with their validity. @throws PosternError `invalid_request` */
  facts(caller: LogsCaller, input: FactsInput): Promise<FactPage>;
  /** @throws PosternError `invalid_request` for a bad cursor */
  entities(caller: LogsCaller, input: EntitiesInput): Promise<EntityPage>;
  /** Every fact with the entity as subject or object, newest first. @throws PosternError `invalid_request` */
  timeline(caller: LogsCaller, entityId: string, input?: TimelineInput): Promise<FactPage>;

  /** What {@link Logs.delete} would remove now. @throws PosternError `log_not_found` */
  preview(caller: LogsCaller, logId: string): Promise<DeletionPreview>;
  /**
   * Permanently deletes an entry and everything only it refers to.
   * @param by the caller, for the audit log
   * @throws PosternError `log_not_found`
   */
  delete(caller: LogsCaller, logId: string, by: DeletionOrigin): Promise<LogDeletion>;
  /** Deletes all entries of a session at once. @throws PosternError `log_not_found` if there are none */
  deleteSession(caller: LogsCaller, sessionId: string, by: DeletionOrigin): Promise<SessionLogDeletion>;

  /** Whether erasing deleted entries waits for a reader of the store's file. */
  readonly isErasurePending: boolean;
  /** Resolves when no processable entry is pending. */
  settled(): Promise<void>;
  /** Idempotent. */
  close(): Promise<void>;
}

/** Opens the memory of a store, and continues erasures and extractions of an earlier process. */
export async function openLogs(deps: {
  readonly db: Kysely<Tables>;
  readonly dialect: "sqlite" | "postgres";
  readonly clock: Clock;
  readonly searchText: SearchText;
  readonly visibleAmong: VisibleAmong;
  readonly resolveDir: ResolveDir;
  readonly namesOf: NamesOf;
  readonly noteDeletion: NoteDeletion;
  /** Closed by its creator. */
  readonly erasure: Erasure;
  readonly log?: Log;
  /** Finds more than the rules do. */
  readonly extractor?: Extractor | null;
}): Promise<Logs> {
  const { extractor = null, log = silentLog, erasure } = deps;
  const all = { ...deps, log, newId: createLogIds(), write: createSharedWrites(deps), later: extractor !== null };
  await erasure.start();
  const extraction = createExtraction({ ...all, extractor });
  const deletion = createDeletion({ ...all, extraction });
  const see = (caller: LogsCaller) => visibilityFilterOf(all, caller);
  // Failures are stored with the entries, or are the store's, which the next call reports.
  const wake = (): void => {
    extraction.wake().catch((error: unknown) => log.warn({ reason: String(error) }, "cannot process memory entries"));
  };
  wake();
  deletion
    .resume()
    .catch((error: unknown) =>
      log.warn({ reason: String(error) }, "a deletion is unfinished; it continues at the next start"),
    );
  return {
    async submit(caller, input, options = {}) {
      const submitted = await submitLog(all, caller, { input, idempotencyKey: options.idempotencyKey });
      if (all.later && submitted.created) wake();
      return submitted;
    },
    async record(accountId, recording) {
      const recorded = await recordSession(all, accountId, recording);
      if (all.later && recorded.logIds.length > 0) wake();
      return recorded;
    },
    list: async (caller, input) => listLogs(all, await see(caller), input),
    get: async (caller, logId) => readLog(all, await see(caller), logId),
    search: async (caller, input) => searchLogs(all, await see(caller), input),
    facts: async (caller, input) => findFacts(all, await see(caller), factFilter(caller.accountId, input)),
    entities: async (caller, input) => findEntities(all, await see(caller), input),
    timeline: async (caller, entityId, input = {}) =>
      findFacts(all, await see(caller), { ...factFilter(caller.accountId, input), about: entityId }),
    preview: async (caller, logId) => previewDeletion(all, await see(caller), logId),
    delete: async (caller, logId, by) => deletion.one(await see(caller), logId, by),
    deleteSession: async (caller, sessionId, by) => deletion.session(await see(caller), sessionId, by),
    get isErasurePending() {
      return erasure.isPending;
    },
    settled: () => extraction.wake(),
    async close() {
      // A deletion stops after its current transaction and continues at the next start.
      await Promise.all([deletion.close(), extraction.close()]);
    },
  };
}
