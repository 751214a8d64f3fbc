import type { Clock } from "../core/clock.ts";
import type { NewSessionEvent } from "../wire/events.ts";
import type { EventPublisher } from "./ports.ts";
import {
  type Exit,
  endNews,
  factsOf,
  type Memo,
  markOfQueue,
  newsOf,
  nothingPublished,
  type PublishedSession,
  parseMemo,
  queueEvent,
  statusEvent,
} from "./session-news.ts";
import type { SessionRecord, SessionStore } from "./session-store.ts";

/** Publishes changes of sessions as events, each once, even across restarts: what was published is stored with the events. */
export interface SessionEvents {
  publisherFor(session: PublishedSession, origin: "launched" | "found"): SessionPublisher;
  /** A session was closed, and its record is already updated. */
  closed(record: SessionRecord): Promise<void>;
  /** The prompts that wait in a session without a process were changed. */
  queueChanged(record: SessionRecord, promptIds: readonly string[]): Promise<void>;
  /** Publishes the end of sessions without a process, if the previous gateway did not. */
  reconcile(): Promise<void>;
}

/** Publishes the events of one live session. */
export interface SessionPublisher {
  /** Before anything is observed. */
  begin(): Promise<void>;
  /** The state changed. `at`: when the agent reported it, or null if Postern observed it. {@link SessionPublisher.look} follows. */
  moved(at: number | null): void;
  /** Something changed: publishes new events. */
  look(): void;
  /** Everything from before this gateway has been read; from now on everything is new. */
  caughtUp(): void;
  /** Resolves when all that was published is written: only then may the record lose its process. */
  ending(): Promise<void>;
  /** The process has ended, and the record is updated. */
  ended(): void;
  /** Publishes nothing more. */
  close(): void;
}

// The same time that a caller of `coding_ask` waits for the agent's own id.
const idPatienceMs = 15_000;
// Older memos are dropped. A newer one shows that the end of a session may still have to be published.
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
    publisherFor: (session, origin) => new SessionEventPublisher({ publisher, clock, session, origin }),

    async closed(record) {
      publishEnd(record, await publisher.memoOf(record.sessionId));
    },

    async queueChanged(record, promptIds) {
      const memo = parseMemo(await publisher.memoOf(record.sessionId));
      const noted = memo === null ? null : JSON.stringify({ ...memo, queue: markOfQueue(promptIds) });
      const memos = new Map(noted === null ? [] : [[record.sessionId, noted]]);
      publisher.publish({ events: [queueEvent(record, promptIds.length, clock.now())], memos });
    },

    async reconcile() {
      for (const [sessionId, text] of await publisher.memos()) {
        const record = await store.find(sessionId);
        if (record !== null && record.sessionId === sessionId && record.terminalId !== null) continue;
        if (record?.sessionId === sessionId) publishEnd(record, text);
        else publisher.publish({ events: [], memos: new Map([[sessionId, null]]) }); // published under a placeholder id
      }
    },
  };
}

class SessionEventPublisher implements SessionPublisher {
  readonly #publisher: EventPublisher;
  readonly #clock: Clock;
  readonly #session: PublishedSession;
  readonly #since: number;
  /** The record under which events were published. */
  #published: SessionRecord;
  #memo: Memo = nothingPublished;
  /** Whether `session.created` is still to be published. */
  #isNew: boolean;
  #replaces: string | null = null;
  #turnsPublished = 0;
  #editsPublished = 0;
  /** When the agent's newest report happened. */
  #lastAt = 0;
  /** The same, until its events are published; then null. */
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
    this.#published = deps.session.record;
    // A session that is resumed here for the first time existed before, outside Postern.
    this.#isNew = deps.origin === "found" || this.#published.transcriptPath === null;
    this.#mode = deps.origin === "found" ? "catching up" : "live";
  }

  async begin(): Promise<void> {
    const { sessionId, transcriptPath } = this.#published;
    // A new session has no memo, so its start does not wait for the store.
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
      this.#turnsPublished = this.#session.state.turnsEnded;
    } else if (this.#mode === "catching up" || this.#mode === "live") {
      this.#publish(null);
    }
  }

  caughtUp(): void {
    if (this.#mode !== "catching up") return;
    this.#mode = "live";
    this.#fresh = null;
    this.#publish(null);
  }

  async ending(): Promise<void> {
    this.#idPatienceMs = 0;
    this.caughtUp();
    this.look();
    await this.#publisher.flush();
  }

  ended(): void {
    if (this.#mode === "over") return;
    const { exitCode, signal, endedAfterIdleMs } = this.#session.record;
    this.#publish({ exitCode, signal, endedAfterIdleMs });
    this.#mode = "over";
  }

  close(): void {
    this.#mode = "over";
  }

  #publish(exit: Exit | null): void {
    const { record, state, provisional } = this.#session;
    const now = this.#clock.now();
    if (provisional && exit === null && now - this.#since < this.#idPatienceMs) return;
    const memos = new Map<string, string | null>();
    const events: NewSessionEvent[] = record.sessionId === this.#published.sessionId ? [] : this.#moveOn(record, memos);
    const facts = factsOf(this.#session, exit);
    const news = newsOf(this.#memo, facts, {
      record,
      at: this.#fresh ?? now,
      created: this.#isNew ? { replaces: this.#replaces } : null,
      turnsEnded: state.turnsEnded - this.#turnsPublished,
      edited: facts.queue !== null && facts.queue.edits > this.#editsPublished,
      catchingUp: this.#mode === "catching up",
    });
    this.#published = record;
    this.#turnsPublished = state.turnsEnded;
    this.#editsPublished = facts.queue?.edits ?? this.#editsPublished;
    this.#fresh = null;
    this.#isNew = false;
    events.push(...news.events);
    this.#memo = { ...news.memo, through: Math.max(this.#memo.through, this.#lastAt) };
    if (events.length === 0) return;
    this.#publisher.publish({ events, memos: memos.set(record.sessionId, JSON.stringify(this.#memo)) });
  }

  /** The agent reported its own id, or moved to another session. */
  #moveOn(record: SessionRecord, memos: Map<string, string | null>): NewSessionEvent[] {
    const old = this.#published;
    const wasPublished = this.#memo !== nothingPublished;
    const rekeyed = record.aliases.includes(old.sessionId);
    const memo = this.#memo;
    this.#memo = nothingPublished;
    this.#replaces = old.sessionId;
    this.#isNew ||= rekeyed || record.transcriptPath === null;
    if (!rekeyed) this.#turnsPublished = this.#session.state.turnsEnded;
    if (!wasPublished) return [];
    memos.set(old.sessionId, rekeyed ? null : JSON.stringify({ ...memo, over: true }));
    if (rekeyed) return [];
    const change = { previous: memo.status, status: "completed", at: this.#clock.now() } as const;
    return [statusEvent({ ...old, continuedBy: record.sessionId }, change)];
  }
}
