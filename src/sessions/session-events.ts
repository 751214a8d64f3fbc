import type { Clock } from "../core/clock.ts";
import type { NewSessionEvent } from "../wire/events.ts";
import type { EventPublisher } from "./ports.ts";
import {
  type Exit,
  endNews,
  factsOf,
  type Memo,
  newsOf,
  nothingTold,
  type PublishedSession,
  parseMemo,
  statusEvent,
} from "./session-news.ts";
import type { SessionRecord, SessionStore } from "./session-store.ts";

/** Turns changes of sessions into events, each once, across restarts: what was told is remembered beside the events. */
export interface SessionEvents {
  tell(session: PublishedSession, origin: "launched" | "found"): SessionPublisher;
  /** A session was closed; its record says so already. */
  closed(record: SessionRecord): Promise<void>;
  /** Tells how sessions ended that have no process any more, where the last gateway did not come to it. */
  reconcile(): Promise<void>;
}

/** Tells the events of one live session. */
export interface SessionPublisher {
  /** Before anything is observed. */
  begin(): Promise<void>;
  /** The state moved, by a report of the agent at that time or (null) by what was just seen; {@link SessionPublisher.look} follows. */
  moved(at: number | null): void;
  /** Something changed: tells what was not told. */
  look(): void;
  /** What happened before this gateway is read: from here on everything is news. */
  caughtUp(): void;
  /** Resolves when all that was told is written: only then may the record say that the process is gone. */
  ending(): Promise<void>;
  /** The process has ended and the record says how. */
  ended(): void;
  /** Tells nothing more. */
  close(): void;
}

// As long as a caller of `coding_ask` waits for the agent's own id.
const idPatienceMs = 15_000;
// After this, nobody asks whether a session that ended was closed while its event could not be written.
const maxMemoAgeMs = 7 * 86_400_000;

/** @see SessionEvents */
export function createSessionEvents(deps: {
  readonly publisher: EventPublisher;
  readonly store: Pick<SessionStore, "find">;
  readonly clock: Clock;
}): SessionEvents {
  const { publisher, store, clock } = deps;

  function publishEnd(record: SessionRecord, text: string | null): void {
    const { events, memo } = endNews(record, parseMemo(text));
    const old = clock.now() - record.updatedAt > maxMemoAgeMs;
    const left = old || memo === null ? null : JSON.stringify(memo);
    if (events.length > 0 || left !== text) publisher.publish({ events, memos: new Map([[record.sessionId, left]]) });
  }

  return {
    tell: (session, origin) => new Teller({ publisher, clock, session, origin }),

    async closed(record) {
      publishEnd(record, await publisher.memoOf(record.sessionId));
    },

    async reconcile() {
      for (const [sessionId, text] of await publisher.memos()) {
        const record = await store.find(sessionId);
        if (record !== null && record.sessionId === sessionId && record.terminalId !== null) continue;
        if (record?.sessionId === sessionId) publishEnd(record, text);
        else publisher.publish({ events: [], memos: new Map([[sessionId, null]]) }); // told under a stand-in for its id
      }
    },
  };
}

class Teller implements SessionPublisher {
  readonly #publisher: EventPublisher;
  readonly #clock: Clock;
  readonly #session: PublishedSession;
  readonly #since: number;
  /** The record under which was told. */
  #told: SessionRecord;
  #memo: Memo = nothingTold;
  /** Whether `session.created` is still to be told. */
  #isNew: boolean;
  #replaces: string | null = null;
  #turnsTold = 0;
  /** When the agent's newest report happened. */
  #lastAt = 0;
  /** The same, until it was looked at. */
  #fresh: number | null = null;
  #mode: "catching up" | "live" | "over";
  #idPatienceMs = idPatienceMs;

