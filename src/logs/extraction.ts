import { oneAtATime } from "../core/again.ts";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { allowedAssertions } from "./allowed-assertions.ts";
import type { TaggedAssertion } from "./assertion.ts";
import { insertEpisode } from "./episode-store.ts";
import { episodeText } from "./episode-text.ts";
import { type Derivable, episodeOf } from "./ingest.ts";
import { maskedText } from "./log-body.ts";
import { bodyOfRow, contextOfRow, findRow } from "./log-rows.ts";
import { type LogsDatabase, writeFor } from "./logs-database.ts";
import type { Extractor, SearchText } from "./ports.ts";

/** A model that takes longer has lost its way. */
const extractionTimeoutMs = 120_000;
const maxFailureCharacters = 300;

/** Derives from entries that are pending, one after another, the oldest first. */
export interface Extraction {
  /** There may be something to do. Resolves when nothing is left. */
  wake(): Promise<void>;
  /** These entries went. */
  cancel(logIds: readonly string[]): void;
  /** Idempotent. What is under way is given up; it is pending still. */
  close(): Promise<void>;
}

/** @see Extraction */
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

  const work = oneAtATime(async () => {
    for (let after = ""; !closed; ) {
      const next = await db
        .selectFrom("log_entries")
        .select(["log_id", "account_id"])
        .where("status", "=", "pending")
        .where("log_id", ">", after)
        .orderBy("log_id")
        .limit(1)
        .executeTakeFirst();
      if (next === undefined) return;
      after = next.log_id;
      await derive(next.account_id, next.log_id);
    }
  });

  async function derive(accountId: string, logId: string): Promise<void> {
    const row = await findRow(deps, accountId, logId);
    if (row === null) return;
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
    const { found, failure } = await ask(of);
    if (closed) return;
    const episode = episodeOf(of, searchText, found);
    await writeFor(deps, accountId, async (tx) => {
      const { numUpdatedRows } = await tx.db
        .updateTable("log_entries")
        .set({ status: failure === null ? "ready" : "failed", failure })
        .where("log_id", "=", logId)
        .where("account_id", "=", accountId)
        .where("status", "=", "pending")
        .executeTakeFirstOrThrow();
      if (numUpdatedRows > 0n) await insertEpisode(tx, episode); // else it went, or another process was first
    });
  }

  /** Outside of any transaction. */
  async function ask(
    of: Derivable,
  ): Promise<{ readonly found: readonly TaggedAssertion[]; readonly failure: string | null }> {
    if (extractor === null) return { found: [], failure: null };
    const controller = new AbortController();
    running = { logId: of.logId, controller };
    const stop = clock.after(extractionTimeoutMs, () => controller.abort(new Error("It took too long.")));
    try {
      const { sessionId, observedAt } = of;
      const given = await extractor.extract(episodeText(of.body), { sessionId, observedAt, signal: controller.signal });
      return { found: allowedAssertions(given, extractor.name), failure: null };
    } catch (error) {
      log.debug({ reason: messageOf(error) }, "an extractor failed");
      return { found: [], failure: maskedText(messageOf(error), maxFailureCharacters) };
    } finally {
      stop();
      running = null;
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
