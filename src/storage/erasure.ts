import { type Kysely, sql } from "kysely";
import { oneAtATime } from "../core/again.ts";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { Tables } from "./schema.ts";

/** So long an answer waits for readers that hold on to old pages; they are statements of milliseconds, or a copy of the file. */
const patienceMs = 5_000;
const pauseMs = 20;
/** When the answer did not wait, it is tried so often until it is done. */
const laterMs = 1_000;

/** Removes from the store's files what was removed from its tables. */
export interface Erasure {
  /**
   * Waits until nothing of what was deleted so far is in the files, 5 seconds at most.
   * @returns `pending` when a reader is in the way; then it is done when the reader leaves, or at the next start
   */
  finish(): Promise<"done" | "pending">;
  /** Whether something waits for a reader. */
  readonly isPending: boolean;
  /** Writes the whole file anew: traces that SQLite leaves where it moved rows go too. Takes seconds for each gigabyte. */
  compact(): Promise<void>;
  close(): Promise<void>;
}

/** What {@link openErasure} needs. */
export interface ErasureDeps {
  readonly db: Kysely<Tables>;
  readonly dialect: "sqlite" | "postgres";
  readonly clock: Clock;
  readonly log: Log;
  /** What `compact` writes anew on PostgreSQL; on SQLite it is the whole file. */
  readonly tables: readonly (keyof Tables)[];
}

/**
 * On SQLite pages are overwritten where rows are deleted (`secure_delete`), and the write-ahead log with their old copies is emptied.
 * PostgreSQL promises none of it: what it erases it erases when it vacuums, and its own log is kept as long as it is set to.
 */
export async function openErasure(deps: ErasureDeps): Promise<Erasure> {
  if (deps.dialect === "postgres") {
    return {
      finish: async () => "done",
      isPending: false,
      compact: async () => {
        for (const table of deps.tables) await sql`vacuum full ${sql.table(table)}`.execute(deps.db);
      },
      close: async () => {},
    };
  }
  await sql`pragma secure_delete = on`.execute(deps.db);
  const erasure = new SqliteErasure(deps);
  erasure.finishLater(); // of an earlier process that ended too soon
  return erasure;
}

class SqliteErasure implements Erasure {
  readonly #deps: ErasureDeps;
  #pending = false;
  #cancelTimer: (() => void) | null = null;
  #closed = false;
  readonly #emptyJournal = oneAtATime(async () => {
    const { rows } = await sql<{ busy: number }>`pragma wal_checkpoint(truncate)`.execute(this.#deps.db);
    this.#busy = rows[0]?.busy !== 0;
  });
  #busy = false;

  constructor(deps: ErasureDeps) {
    this.#deps = deps;
  }

  get isPending(): boolean {
    return this.#pending;
  }

  async finish(): Promise<"done" | "pending"> {
    const { clock } = this.#deps;
    const until = clock.now() + patienceMs;
    while (!(await this.#isEmptied())) {
      if (this.#closed || clock.now() >= until) {
        this.finishLater();
        return "pending";
      }
      await clock.sleep(pauseMs);
    }
    return "done";
  }

  /** Tries until it is done. */
  finishLater(): void {
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
    return !this.#busy;
  }

  async compact(): Promise<void> {
    await sql`vacuum`.execute(this.#deps.db);
    await this.finish();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelTimer?.();
    this.#cancelTimer = null;
  }
}
