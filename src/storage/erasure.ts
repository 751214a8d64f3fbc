import { type Kysely, sql } from "kysely";
import type { Clock } from "../core/clock.ts";
import { oneAtATime } from "../core/coalesce.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { createJournal, type Journal } from "./journal.ts";
import type { Tables } from "./schema.ts";

/** How long a caller waits for readers of old pages: statements, which take milliseconds, or a copy of the file. */
const patienceMs = 5_000;
const pauseMs = 20;
/** Interval of retries after that. */
const laterMs = 1_000;
/** Pauses between attempts. Another process's write ends within them; a later error has another cause. */
const startPausesMs = [100, 300, 1_000] as const;

/** Erases deleted rows from the store's files. A store has one. */
export interface Erasure {
  /**
   * To be called before deletions: turns on overwriting, and erases what an earlier process did not. Idempotent. Makes four attempts within
   * two seconds, then rejects; the next call tries again.
   */
  start(): Promise<void>;
  /** To be called at the end of a large deleting transaction, so that its commit is short. @param within the transaction */
  prepare(within: Kysely<Tables>): Promise<void>;
  /** To be called between transactions of a long deletion: copies a large journal back. Never rejects. */
  relieve(): Promise<void>;
  /**
   * Waits until all deleted rows are erased, at most 5 seconds for readers. Never rejects.
   * @returns `pending` if a reader or an error prevented it; it is retried until it succeeds, also after the next start
   */
  finish(): Promise<"done" | "pending">;
  /** Whether erasing is pending. */
  readonly isPending: boolean;
  /** Idempotent. Pending work is done at the next start. */
  close(): Promise<void>;
}

interface ErasureDeps {
  readonly db: Kysely<Tables>;
  readonly dialect: "sqlite" | "postgres";
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * On SQLite, deleted rows are overwritten (`secure_delete`) and the write-ahead log with old copies is emptied. PostgreSQL erases rows
 * when it vacuums, and keeps its own log as configured.
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
        this.#deps.log.warn({ reason: messageOf(error) }, "cannot turn on secure deletion in the store; retrying");
        await this.#deps.clock.sleep(restMs);
      }
    }
    this.#finishLater(); // left by an earlier process
  }

  async prepare(within: Kysely<Tables>): Promise<void> {
    if (!(await this.#journal.prepare(within)) || this.#closed) return;
    // If the transaction rolls back, `finish` may never be called.
    this.#cancelTimer ??= this.#deps.clock.after(laterMs, () => void this.#tryLater());
  }

  async relieve(): Promise<void> {
    if (this.#closed || !(await this.#journal.isFull())) return;
    await this.#emptyJournal().catch(() => undefined); // `finish` retries and logs the error
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
      log.warn({ reason: messageOf(error) }, "cannot empty the store's journal yet; retrying");
    }
    this.#finishLater();
    return "pending";
  }

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
      log.warn({ reason: messageOf(error) }, "cannot empty the store's journal yet; retrying");
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
