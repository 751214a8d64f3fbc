import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { type ForgottenSession, type ForgottenSessions, forgottenKey } from "./forgotten-sessions.ts";

/** How far each forgotten session is: to be taken out of the catalog, then out of its journal, then done. */
export interface Forgetting {
  /** What was forgotten by earlier gateways; what they did not finish is due again. Reads once. */
  load(): Promise<void>;
  /** All that is forgotten, as far as it is loaded. */
  all(): readonly ForgottenSession[];
  /** Remembered in the store when it resolves; the rest is due. @returns what {@link Forgetting.finished} waits for */
  add(session: Omit<ForgottenSession, "at">): Promise<ForgottenSession>;
  /** Resolves with `done` when nothing of it is in the catalog's files, with `pending` after five seconds, or when that failed. */
  finished(session: ForgottenSession): Promise<"done" | "pending">;

  /** Those to be taken out of the catalog now. */
  take(): readonly ForgottenSession[];
  /** What was tried with those that were taken, or with the journal: all of it is due again later, when `wake` is called. */
  failed(taken: readonly ForgottenSession[]): void;
  /** They are out of it, but for its journal. */
  rewritten(sessions: readonly ForgottenSession[]): void;
  /** Whether to try to empty the journal now. */
  readonly isJournalDue: boolean;
  /** Whether that is so, or there is something to take. */
  readonly isDue: boolean;
  /** It is empty, and so all that was rewritten is done. */
  emptied(): Promise<void>;
  /** A reader was in the way: it is due again a little later, when `wake` is called. */
  heldUp(): void;
  /** Nobody waits any longer. */
  close(): void;
}

/** An answer waits so long: as long as for the store's own journal. */
const patienceMs = 5_000;
const heldUpMinMs = 100;
const heldUpMaxMs = 2_000;
/** A full disk, say: each attempt writes the catalog once more. */
const failedMinMs = 1_000;
const failedMaxMs = 10 * 60_000;

/** Nothing is read yet. */
export function createForgetting(deps: {
  readonly store: ForgottenSessions;
  readonly clock: Clock;
  readonly log: Log;
  /** Called when something is due. */
  wake(): void;
}): Forgetting {
  const { store, clock, log, wake } = deps;
  const known = new Map<string, ForgottenSession>();
  const due = new Map<string, ForgottenSession>();
  let inJournal: readonly ForgottenSession[] = [];
  let isJournalDue = false;
  let waitMs = heldUpMinMs;
  let retryMs = failedMinMs;
  /** After a failure nothing is due for a while, unless something is forgotten anew. */
  let isResting = false;
  let cancelTimer: (() => void) | null = null;
  let waiters: { readonly session: ForgottenSession; end(how: "done" | "pending"): void }[] = [];
  let loading: Promise<void> | null = null;

  async function load(): Promise<void> {
    for (const { erased, ...session } of await store.all()) {
      const key = forgottenKey(session);
      if ((known.get(key)?.at ?? 0) >= session.at) continue; // forgotten while it was loaded
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
    load() {
      loading ??= load().catch((error: unknown) => {
        loading = null; // the next task tries again
        throw error;
      });
      return loading;
    },
    all: () => [...known.values()],
    async add({ agent, sessionId }) {
      const session = { agent, sessionId, at: clock.now() };
      await store.put(session);
      known.set(forgottenKey(session), session);
      due.set(forgottenKey(session), session);
      isResting = false; // somebody waits
      return session;
    },
    finished(session) {
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

    take() {
      const taken = [...due.values()];
      due.clear();
      return taken;
    },
    failed(taken) {
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
    rewritten(sessions) {
      retryMs = failedMinMs;
      inJournal = [...inJournal, ...sessions];
      isJournalDue = inJournal.length > 0;
    },
    get isJournalDue() {
      return isJournalDue;
    },
    get isDue() {
      return isJournalDue || (due.size > 0 && !isResting);
    },
    async emptied() {
      const finished = inJournal;
      inJournal = [];
      isJournalDue = false;
      waitMs = heldUpMinMs;
      // One that cannot be noted is done once more at the next start.
      await store
        .erased(finished, clock.now())
        .catch((error: unknown) => log.warn({ reason: messageOf(error) }, "cannot note what is erased"));
      for (const waiter of waiters) if (finished.includes(waiter.session)) waiter.end("done");
    },
    heldUp() {
      isJournalDue = false;
      tryAgainIn(waitMs);
      waitMs = Math.min(heldUpMaxMs, waitMs * 2);
    },
    close() {
      cancelTimer?.();
      for (const waiter of waiters) waiter.end("pending");
    },
  };
}
