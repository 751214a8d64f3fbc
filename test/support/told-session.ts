import { type ActivityState, initialActivity, type OpenPermission } from "../../src/sessions/activity.ts";
import type { EventPublisher } from "../../src/sessions/ports.ts";
import { createSessionEvents, type SessionPublisher } from "../../src/sessions/session-events.ts";
import type { PublishedSession } from "../../src/sessions/session-news.ts";
import type { SessionRecord, SessionStore } from "../../src/sessions/session-store.ts";
import type { TranscriptSummary } from "../../src/transcripts/open-transcript.ts";
import type { NewSessionEvent } from "../../src/wire/events.ts";
import { createFakeClock } from "./fake-clock.ts";
import { sessionRecord } from "./session-record.ts";
import { summaryWith } from "./transcript-summary.ts";

/** The time of all events here. */
export const clock = createFakeClock();

/** The record of a session that was just made. */
export function recordOf(differs: Partial<SessionRecord> = {}): SessionRecord {
  return sessionRecord({
    agent: "claude-code",
    dir: "/srv/code",
    launchId: "l1",
    terminalId: "t1",
    createdAt: clock.now(),
    updatedAt: clock.now(),
    ...differs,
  });
}

/** A permission that the agent waits for. */
export function permission(permissionId: string): OpenPermission {
  return {
    permissionId,
    kind: "permission",
    tool: "Bash",
    input: { command: "cat secret" },
    askedAt: "2025-01-01T00:00:00.000Z",
    answerable: true,
    callKey: "k",
    subagent: null,
  };
}

/** A publisher that remembers, and a session whose state the test sets. */
export function setUpTold(memos = new Map<string, string>()) {
  const told: NewSessionEvent[] = [];
  const publisher: EventPublisher = {
    publish({ events, memos: changed }) {
      told.push(...events);
      for (const [sessionId, memo] of changed) {
        if (memo === null) memos.delete(sessionId);
        else memos.set(sessionId, memo);
      }
    },
    flush: async () => undefined,
    memoOf: async (sessionId) => memos.get(sessionId) ?? null,
    memos: async () => new Map(memos),
  };
  const records = new Map<string, SessionRecord>();
  const store: Pick<SessionStore, "find"> = { find: async (sessionId) => records.get(sessionId) ?? null };
  const events = createSessionEvents({ publisher, store, clock });
  const session: { -readonly [Key in keyof PublishedSession]: PublishedSession[Key] } = {
    record: recordOf(),
    state: initialActivity,
    outbox: { unconfirmed: null, queue: null },
    transcriptSummary: null,
    provisional: false,
  };
  /** The events since the last call. */
  const news = (): readonly NewSessionEvent[] => told.splice(0);
  const kinds = (): readonly string[] =>
    news().map((event) => (event.kind === "session.activity" ? `${event.kind} ${event.activity}` : event.kind));
  /** The session is so now, by a report of its agent at that time. */
  function move(publisher: SessionPublisher, state: Partial<ActivityState>, at: number): void {
    session.state = { ...session.state, ...state };
    publisher.moved(at);
    publisher.look();
  }
  return { events, session, records, memos, news, kinds, move };
}

/** A turn runs. */
export const working: Partial<ActivityState> = { activity: "working", started: true, turnRuns: true, promptsTaken: 1 };
/** A turn has ended. */
export const idle: Partial<ActivityState> = { activity: "idle", turnRuns: false, turnsEnded: 1 };

/** A transcript whose last turn has this state. */
export function transcriptOf(kind: "open" | "ended"): TranscriptSummary {
  return summaryWith({ turnCount: 2, turnLines: 2, lastTurn: { kind } });
}

/** A session whose first turn runs, with events up to that; its gateway has ended. */
export async function inTurn(): Promise<{ readonly memos: Map<string, string>; readonly at: number }> {
  const before = setUpTold();
  const publisher = before.events.publisherFor(before.session, "launched");
  await publisher.begin();
  const at = clock.now();
  before.move(publisher, working, at);
  return { memos: before.memos, at };
}
