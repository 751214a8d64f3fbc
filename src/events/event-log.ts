import type { Kysely } from "kysely";
import { type ChangeSignal, createChangeSignal } from "../core/change-signal.ts";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { Tables } from "../storage/schema.ts";
import type { NewSessionEvent, SessionEvent } from "../wire/events.ts";
import { createEventIds, firstIdAt, isEventId } from "./event-id.ts";
import type { EventStore } from "./event-store.ts";

/** Events, and memos to keep for their sessions; null deletes a memo. */
export interface Publication {
  readonly events: readonly NewSessionEvent[];
  readonly memos: ReadonlyMap<string, string | null>;
}

/** Keeps events in order. All events pass through here. */
export interface EventLog {
  /** Queues events for writing, in order, each together with its memo. Never blocks. */
  publish(publication: Publication): void;
  /** Writes queued events now. Also resolves after a failure, which is logged and retried. */
  flush(): Promise<void>;
  /** A session's newest memo, written or not. */
  memoOf(sessionId: string): Promise<string | null>;
  memos(): Promise<ReadonlyMap<string, string>>;
  /** Written events after this id, oldest first. */
  after(eventId: string, limit: number): Promise<readonly SessionEvent[]>;
  /** Whether the id is known and every event after it is still kept. */
  covers(eventId: string): Promise<boolean>;
  /** The newest written id. */
  readonly newest: string;
  /** Notifies after each write. */
  readonly changes: ChangeSignal;
  /** Writes queued events. Idempotent. */
  close(): Promise<void>;
}

export interface EventLogDeps {
  readonly store: EventStore;
  readonly clock: Clock;
  readonly log: Log;
  /** Returns what else to write in the transaction of these events. */
  readonly alsoWrite: (events: readonly SessionEvent[]) => Promise<(transaction: Kysely<Tables>) => Promise<void>>;
  /** Called after each write, before readers are notified. */
  readonly onWritten?: () => void;
  readonly limits?: EventLimits;
}

export interface EventLimits {
  readonly maxEvents: number;
  readonly maxAgeMs: number;
}

/** A reader can catch up after a weekend, and the table stays at a few megabytes. */
const defaultLimits: EventLimits = { maxEvents: 10_000, maxAgeMs: 7 * 86_400_000 };
/** A write blocks the process on SQLite, so it waits until the call that caused it was answered. */
const writeDelayMs = 50;
const retryDelayMs = 1_000;
/** The most events held while the store cannot be written. Beyond this, the oldest are dropped, and this is logged. */
const maxWaiting = 10_000;
const maxRecent = 1_000;
const pruneEvery = 500;

/** Opens the store's event log. Only one can be open. */
export async function createEventLog(deps: EventLogDeps): Promise<EventLog> {
  const { store, clock, log, limits = defaultLimits } = deps;
  const changes = createChangeSignal(clock);
  let newest = await store.newest();
  const nextId = createEventIds(newest);
  let waiting: SessionEvent[] = [];
  let memos = new Map<string, string | null>();
  /** Memos being written. */
  let writingMemos: ReadonlyMap<string, string | null> = new Map();
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
      writingMemos = batch.memos;
      try {
        await store.write(batch, await deps.alsoWrite(events));
      } catch (error) {
        waiting = bounded([...events, ...waiting]);
        memos = new Map([...batch.memos, ...memos]);
        log.error({ events: events.length, reason: messageOf(error) }, "cannot write events; retrying");
        return;
      } finally {
        writingMemos = new Map();
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
      .catch((error: unknown) => log.warn({ reason: messageOf(error) }, "cannot delete old events"));
  }

  function bounded(events: SessionEvent[]): SessionEvent[] {
    const surplus = events.length - maxWaiting;
    if (surplus <= 0) return events;
    log.error({ lost: surplus }, "cannot write to the store; dropped the oldest waiting events");
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
      for (const held of [memos, writingMemos]) {
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
