import { onTestFinished } from "vitest";
import { createChangeSignal } from "../../src/core/change-signal.ts";
import { type Clock, systemClock } from "../../src/core/clock.ts";
import { PosternError } from "../../src/core/errors.ts";
import { silentLog } from "../../src/core/log.ts";
import { createRecorder, type Logs, type Recorder } from "../../src/logs/index.ts";
import type { FollowSessions, NamesOf, ReadSession, SessionPart } from "../../src/logs/ports.ts";
import type { RecorderDeps } from "../../src/logs/recorder.ts";
import type { SessionEvent } from "../../src/wire/events.ts";
import type { Turn } from "../../src/wire/turn.ts";
import type { TestStore } from "./database.ts";
import { turnOf } from "./logs.ts";

/** A session that exists in the test alone. */
interface PlannedSession {
  turns: readonly Turn[];
  aliases: readonly string[];
  unfinished: SessionPart["unfinished"];
  isOver: boolean;
  forgottenAt: number | null;
}

/** Sessions with their events, as the recorder gets them. */
export interface RecordedSessions {
  /** Made when it is first asked for. */
  session(sessionId: string): PlannedSession;
  /** So many more turns, each an exchange's half. */
  say(sessionId: string, turns: number, at?: string): void;
  emit(kind: "session.turn_ended" | "session.exited" | "session.activity", sessionId: string): void;
  /** What is older than this is no longer kept. */
  lose(): void;
  readonly read: ReadSession;
  readonly namesOf: NamesOf;
  readonly follow: FollowSessions;
  /** How often something was read. */
  readonly reads: readonly { readonly sessionId: string; readonly after: number }[];
}

/** No sessions yet. */
export function createRecordedSessions(): RecordedSessions {
  const sessions = new Map<string, PlannedSession>();
  const events: SessionEvent[] = [];
  const reads: { readonly sessionId: string; readonly after: number }[] = [];
  const changes = createChangeSignal(systemClock);
  let kept = idOf(0);
  let count = 0;

  function session(sessionId: string): PlannedSession {
    const known = sessions.get(sessionId);
    if (known !== undefined) return known;
    const made: PlannedSession = { turns: [], aliases: [], unfinished: null, isOver: false, forgottenAt: null };
    sessions.set(sessionId, made);
    return made;
  }

  return {
    session,
    say(sessionId, turns, at) {
      const it = session(sessionId);
      const next = Array.from({ length: turns }, (_, ahead) => {
        const index = it.turns.length + ahead;
        return turnOf(index, [`word${index}`], at);
      });
      it.turns = [...it.turns, ...next];
    },
    emit(kind, sessionId) {
      const head = {
        id: idOf(++count),
        at: "2025-05-05T10:00:00.000Z",
        sessionId,
        agent: "claude-code",
        dir: "/code/app",
      };
      if (kind === "session.turn_ended") events.push({ kind, ...head });
      else if (kind === "session.exited")
        events.push({ kind, ...head, status: "completed", exitCode: 0, signal: null, endedAfterIdleMs: null });
      else events.push({ kind, ...head, activity: "idle", previous: null });
      changes.notify();
    },
    lose() {
      kept = idOf(count);
      events.length = 0;
    },
    reads,
    async namesOf(name) {
      const found = [...sessions].find(([id, { aliases }]) => id === name || aliases.includes(name));
      return found === undefined ? [name] : [found[0], ...found[1].aliases];
    },
    async read(name, { after, limit }) {
      const found = [...sessions].find(([id, { aliases }]) => id === name || aliases.includes(name));
      if (found === undefined) throw new PosternError("session_not_found", `There is no session ${name}.`);
      const [sessionId, { turns, unfinished, isOver }] = found;
      reads.push({ sessionId: name, after });
      const part = turns.slice(after + 1, after + 1 + limit);
      const isLast = part.at(-1) === turns.at(-1);
      return {
        sessionId,
        title: "a session",
        dir: "/code/app",
        context: { agent: "claude-code", repository: "/code/app", branch: "main" },
        turns: part,
        turnCount: turns.length,
        unfinished: isLast && part.length > 0 ? unfinished : null,
        isOver,
      };
    },
    async *follow({ after, signal }) {
      let position = after ?? idOf(count);
      if (after === null) yield { kind: "position", id: position };
      else if (after < kept) {
        position = kept;
        yield { kind: "reset", reset: { kind: "reset", id: kept, at: "2025-05-05T10:00:00.000Z", reason: "lost" } };
      }
      while (!signal.aborted) {
        const event = events.find(({ id }) => id > position);
        if (event === undefined) {
          const hasMore = () => events.some(({ id }) => id > position);
          await changes.until(hasMore, { timeoutMs: 60_000, signal });
          continue;
        }
        position = event.id;
        yield { kind: "event", event };
      }
    },
  };
}

function idOf(count: number): string {
  return String(count).padStart(26, "0");
}

/** A recorder of these sessions into `owner`'s memory, closed with the test. */
export function createTestRecorder(
  {
    store,
    logs,
    sessions,
    owner,
  }: {
    readonly store: Pick<TestStore, "db" | "dialect">;
    readonly logs: Pick<Logs, "record">;
    readonly sessions: RecordedSessions;
    readonly owner: string;
  },
  options: Partial<RecorderDeps> & { readonly clock?: Clock } = {},
): Recorder {
  const recorder = createRecorder({
    ...store,
    clock: systemClock,
    log: silentLog,
    mode: "turn",
    read: sessions.read,
    follow: sessions.follow,
    changedSince: async () => [],
    namesOf: sessions.namesOf,
    forgottenAt: async (sessionId) => sessions.session(sessionId).forgottenAt,
    record: (accountId, recording) => logs.record(accountId, recording),
    owner: async () => owner,
    ...options,
  });
  onTestFinished(() => recorder.close());
  return recorder;
}
