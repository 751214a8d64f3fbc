import { hasCode, messageOf } from "../core/errors.ts";
import { createGate } from "../core/gate.ts";
import type { Log } from "../core/log.ts";
import type { SessionEvent } from "../wire/events.ts";
import type { Recorded } from "./ingest.ts";
import type { FollowSessions, LogsCaller } from "./ports.ts";
import { type RecordTurnsDeps, recordingMark, recordTurns, saveRecordingMark } from "./record-turns.ts";

/** Takes sessions into the memory: by itself into the owner's, and for whoever asks into theirs. */
export interface Recorder {
  /**
   * Somebody asked for it: remembers all turns of a session that have ended, also those that were deleted before.
   * @param sessionId or another name that it ever had
   * @throws PosternError `session_not_found` | `rate_limited`
   */
  record(sessionId: string, caller: LogsCaller, signal: AbortSignal): Promise<Recorded>;
  /** Begins to record by itself, with what happened since it was last done. */
  start(): void;
  /** Ends what is under way after the entry that is being written; it goes on from there at the next start. Idempotent. */
  close(): Promise<void>;
}

/** That a session changed, in milliseconds since the epoch. */
interface ChangedSession {
  readonly sessionId: string;
  readonly updatedAt: number;
}

export interface RecorderDeps extends RecordTurnsDeps {
  readonly log: Log;
  /** When a session is remembered by itself. */
  readonly mode: "off" | "close" | "turn";
  /** The sessions that this gateway runs or ran, and how they fare. */
  readonly follow: FollowSessions;
  /** Those of these sessions that changed since, or run now, the earliest first, page by page; an empty one is the end: for when events are lost. */
  readonly changedSince: (epochMs: number, after: ChangedSession | null) => Promise<readonly ChangedSession[]>;
  /** Whose memory it is that is recorded into by itself. */
  readonly owner: () => Promise<string>;
}

/** Each reads a whole session; more callers wait, and yet more are told to come again. */
const onPurposeAtOnce = { atOnce: 1, waiting: 16 };
const firstRetryMs = 1_000;
const maxRetryMs = 60_000;
/** About three minutes: then a session is left out that cannot be recorded, unless the store is what fails. */
const maxAttempts = 8;
/** Sessions that failed and are remembered as such; the one that failed longest ago is the first to be tried anew. */
const maxFailing = 1_000;
/** Events that say nothing to the recorder are read again when it is killed, rather than each written down. */
const passedAtOnce = 500;
/** Of clocks, and of events that waited to be written. */
const marginMs = 60_000;

/**
 * A recorder over the sessions' events. They are its queue: kept by the store, read in order, one session at a time, and what it is done with is
 * written down, so that nothing is lost when the gateway is killed, and recording again adds nothing.
 */
export function createRecorder(deps: RecorderDeps): Recorder {
  const { log, clock, mode } = deps;
  const stop = new AbortController();
  const gate = createGate(onPurposeAtOnce);
  let running: Promise<void> | null = null;
  const onPurpose = new Set<Promise<Recorded>>();
  /** How often each session failed since it was last recorded. */
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
        log.warn({ reason: messageOf(error) }, "cannot record sessions; trying again");
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
        if (saysEnough(event, mode)) {
          await attempt(event, signal);
          await save(event.id);
          succeeded();
        } else if (++passed >= passedAtOnce) await save(event.id);
      }
    }
  }

  /** Fails so that it is tried again; after some times the session is left out: from then on each of its events is one try. */
  async function attempt({ sessionId }: SessionEvent, signal: AbortSignal): Promise<void> {
    const error = await failureOf(sessionId, { signal });
    if (error !== null && !isLeftOut(sessionId)) throw error;
  }

  function isLeftOut(sessionId: string): boolean {
    return (failing.get(sessionId) ?? 0) >= maxAttempts;
  }

  /** Counts it by session: one that cannot be read does not keep the others waiting for long. */
  async function failureOf(
    sessionId: string,
    options: { readonly signal: AbortSignal; readonly onlyIfOver?: boolean },
  ): Promise<Error | null> {
    const before = failing.get(sessionId) ?? 0;
    try {
      await recordByItself(sessionId, options);
      failing.delete(sessionId);
      return null;
    } catch (error) {
      if (options.signal.aborted) throw error;
      failing.delete(sessionId);
      failing.set(sessionId, before + 1);
      const [oldest] = failing.keys();
      if (failing.size > maxFailing && oldest !== undefined) failing.delete(oldest);
      const reason = messageOf(error);
      if (isLeftOut(sessionId))
        log.error({ sessionId, reason }, "a session cannot be recorded; it is left out for now");
      return error instanceof Error ? error : new Error(reason);
    }
  }

  /**
   * Events were lost: looks at every session that may have said something, then again at those that failed, and goes on without those that
   * still do. What is done is told, so that it is not done again after a stop.
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
      if (last === undefined || news.length === 0) break; // what goes on changing comes again and again
      for (const { sessionId } of news) {
        seen.add(sessionId);
        if ((await failureOf(sessionId, options)) !== null) failed.add(sessionId);
      }
      if (failed.size === 0) await doneUntil(last.updatedAt);
      page = await deps.changedSince(since, last);
    }
    for (let round = 0; failed.size > 0; round += 1) {
      for (const sessionId of failed) if (isLeftOut(sessionId) || round >= maxAttempts) failed.delete(sessionId);
      if (failed.size === 0) return;
      await clock.sleep(retryMs(round), signal);
      for (const sessionId of failed) if ((await failureOf(sessionId, options)) === null) failed.delete(sessionId);
    }
  }

  async function recordByItself(
    sessionId: string,
    options: { readonly signal: AbortSignal; readonly onlyIfOver?: boolean },
  ): Promise<void> {
    const caller = { accountId: await deps.owner(), folders: null };
    try {
      const { turns } = await recordTurns(deps, { sessionId, caller, onPurpose: false, ...options });
      if (turns > 0) log.debug({ sessionId, turns }, "recorded");
    } catch (error) {
      // Forgotten meanwhile, or its folder is no longer let in.
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
      await Promise.allSettled([running, ...onPurpose]); // who asked is told what became of it
    },
  };
}

function retryMs(failures: number): number {
  return Math.min(maxRetryMs, firstRetryMs * 2 ** failures);
}

/** Whether turns of this session are to be recorded now. One that goes on with another id is over. */
function saysEnough(event: SessionEvent, mode: RecorderDeps["mode"]): boolean {
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
