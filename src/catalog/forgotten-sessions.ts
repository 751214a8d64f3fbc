import type { Kysely } from "kysely";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { Tables } from "../storage/schema.ts";

/** A session whose content until `at` is forgotten. Serializable. */
export interface ForgottenSession {
  readonly agent: string;
  /** The agent's own id, as in the name of the transcript. */
  readonly sessionId: string;
  /** Epoch milliseconds. */
  readonly at: number;
}

/**
 * Forgotten sessions in the store: the catalog can be dropped at any time, and a remaining transcript must not restore the content.
 */
export function createForgottenSessions(db: Kysely<Tables>) {
  return {
    /** Until when a session's content is forgotten; null if it is not. */
    async at(sessionId: string): Promise<number | null> {
      const row = await db
        .selectFrom("forgotten_sessions")
        .select(({ fn }) => fn.max<number | null>("forgotten_at").as("at"))
        .where("session_id", "=", sessionId)
        .executeTakeFirst();
      return row?.at ?? null;
    },
    async all(): Promise<readonly (ForgottenSession & { readonly erased: boolean })[]> {
      const rows = await db.selectFrom("forgotten_sessions").selectAll().execute();
      return rows.map((row) => ({
        agent: row.agent,
        sessionId: row.session_id,
        at: row.forgotten_at,
        erased: row.erased_at !== null,
      }));
    },
    /** Overwrites an earlier time. */
    async put({ agent, sessionId, at }: ForgottenSession): Promise<void> {
      const change = { forgotten_at: at, erased_at: null };
      await db
        .insertInto("forgotten_sessions")
        .values({ agent, session_id: sessionId, ...change })
        .onConflict((conflict) => conflict.columns(["agent", "session_id"]).doUpdateSet(change))
        .execute();
    },
    /** Marks sessions as erased from the catalog's files, unless forgotten again in the meantime. */
    async erased(sessions: readonly ForgottenSession[], at: number): Promise<void> {
      for (const session of sessions) {
        await db
          .updateTable("forgotten_sessions")
          .set({ erased_at: at })
          .where("agent", "=", session.agent)
          .where("session_id", "=", session.sessionId)
          .where("forgotten_at", "=", session.at)
          .execute();
      }
    },
  };
}

export type ForgottenSessions = ReturnType<typeof createForgottenSessions>;

/** Identifies a session among all agents. */
export function forgottenKey({ agent, sessionId }: Pick<ForgottenSession, "agent" | "sessionId">): string {
  return `${agent} ${sessionId}`;
}

/** How long a caller waits, as for the store's journal. */
const patienceMs = 5_000;
const heldUpMinMs = 100;
const heldUpMaxMs = 2_000;
/** The pause after a failure such as a full disk, because each attempt rewrites the catalog. */
const failedMinMs = 1_000;
const failedMaxMs = 10 * 60_000;

/** Tracks each forgotten session through its steps: removed from the catalog, removed from the journal, done. */
export function createForgetting(deps: {
  readonly store: ForgottenSessions;
  readonly clock: Clock;
  readonly log: Log;
  /** Called when something is due. */
  wake(): void;
}) {
  const { store, clock, log, wake } = deps;
  const known = new Map<string, ForgottenSession>();
  const due = new Map<string, ForgottenSession>();
  let inJournal: readonly ForgottenSession[] = [];
  let isJournalDue = false;
  let waitMs = heldUpMinMs;
  let retryMs = failedMinMs;
  /** After a failure nothing is due for a while, unless another session is forgotten. */
  let isResting = false;
  let cancelTimer: (() => void) | null = null;
  let waiters: { readonly session: ForgottenSession; end(how: "done" | "pending"): void }[] = [];
  let loading: Promise<void> | null = null;

  async function load(): Promise<void> {
    for (const { erased, ...session } of await store.all()) {
      const key = forgottenKey(session);
      if ((known.get(key)?.at ?? 0) >= session.at) continue; // forgotten again in the meantime
      known.set(key, session);
      if (!erased) due.set(key, session);
    }
  }

  function tryAgainIn(ms: number): void {
    cancelTimer?.();
    cancelTimer = clock.after(ms, () => {
      isResting = false;
      isJournalDue = inJournal.length > 0;
      wake();
    });
  }

  return {
    /** Loads sessions forgotten earlier; unfinished ones are due. Reads once. */
    load(): Promise<void> {
      loading ??= load().catch((error: unknown) => {
        loading = null; // the next task tries again
        throw error;
      });
      return loading;
    },
    /** All loaded sessions. */
    all: (): readonly ForgottenSession[] => [...known.values()],
    /** Records a session in the store; erasing it is then due. */
    async add({ agent, sessionId }: Omit<ForgottenSession, "at">): Promise<ForgottenSession> {
      const session = { agent, sessionId, at: clock.now() };
      await store.put(session);
      known.set(forgottenKey(session), session);
      due.set(forgottenKey(session), session);
      isResting = false; // a caller waits
      return session;
    },
    /** Resolves with `done` when it is erased from the catalog's files, with `pending` after five seconds or a failure. */
    finished(session: ForgottenSession): Promise<"done" | "pending"> {
      return new Promise((resolve) => {
        const mine = {
          session,
          end(how: "done" | "pending") {
            cancel();
            waiters = waiters.filter((waiter) => waiter !== mine);
            resolve(how);
          },
        };
        const cancel = clock.after(patienceMs, () => mine.end("pending"));
        waiters.push(mine);
      });
    },

    /** Takes the sessions to remove now. */
    take(): readonly ForgottenSession[] {
      const taken = [...due.values()];
      due.clear();
      return taken;
    },
    /** Reports a failure: everything is due again later. */
    failed(taken: readonly ForgottenSession[]): void {
      for (const session of taken) {
        const key = forgottenKey(session);
        if (!due.has(key)) due.set(key, session);
      }
      isJournalDue = false;
      isResting = true;
      tryAgainIn(retryMs);
      retryMs = Math.min(failedMaxMs, retryMs * 2);
      for (const waiter of waiters) waiter.end("pending");
    },
    /** Reports that sessions are removed, except from the journal. */
    rewritten(sessions: readonly ForgottenSession[]): void {
      retryMs = failedMinMs;
      inJournal = [...inJournal, ...sessions];
      isJournalDue = inJournal.length > 0;
    },
    /** Whether to empty the journal now. */
    get isJournalDue() {
      return isJournalDue;
    },
    /** Whether anything is due. */
    get isDue() {
      return isJournalDue || (due.size > 0 && !isResting);
    },
    /** Reports that the journal is empty, so rewritten sessions are done. */
    async emptied(): Promise<void> {
      const finished = inJournal;
      inJournal = [];
      isJournalDue = false;
      waitMs = heldUpMinMs;
      // A session not marked is erased again at the next start.
      await store
        .erased(finished, clock.now())
        .catch((error: unknown) => log.warn({ reason: messageOf(error) }, "cannot record which sessions were erased"));
      for (const waiter of waiters) if (finished.includes(waiter.session)) waiter.end("done");
    },
    /** Reports that a reader kept the journal from being emptied: this is due again soon. */
    heldUp(): void {
      isJournalDue = false;
      tryAgainIn(waitMs);
      waitMs = Math.min(heldUpMaxMs, waitMs * 2);
    },
    /** Resolves all waiters with `pending`. */
    close(): void {
      cancelTimer?.();
      for (const waiter of waiters) waiter.end("pending");
    },
  };
}