  constructor(deps: {
    readonly publisher: EventPublisher;
    readonly clock: Clock;
    readonly session: PublishedSession;
    readonly origin: "launched" | "found";
  }) {
    this.#publisher = deps.publisher;
    this.#clock = deps.clock;
    this.#session = deps.session;
    this.#since = deps.clock.now();
    this.#told = deps.session.record;
    // One that is resumed for the first time was there before, though not with us.
    this.#isNew = deps.origin === "found" || this.#told.transcriptPath === null;
    this.#mode = deps.origin === "found" ? "catching up" : "live";
  }

  async begin(): Promise<void> {
    const { sessionId, transcriptPath } = this.#told;
    // A session that has just been made has no memo: its start is not kept waiting for the store.
    const memo =
      this.#mode === "live" && transcriptPath === null ? null : parseMemo(await this.#publisher.memoOf(sessionId));
    if (memo !== null) this.#memo = { ...memo, turnRuns: memo.turnRuns && !memo.over, over: false };
    this.#isNew &&= memo === null;
    this.look();
  }

  moved(at: number | null): void {
    this.#lastAt = at ?? this.#lastAt;
    this.#fresh = at;
  }

  look(): void {
    if (this.#mode === "catching up" && this.#lastAt <= Math.max(this.#memo.through, 0)) {
      this.#turnsTold = this.#session.state.turnsEnded;
    } else if (this.#mode === "catching up" || this.#mode === "live") {
      this.#tell(null);
    }
  }

  caughtUp(): void {
    if (this.#mode !== "catching up") return;
    this.#mode = "live";
    this.#fresh = null;
    this.#tell(null);
  }

  async ending(): Promise<void> {
    this.#idPatienceMs = 0;
    this.caughtUp();
    this.look();
    await this.#publisher.flush();
  }

  ended(): void {
    if (this.#mode === "over") return;
    const { exitCode, signal } = this.#session.record;
    this.#tell({ exitCode, signal });
    this.#mode = "over";
  }

  close(): void {
    this.#mode = "over";
  }

  #tell(exit: Exit | null): void {
    const { record, state, provisional } = this.#session;
    const now = this.#clock.now();
    if (provisional && exit === null && now - this.#since < this.#idPatienceMs) return;
    const memos = new Map<string, string | null>();
    const events: NewSessionEvent[] = record.sessionId === this.#told.sessionId ? [] : this.#moveOn(record, memos);
    const facts = factsOf(this.#session, exit);
    const news = newsOf(this.#memo, facts, {
      record,
      at: this.#fresh ?? now,
      created: this.#isNew ? { replaces: this.#replaces } : null,
      turnsEnded: state.turnsEnded - this.#turnsTold,
      catchingUp: this.#mode === "catching up",
    });
    this.#told = record;
    this.#turnsTold = state.turnsEnded;
    this.#fresh = null;
    this.#isNew = false;
    events.push(...news.events);
    this.#memo = { ...news.memo, through: Math.max(this.#memo.through, this.#lastAt) };
    if (events.length === 0) return;
    this.#publisher.publish({ events, memos: memos.set(record.sessionId, JSON.stringify(this.#memo)) });
  }

  /** The agent told its own id, or went on with another session. */
  #moveOn(record: SessionRecord, memos: Map<string, string | null>): NewSessionEvent[] {
    const old = this.#told;
    const wasTold = this.#memo !== nothingTold;
    const rekeyed = record.aliases.includes(old.sessionId);
    const memo = this.#memo;
    this.#memo = nothingTold;
    this.#replaces = old.sessionId;
    this.#isNew ||= rekeyed || record.transcriptPath === null;
    if (!rekeyed) this.#turnsTold = this.#session.state.turnsEnded;
    if (!wasTold) return [];
    memos.set(old.sessionId, rekeyed ? null : JSON.stringify({ ...memo, over: true }));
    if (rekeyed) return [];
    const change = { previous: memo.status, status: "completed", at: this.#clock.now() } as const;
    return [statusEvent({ ...old, continuedBy: record.sessionId }, change)];
  }
}
