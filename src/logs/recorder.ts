import { hasCode, messageOf } from "../core/errors.ts";
import { createGate } from "../core/gate.ts";
import type { Log } from "../core/log.ts";
import type { SessionEvent } from "../wire/events.ts";
import type { Recorded } from "./ingest.ts";
import type { FollowSessions, LogsCaller } from "./ports.ts";
import { type RecordTurnsDeps, recordingMark, recordTurns, saveRecordingMark } from "./record-turns.ts";

/** Records sessions: automatically into the owner's memory, and on request into the caller's. */
export interface Recorder {
  /**
   * Records all ended turns of a session, including deleted ones.
   * @param sessionId any name the session ever had
   * @throws PosternError `session_not_found` | `rate_limited`
   */
  record(sessionId: string, caller: LogsCaller, signal: AbortSignal): Promise<Recorded>;
  /** Starts automatic recording, first of turns that were missed. */
  start(): void;
  /** Stops after the current entry; the next start continues from there. Idempotent. */
  close(): Promise<void>;
}

interface ChangedSession {
  readonly sessionId: string;
  readonly updatedAt: number;
}

export interface RecorderDeps extends RecordTurnsDeps {
  readonly log: Log;
  /** When sessions are recorded automatically. */
  readonly mode: "off" | "close" | "turn";
  readonly follow: FollowSessions;
  /** Sessions that changed since a time or are running, earliest first, in pages up to an empty one. Used when events were lost. */
  readonly changedSince: (epochMs: number, after: ChangedSession | null) => Promise<readonly ChangedSession[]>;
  /** The account for automatic recording. */
  readonly owner: () => Promise<string>;
}

/** Each reads a whole session. Up to 16 callers wait; further ones get `rate_limited`. */
const onPurposeAtOnce = { atOnce: 1, waiting: 16 };
const firstRetryMs = 1_000;
const maxRetryMs = 60_000;
/** After about three minutes a failing session is skipped. */
const maxAttempts = 8;
/** Failing sessions to track. Beyond this the oldest failure is dropped. */
const maxFailing = 1_000;
/** Irrelevant events do not each save the position; after a crash they are read again. */
const passedAtOnce = 500;
/** Allows for clock changes and delayed events. */
const marginMs = 60_000;

/**
 * Records sessions as their events arrive. The events are its queue: they are read in order, and the position is saved, so that nothing
 * is lost in a crash. Recording twice adds nothing.
 */
