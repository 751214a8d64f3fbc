import type { Clock } from "../core/clock.ts";
import { oneAtATime } from "../core/coalesce.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { entityTypeSchema, predicateSchema } from "../wire/logs.ts";
import {
  type Assertion,
  type EntityRef,
  entityIdOf,
  keyOf,
  maxAssertions,
  maxValueCharacters,
  type TaggedAssertion,
} from "./assertion.ts";
import { bodyOfRow, contextOfRow, findRow } from "./entries.ts";
import { type Derivable, type Episode, episodeOf, episodeText } from "./episode.ts";
import { insertEpisode } from "./episode-store.ts";
import { maskedText } from "./log-body.ts";
import { type LogsDatabase, writeFor } from "./logs-database.ts";
import type { Extractor, SearchText } from "./ports.ts";
import { everythingOf, isOfVisible, isVisible } from "./visibility-filter.ts";

/** For a whole entry, while other entries wait. */
const extractionTimeoutMs = 600_000;
const maxFailureCharacters = 300;

interface Asked {
  readonly found: readonly TaggedAssertion[];
  readonly failure: string | null;
}

/** Processes pending entries one at a time, taking accounts in turn, oldest entry first. */
export function createExtraction(
  deps: LogsDatabase & {
    readonly clock: Clock;
    readonly log: Log;
    readonly searchText: SearchText;
    readonly extractor: Extractor | null;
  },
) {
  const { db, clock, log, extractor, searchText } = deps;
  let running: { readonly logId: string; readonly controller: AbortController } | null = null;
  let closed = false;

  const pending = () =>
    db
      .selectFrom("log_entries")
      .where("status", "=", "pending")
      .where(isVisible(deps, everythingOf("")));

  const work = oneAtATime(async () => {
    const done = new Map<string, string>();
    const failures: unknown[] = [];
    for (let some = true; some; ) {
      some = false;
      const accounts = await pending().select("account_id").distinct().orderBy("account_id").execute();
      for (const { account_id } of accounts) {
        const next = await pending()
          .select("log_id")
          .where("account_id", "=", account_id)
          .where("log_id", ">", done.get(account_id) ?? "")
          .orderBy("log_id")
          .limit(1)
          .executeTakeFirst();
        if (closed) return;
        if (next === undefined) continue;
        done.set(account_id, next.log_id);
        some = true;
        // A failing entry must not hold up the others.
        await derive(account_id, next.log_id).catch((error: unknown) => failures.push(error));
      }
    }
    if (failures.length > 0) throw failures[0];
  });

  async function derive(accountId: string, logId: string): Promise<void> {
    const controller = new AbortController();
    running = { logId, controller }; // set before reading, so that `cancel` sees every deletion from here on
    try {
      const row = await findRow(deps, everythingOf(accountId), logId);
      // The entry may have been deleted, or the memory closed, in the meantime.
      if (row === null || controller.signal.aborted) return;
      const of: Derivable = {
        accountId,
        logId,
        title: row.title,
        sessionId: row.session_id,
        observedAt: row.observed_at,
        recordedAt: row.recorded_at,
        context: contextOfRow(row),
        body: bodyOfRow(row),
      };
      const asked = await ask(of, controller.signal);
      if (!controller.signal.aborted) await keep(of, asked);
    } finally {
      running = null;
    }
  }

  async function keep(of: Derivable, { found, failure }: Asked): Promise<void> {
    const { accountId, logId } = of;
    const episode = episodeOf(of, searchText, found);
    await writeFor(deps, accountId, async (tx) => {
      const { numUpdatedRows } = await tx.db
        .updateTable("log_entries")
        .set({ status: failure === null ? "ready" : "failed", failure })
        .where("log_id", "=", logId)
        .where("account_id", "=", accountId)
        .where("status", "=", "pending")
        .where(isVisible(tx, everythingOf(accountId)))
        .executeTakeFirstOrThrow();
      if (numUpdatedRows === 0n) return; // deleted, or processed elsewhere
      const ruled = await subjectsWithRules(tx, episode);
      const assertions = episode.assertions.filter((one) => !ruled.has(statusOf(accountId, one) ?? ""));
      await insertEpisode(tx, { ...episode, assertions });
    });
  }

  /** Runs outside any transaction. A failure is final and stored with the entry, which keeps only the facts of the rules. */
  async function ask({ logId, sessionId, observedAt, body }: Derivable, cancelled: AbortSignal): Promise<Asked> {
    if (extractor === null) return { found: [], failure: null };
    const late = new AbortController();
    const stop = clock.after(extractionTimeoutMs, () => late.abort(new Error("The model did not answer in time.")));
    try {
      const signal = AbortSignal.any([cancelled, late.signal]);
      const given = await extractor.extract(episodeText(body), { sessionId, observedAt, signal });
      return { found: allowedAssertions(given, extractor.name), failure: null };
    } catch (error) {
      const failure = maskedText(messageOf(error), maxFailureCharacters);
      if (!cancelled.aborted) log.warn({ logId, reason: failure }, "the extractor failed");
      return { found: [], failure };
    } finally {
      stop();
    }
  }

  return {
    /** Processes pending entries. Resolves when none is left. */
    wake: (): Promise<void> => work(),
    /** Stops processing deleted entries. */
    cancel(logIds: readonly string[]): void {
      if (running !== null && logIds.includes(running.logId))
        running.controller.abort(new Error("The entry was deleted."));
    },
    /** Idempotent. The entry being processed stays pending. */
    async close(): Promise<void> {
      closed = true;
      running?.controller.abort(new Error("The memory is closing."));
      await work().catch(() => undefined); // the caller of `wake` got the error
    },
  };
}

export type Extraction = ReturnType<typeof createExtraction>;

/** The entity whose `status` a model asserts; null for other assertions. */
function statusOf(accountId: string, { subject, predicate, extractor }: TaggedAssertion): string | null {
  return predicate === "status" && !extractor.startsWith("rules@") ? entityIdOf(accountId, subject) : null;
}

/** Entities whose `status` the rules found: a model, possibly misled by a page, must not supersede it. */
async function subjectsWithRules(on: LogsDatabase, { accountId, assertions }: Episode): Promise<ReadonlySet<string>> {
  const asked = [...new Set(assertions.flatMap((one) => statusOf(accountId, one) ?? []))];
  if (asked.length === 0) return new Set();
  const rows = await on.db
    .selectFrom("facts")
    .select("subject_id")
    .distinct()
    .where("account_id", "=", accountId)
    .where("subject_id", "in", asked)
    .where("predicate", "=", "status")
    .where("extractor", "like", "rules@%")
    .where(isOfVisible(on, everythingOf(accountId), "facts.log_id"))
    .execute();
  return new Set(rows.map(({ subject_id }) => subject_id));
}

/** Validates and masks an extractor's assertions. */
function allowedAssertions(given: readonly Assertion[], extractor: string): readonly TaggedAssertion[] {
  return given.slice(0, maxAssertions).flatMap(({ subject, predicate, object, at }) => {
    if (!predicateSchema.safeParse(predicate).success || !Number.isSafeInteger(at)) return [];
    const who = allowedEntity(subject);
    const what = typeof object === "string" ? maskedText(object, maxValueCharacters) : allowedEntity(object);
    return who === null || what === null ? [] : [{ subject: who, predicate, object: what, at, extractor }];
  });
}

function allowedEntity({ type, key }: EntityRef): EntityRef | null {
  const known = entityTypeSchema.safeParse(type);
  return known.success ? { type: known.data, key: keyOf(maskedText(key, maxValueCharacters)) } : null;
}
