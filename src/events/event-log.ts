import type { Kysely } from "kysely";
import { type ChangeSignal, createChangeSignal } from "../core/change-signal.ts";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { Tables } from "../storage/schema.ts";
import type { NewSessionEvent, SessionEvent } from "../wire/events.ts";
import { createEventIds, firstIdAt, isEventId } from "./event-id.ts";
import type { EventStore } from "./event-store.ts";

/** What changed in one session: its events, and what to remember of it beside them; null forgets. */
export interface Publication {
  readonly events: readonly NewSessionEvent[];
  readonly memos: ReadonlyMap<string, string | null>;
}

/** The one way in for events, and where they are kept, in order. */
export interface EventLog {
  /** Takes events to be written soon, all in the order of the calls, each with its memo or not at all. Never waits. */
  publish(publication: Publication): void;
  /** Writes now what waits; resolves when that is done, or could not be (the log says so, and it is tried again). */
  flush(): Promise<void>;
  /** What was last remembered of a session, written or not. */
  memoOf(sessionId: string): Promise<string | null>;
  memos(): Promise<ReadonlyMap<string, string>>;
  /** Events that are written and come after this id, oldest first. */
  after(eventId: string, limit: number): Promise<readonly SessionEvent[]>;
  /** Whether every event after this id is still kept: it is one of ours, and not too old. */
  covers(eventId: string): Promise<boolean>;
  /** The newest id that is written. */
  readonly newest: string;
  /** Tells after each writing. */
  readonly changes: ChangeSignal;
  /** Writes what waits. Idempotent. */
  close(): Promise<void>;
}

export interface EventLogDeps {
  readonly store: EventStore;
  readonly clock: Clock;
  readonly log: Log;
  /** Says what is to be written beside these events, in the same transaction. */
  readonly beside: (events: readonly SessionEvent[]) => Promise<(transaction: Kysely<Tables>) => Promise<void>>;
  /** Called after each writing, before readers are told. */
  readonly onWritten?: () => void;
  readonly limits?: EventLimits;
}

/** How much is kept. */
export interface EventLimits {
  readonly maxEvents: number;
  readonly maxAgeMs: number;
}

// Ours: a reader that was away for a weekend finds what it missed, and the table stays at some megabytes.
const defaultLimits: EventLimits = { maxEvents: 10_000, maxAgeMs: 7 * 86_400_000 };
// A write waits for the disk, and on SQLite the whole process with it: not while the answer of the call that caused it is being made.
const writeDelayMs = 50;
const retryDelayMs = 1_000;
// While the store cannot be written. Past it the oldest are lost, and the log says so.
const maxWaiting = 10_000;
const maxRecent = 1_000;
const pruneEvery = 500;

/** Opens the log of this store. Only one may be open. */
export async function createEventLog(deps: EventLogDeps): Promise<EventLog> {
  const { store, clock, log, limits = defaultLimits } = deps;
  const changes = createChangeSignal(clock);
  let newest = await store.newest();
  const nextId = createEventIds(newest);
  let waiting: SessionEvent[] = [];
  let memos = new Map<string, string | null>();
  /** The memos of a writing that is under way. */
  let underWay: ReadonlyMap<string, string | null> = new Map();
  /** The newest events, all those after `recentFrom`. */
  let recent: readonly SessionEvent[] = [];
  let recentFrom = newest;
  let sincePrune = pruneEvery;
  let cancelTimer: (() => void) | null = null;
  let writing: Promise<void> | null = null;

  function schedule(delayMs: number): void {
    cancelTimer ??= clock.after(delayMs, () => void flush());
  }

  function flush(): Promise<void> {
    cancelTimer?.();
    cancelTimer = null;
    writing ??= writeAll().finally(() => {
      writing = null;
      if (waiting.length > 0 || memos.size > 0) schedule(retryDelayMs);
    });
    return writing;
  }

  async function writeAll(): Promise<void> {
    while (waiting.length > 0 || memos.size > 0) {
      const events = waiting;
      const batch = { events, memos, at: clock.now() };
      waiting = [];
      memos = new Map();
      underWay = batch.memos;
      try {
        await store.write(batch, await deps.beside(events));
      } catch (error) {
        waiting = bounded([...events, ...waiting]);
        memos = new Map([...batch.memos, ...memos]);
        log.error({ events: events.length, reason: messageOf(error) }, "cannot write events; trying again");
        return;
      } finally {
        underWay = new Map();
      }
      announce(events);
      await pruneSometimes(events.length);
    }
  }

  function announce(events: readonly SessionEvent[]): void {
    newest = events.at(-1)?.id ?? newest;
    const all = [...recent, ...events];
    recentFrom = all.at(-maxRecent - 1)?.id ?? recentFrom;
    recent = all.slice(-maxRecent);
    if (events.length === 0) return;
    deps.onWritten?.();
    changes.notify();
  }

  async function pruneSometimes(written: number): Promise<void> {
    sincePrune += written;
    if (sincePrune < pruneEvery) return;
    sincePrune = 0;
    await store
      .prune({ oldest: firstIdAt(clock.now() - limits.maxAgeMs), keep: limits.maxEvents })
      .catch((error: unknown) => log.warn({ reason: messageOf(error) }, "cannot remove old events"));
  }

  function bounded(events: SessionEvent[]): SessionEvent[] {
    const surplus = events.length - maxWaiting;
    if (surplus <= 0) return events;
    log.error({ lost: surplus }, "the store cannot be written; the oldest events that waited for it are lost");
    return events.slice(surplus);
  }

  return {
    publish(publication) {
      const now = clock.now();
      for (const event of publication.events) waiting.push({ ...event, id: nextId(now) });
      waiting = bounded(waiting);
      for (const [sessionId, memo] of publication.memos) memos.set(sessionId, memo);
      schedule(writeDelayMs);
    },
    flush,
    async memoOf(sessionId) {
      for (const held of [memos, underWay]) {
        const memo = held.get(sessionId);
        if (memo !== undefined) return memo;
      }
      return store.memo(sessionId);
    },
    async memos() {
      await flush();
      return store.memos();
    },
    async after(eventId, limit) {
      if (eventId < recentFrom) return store.after(eventId, limit);
      const from = recent.findIndex(({ id }) => id > eventId);
      return from < 0 ? [] : recent.slice(from, from + limit);
    },
    async covers(eventId) {
      if (!isEventId(eventId)) return false;
      if (eventId === recentFrom || recent.some(({ id }) => id === eventId)) return true;
      return eventId === (await store.pruned()) || (await store.has(eventId));
    },
    get newest() {
      return newest;
    },
    changes,
    async close() {
      await flush();
      cancelTimer?.();
      cancelTimer = null;
    },
  };
}
