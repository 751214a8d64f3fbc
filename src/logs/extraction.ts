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
import { type Derivable, episodeOf } from "./episode.ts";
import { type Episode, insertEpisode } from "./episode-store.ts";
import { episodeText } from "./episode-text.ts";
import { maskedText } from "./log-body.ts";
import { bodyOfRow, contextOfRow, findRow } from "./log-rows.ts";
import { type LogsDatabase, writeFor } from "./logs-database.ts";
import type { Extractor, SearchText } from "./ports.ts";
import { everythingOf, isOfVisible, isVisible } from "./visibility-filter.ts";

/** For all of an entry. A model that takes longer keeps the others waiting. */
const extractionTimeoutMs = 600_000;
const maxFailureCharacters = 300;

interface Asked {
  readonly found: readonly TaggedAssertion[];
  /** Null when there was none. */
  readonly failure: string | null;
}

/** Derives from entries that are pending, one after another: of each account in turn its oldest. */
export interface Extraction {
  /** There may be something to do. Resolves when nothing is left. */
  wake(): Promise<void>;
  /** These entries went. */
  cancel(logIds: readonly string[]): void;
  /** Idempotent. What is under way is given up; it is pending still. */
  close(): Promise<void>;
}

export function createExtraction(
  deps: LogsDatabase & {
    readonly clock: Clock;
    readonly log: Log;
    readonly searchText: SearchText;
    readonly extractor: Extractor | null;
  },
): Extraction {
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
        // One that cannot be read, or not be written, is no reason for the others to wait behind it.
        await derive(account_id, next.log_id).catch((error: unknown) => failures.push(error));
      }
    }
    if (failures.length > 0) throw failures[0];
  });

  async function derive(accountId: string, logId: string): Promise<void> {
    const controller = new AbortController();
    running = { logId, controller }; // before it is read: whatever goes from here on is told to `cancel`
    try {
      const row = await findRow(deps, everythingOf(accountId), logId);
      // It may have been deleted, or the memory closed, while it was read.
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
      if (numUpdatedRows === 0n) return; // it went, or another process was first
      const ruled = await subjectsWithRules(tx, episode);
      const assertions = episode.assertions.filter((one) => !ruled.has(statusOf(accountId, one) ?? ""));
      await insertEpisode(tx, { ...episode, assertions });
    });
  }

  /** Outside of any transaction. Its failure is the entry's, and final: the rules' facts are there, and what is submitted anew is asked for anew. */
  async function ask({ logId, sessionId, observedAt, body }: Derivable, cancelled: AbortSignal): Promise<Asked> {
    if (extractor === null) return { found: [], failure: null };
    const late = new AbortController();
    const stop = clock.after(extractionTimeoutMs, () => late.abort(new Error("The model took too long.")));
    try {
      const signal = AbortSignal.any([cancelled, late.signal]);
      const given = await extractor.extract(episodeText(body), { sessionId, observedAt, signal });
      return { found: allowedAssertions(given, extractor.name), failure: null };
    } catch (error) {
      const failure = maskedText(messageOf(error), maxFailureCharacters);
      if (!cancelled.aborted) log.warn({ logId, reason: failure }, "an extractor failed");
      return { found: [], failure };
    } finally {
      stop();
    }
  }

  return {
    wake: () => work(),
    cancel(logIds) {
      if (running !== null && logIds.includes(running.logId)) running.controller.abort(new Error("The entry is gone."));
    },
    async close() {
      closed = true;
      running?.controller.abort(new Error("The memory is closing."));
      await work().catch(() => undefined); // whoever woke it was told
    },
  };
}

/** Whose `status` a model says, as an id; null for whatever else is said. */
function statusOf(accountId: string, { subject, predicate, extractor }: TaggedAssertion): string | null {
  return predicate === "status" && !extractor.startsWith("rules@") ? entityIdOf(accountId, subject) : null;
}

/** Those whose `status` the rules found in some entry: a model, led astray by a page perhaps, must not end it. */
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

/** What came from outside of these rules, as far as it has the form of assertions. */
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
