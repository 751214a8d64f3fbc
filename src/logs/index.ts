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
import { createDeletion } from "./deletion.ts";
import { findEntities } from "./entities.ts";
import { createExtraction } from "./extraction.ts";
import { factFilter, findFacts } from "./facts.ts";
import { type Recorded, recordSession, type SessionRecording, type Submitted, submitLog } from "./ingest.ts";
import { listLogs, readLog } from "./log-list.ts";
import { createLogIds } from "./log-rows.ts";
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
import { previewDeletion } from "./preview.ts";
import { searchLogs } from "./search.ts";
import { createSharedWrites } from "./shared-writes.ts";
import { visibilityFilterOf } from "./visibility-filter.ts";

export type { Assertion, EntityRef } from "./assertion.ts";
export { removeAllLogs, removeLogs } from "./delete-logs.ts";
export type { LogsErrorCode } from "./errors.ts";
export { createModelExtractor } from "./extractor/model-extractor.ts";
export { type AccountForgetting, createAccountForgetting } from "./forget-account.ts";
export type { Recorded, SessionRecording, Submitted } from "./ingest.ts";
export type { RemovedRows } from "./logs-database.ts";
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
 * The memory of sessions: what was asked, decided, changed and run. Everything is one account's; an entry of another, or of a directory
 * that the caller may not see, is not found, as one that never was. All that comes out of it is untrusted: it comes from transcripts and callers.
 */
export interface Logs {
  /**
   * Remembers what a caller submits: `pending` when an extractor takes its time, else at once.
   * @param options `idempotencyKey`: the same with the same key is remembered once
   * @throws PosternError `idempotency_conflict`, and those of {@link ResolveDir} for its `dir`
   */
  submit(
    caller: LogsCaller,
    input: SubmitLogInput,
    options?: { readonly idempotencyKey?: string | undefined },
  ): Promise<Submitted>;
  /** Remembers turns of a session, each once; what was deleted only when it is on purpose. */
  record(accountId: string, recording: SessionRecording): Promise<Recorded>;

  /**
   * The newest first; of a session by any name that it ever had.
   * @throws PosternError `invalid_request` for a cursor that is none
   */
  list(caller: LogsCaller, input: ListLogsInput): Promise<LogPage>;
  /** With what was derived from it. @throws PosternError `log_not_found` */
  get(caller: LogsCaller, logId: string): Promise<LogDetail>;
  /** Entries in which all words occur, the best first; of a session by any name that it ever had. */
  search(caller: LogsCaller, input: SearchLogsInput): Promise<LogSearch>;
  /** Facts with the time that they hold. @throws PosternError `invalid_request` */
  facts(caller: LogsCaller, input: FactsInput): Promise<FactPage>;
  /** @throws PosternError `invalid_request` for a cursor that is none */
  entities(caller: LogsCaller, input: EntitiesInput): Promise<EntityPage>;
  /** Every fact about an entity, as subject or object, the newest first. @throws PosternError `invalid_request` */
  timeline(caller: LogsCaller, entityId: string, input?: TimelineInput): Promise<FactPage>;

  /** What {@link Logs.delete} would remove now. @throws PosternError `log_not_found` */
  preview(caller: LogsCaller, logId: string): Promise<DeletionPreview>;
  /**
   * Deletes an entry with everything that only it said, for good.
   * @see the seed, `DELETE /api/v1/logs/{logId}`
   * @param by who, for the line of the audit that is kept of it
   * @throws PosternError `log_not_found`
   */
  delete(caller: LogsCaller, logId: string, by: DeletionOrigin): Promise<LogDeletion>;
  /** All entries of a session, by whatever name of it: all are gone at the same moment. @throws PosternError `log_not_found` when there is none */
  deleteSession(caller: LogsCaller, sessionId: string, by: DeletionOrigin): Promise<SessionLogDeletion>;

  /** Whether something that was deleted waits for a reader to leave the store's file. */
  readonly isErasurePending: boolean;
  /** Resolves when no entry is pending that can be done now. */
  settled(): Promise<void>;
  /** Idempotent. */
  close(): Promise<void>;
}

/** Opens the memory in a store, and finishes what an earlier process began: erasures and extractions. */
export async function openLogs(deps: {
  readonly db: Kysely<Tables>;
  readonly dialect: "sqlite" | "postgres";
  readonly clock: Clock;
  readonly searchText: SearchText;
  readonly visibleAmong: VisibleAmong;
  readonly resolveDir: ResolveDir;
  readonly namesOf: NamesOf;
  readonly noteDeletion: NoteDeletion;
  /** The store's, closed by who made it. */
  readonly erasure: Erasure;
  readonly log?: Log;
  /** Finds more than the rules do; null for the rules alone. */
  readonly extractor?: Extractor | null;
}): Promise<Logs> {
  const { extractor = null, log = silentLog, erasure } = deps;
  const all = { ...deps, log, newId: createLogIds(), write: createSharedWrites(deps), later: extractor !== null };
  await erasure.start();
  const extraction = createExtraction({ ...all, extractor });
  const deletion = createDeletion({ ...all, extraction });
  const see = (caller: LogsCaller) => visibilityFilterOf(all, caller);
  /** Its failures are the entries' own, or the store's, which the next call meets too. */
  const wake = (): void => {
    extraction
      .wake()
      .catch((error: unknown) => log.warn({ reason: String(error) }, "entries could not be derived from"));
  };
  wake();
  deletion
    .resume()
    .catch((error: unknown) =>
      log.warn({ reason: String(error) }, "a deletion is not finished: it continues at the next start"),
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
      // A deletion ends after its current transaction; the next start does the rest.
      await Promise.all([deletion.close(), extraction.close()]);
    },
  };
}