export function createRecorder(deps: RecorderDeps): Recorder {
  const { log, clock, mode } = deps;
  const stop = new AbortController();
  const gate = createGate(onPurposeAtOnce);
  let running: Promise<void> | null = null;
  const onPurpose = new Set<Promise<Recorded>>();
  /** Failures of each session since it was last recorded. */
  const failing = new Map<string, number>();

  async function run(signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted; failures += 1) {
      try {
        if (mode === "off") return await saveRecordingMark(deps, null);
        await follow(signal, () => {
          failures = 0;
        });
      } catch (error) {
        if (signal.aborted) return;
        log.warn({ reason: messageOf(error) }, "cannot record sessions; retrying");
        await clock.sleep(retryMs(failures), signal).catch(() => undefined); // ended by the signal
      }
    }
  }

  async function follow(signal: AbortSignal, succeeded: () => void): Promise<void> {
    const mark = await recordingMark(deps);
    let saved = mark ?? { eventId: "", at: clock.now() };
    let passed = 0;
    const save = async (eventId: string, at = clock.now()): Promise<void> => {
      if (eventId === saved.eventId && at <= saved.at) return;
      saved = { eventId, at };
      await saveRecordingMark(deps, saved);
      passed = 0;
    };
    for await (const message of deps.follow({ after: mark?.eventId ?? null, signal })) {
      if (message.kind === "position") {
        await save(message.id);
        succeeded();
      } else if (message.kind === "reset") {
        const { eventId, at } = saved;
        await catchUp(at - marginMs, { signal, doneUntil: (epochMs) => save(eventId, epochMs) });
        await save(message.reset.id);
        succeeded();
      } else {
        const { event } = message;
        if (isDue(event, mode)) {
          await attempt(event, signal);
          await save(event.id);
          succeeded();
        } else if (++passed >= passedAtOnce) await save(event.id);
      }
    }
  }

  /** Throws, so that the event is retried, until the session has failed too often. After that, each of its events is tried once. */
  async function attempt({ sessionId }: SessionEvent, signal: AbortSignal): Promise<void> {
    const error = await failureOf(sessionId, { signal });
    if (error !== null && !isSkipped(sessionId)) throw error;
  }

  function isSkipped(sessionId: string): boolean {
    return (failing.get(sessionId) ?? 0) >= maxAttempts;
  }

  /** Counts failures per session, so that an unreadable one does not delay the others for long. */
  async function failureOf(
    sessionId: string,
    options: { readonly signal: AbortSignal; readonly onlyIfOver?: boolean },
  ): Promise<Error | null> {
    const before = failing.get(sessionId) ?? 0;
    try {
      await recordForOwner(sessionId, options);
      failing.delete(sessionId);
      return null;
    } catch (error) {
      if (options.signal.aborted) throw error;
      failing.delete(sessionId);
      failing.set(sessionId, before + 1);
      const [oldest] = failing.keys();
      if (failing.size > maxFailing && oldest !== undefined) failing.delete(oldest);
      const reason = messageOf(error);
      if (isSkipped(sessionId)) log.error({ sessionId, reason }, "cannot record a session; skipping it for now");
      return error instanceof Error ? error : new Error(reason);
    }
  }

  /**
   * Handles lost events: records every session that may have changed, then retries failed ones, and skips those that keep failing.
   * Reports progress, so that it continues after a stop.
   */
  async function catchUp(
    since: number,
    { signal, doneUntil }: { readonly signal: AbortSignal; readonly doneUntil: (epochMs: number) => Promise<void> },
  ): Promise<void> {
    const options = { signal, onlyIfOver: mode === "close" };
    const seen = new Set<string>();
    const failed = new Set<string>();
    for (let page = await deps.changedSince(since, null); ; ) {
      const news = page.filter(({ sessionId }) => !seen.has(sessionId));
      const last = page.at(-1);
      if (last === undefined || news.length === 0) break; // a session that keeps changing is listed again and again
      for (const { sessionId } of news) {
        seen.add(sessionId);
        if ((await failureOf(sessionId, options)) !== null) failed.add(sessionId);
      }
      if (failed.size === 0) await doneUntil(last.updatedAt);
      page = await deps.changedSince(since, last);
    }
    for (let round = 0; failed.size > 0; round += 1) {
      for (const sessionId of failed) if (isSkipped(sessionId) || round >= maxAttempts) failed.delete(sessionId);
      if (failed.size === 0) return;
      await clock.sleep(retryMs(round), signal);
      for (const sessionId of failed) if ((await failureOf(sessionId, options)) === null) failed.delete(sessionId);
    }
  }

  async function recordForOwner(
    sessionId: string,
    options: { readonly signal: AbortSignal; readonly onlyIfOver?: boolean },
  ): Promise<void> {
    const caller = { accountId: await deps.owner(), folders: null };
    try {
      const { turns } = await recordTurns(deps, { sessionId, caller, onPurpose: false, ...options });
      if (turns > 0) log.debug({ sessionId, turns }, "recorded");
    } catch (error) {
      // Forgotten in the meantime, or its folder is no longer allowed.
      if (!hasCode(error, "session_not_found")) throw error;
    }
  }

  return {
    async record(sessionId, caller, signal) {
      const wanted = { sessionId, caller, onPurpose: true, signal: AbortSignal.any([signal, stop.signal]) };
      const recording = gate.run(() => recordTurns(deps, wanted));
      onPurpose.add(recording);
      try {
        return await recording;
      } finally {
        onPurpose.delete(recording);
      }
    },
    start() {
      running ??= run(stop.signal);
    },
    async close() {
      stop.abort();
      await Promise.allSettled([running, ...onPurpose]); // their callers get the error
    },
  };
}

function retryMs(failures: number): number {
  return Math.min(maxRetryMs, firstRetryMs * 2 ** failures);
}

/** Whether to record the session now. A session that continues under another id is over. */
function isDue(event: SessionEvent, mode: RecorderDeps["mode"]): boolean {
  switch (event.kind) {
    case "session.exited":
    case "session.closed":
      return true;
    case "session.status":
      return event.status === "completed";
    case "session.turn_ended":
      return mode === "turn";
    default:
      return false;
  }
}
