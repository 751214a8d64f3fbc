import { type Kysely, sql } from "kysely";
import type { Clock } from "../core/clock.ts";
import { oneAtATime } from "../core/coalesce.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { createJournal, type Journal } from "./journal.ts";
import type { Tables } from "./schema.ts";

/** So long an answer waits for readers that hold on to old pages; they are statements of milliseconds, or a copy of the file. */
const patienceMs = 5_000;
const pauseMs = 20;
/** When the answer did not wait, it is tried so often until it is done. */
const laterMs = 1_000;
/** Another process that changes the same store is done within a moment; what is there after the last try is not of that kind. */
const startPausesMs = [100, 300, 1_000] as const;

/** Removes from the store's files what was removed from its tables. A store has one. */
export interface Erasure {
  /**
   * Before anything is deleted: from now on what goes is overwritten, and what an earlier process left is erased. Idempotent. A store that
   * refuses is asked four times within two seconds; after that whoever called is told, and the next call tries again.
   */
  start(): Promise<void>;
  /**
   * At the end of a transaction that deletes much, so that nothing else waits long for its end.
   * @param within the transaction
   */
  prepare(within: Kysely<Tables>): Promise<void>;
  /** Between the transactions of a deletion that has many: copies a large journal back, beside others' work. Never rejects. */
  relieve(): Promise<void>;
  /**
   * Waits until nothing of what was deleted so far is in the files; for readers 5 seconds at most. Never rejects: what was deleted is deleted.
   * @returns `pending` when a reader is in the way, or the files cannot be written; then it is done when they let it, or at the next start
   */
  finish(): Promise<"done" | "pending">;
  /** Whether something waits for a reader. */
  readonly isPending: boolean;
  /** Idempotent. What is pending is done at the next start. */
  close(): Promise<void>;
}

/** What {@link createErasure} needs. */
export interface ErasureDeps {
  readonly db: Kysely<Tables>;
  readonly dialect: "sqlite" | "postgres";
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * On SQLite pages are overwritten where rows are deleted (`secure_delete`), and the write-ahead log with their old copies is emptied.
 * PostgreSQL promises none of it: what it erases it erases when it vacuums, and its own log is kept as long as it is set to.
 */
export function createErasure(deps: ErasureDeps): Erasure {
  if (deps.dialect === "sqlite") return new SqliteErasure(deps);
  const nothing = async (): Promise<void> => {};
  return {
    start: nothing,
    prepare: nothing,
    relieve: nothing,
    finish: async () => "done",
    isPending: false,
    close: nothing,
  };
}

class SqliteErasure implements Erasure {
  readonly #deps: ErasureDeps;
  readonly #journal: Journal;
  #pending = false;
  #cancelTimer: (() => void) | null = null;
  #closed = false;
  #started: Promise<void> | null = null;
  readonly #emptyJournal = oneAtATime(async () => {
    this.#empty = await this.#journal.empty();
  });
  #empty = false;

  constructor(deps: ErasureDeps) {
    this.#deps = deps;
    this.#journal = createJournal(deps.db);
  }

  get isPending(): boolean {
    return this.#pending;
  }

  start(): Promise<void> {
    this.#started ??= this.#start().catch((error: unknown) => {
      this.#started = null;
      throw error;
    });
    return this.#started;
  }

  async #start(): Promise<void> {
    for (const restMs of [...startPausesMs, null]) {
      try {
        await sql`pragma secure_delete = on`.execute(this.#deps.db);
        break;
      } catch (error) {
        if (restMs === null || this.#closed) throw error;
        this.#deps.log.warn(
          { reason: messageOf(error) },
          "the store does not overwrite what is deleted yet; trying again",
        );
        await this.#deps.clock.sleep(restMs);
      }
    }
    this.#finishLater(); // of an earlier process that ended too soon
  }

  async prepare(within: Kysely<Tables>): Promise<void> {
    if (!(await this.#journal.prepare(within)) || this.#closed) return;
    // The transaction may come to nothing, and nobody finish.
    this.#cancelTimer ??= this.#deps.clock.after(laterMs, () => void this.#tryLater());
  }

  async relieve(): Promise<void> {
    if (this.#closed || !(await this.#journal.isFull())) return;
    await this.#emptyJournal().catch(() => undefined); // `finish` tries again, and tells why it cannot
  }

  async finish(): Promise<"done" | "pending"> {
    const { clock, log } = this.#deps;
    const until = clock.now() + patienceMs;
    try {
      while (!this.#closed) {
        if (await this.#isEmptied()) return "done";
        if (clock.now() >= until) break;
        await clock.sleep(pauseMs);
      }
    } catch (error) {
      log.warn({ reason: messageOf(error) }, "the store's journal could not be emptied yet");
    }
    this.#finishLater();
    return "pending";
  }

  /** Tries until it is done. */
  #finishLater(): void {
    if (this.#closed) return;
    this.#pending = true;
    this.#cancelTimer ??= this.#deps.clock.after(0, () => void this.#tryLater());
  }

  async #tryLater(): Promise<void> {
    const { clock, log } = this.#deps;
    try {
      if (this.#closed) return;
      if (await this.#isEmptied()) {
        this.#pending = false;
        this.#cancelTimer = null;
        return;
      }
    } catch (error) {
      log.warn({ reason: messageOf(error) }, "the store's journal could not be emptied yet");
    }
    if (!this.#closed) this.#cancelTimer = clock.after(laterMs, () => void this.#tryLater());
  }

  async #isEmptied(): Promise<boolean> {
    await this.#emptyJournal();
    return this.#empty;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    await this.#journal.close();
  }
}
