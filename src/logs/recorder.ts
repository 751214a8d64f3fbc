import { hasCode, messageOf } from "../core/errors.ts";
import { createGate } from "../core/gate.ts";
import type { Log } from "../core/log.ts";
import type { SessionEvent } from "../wire/events.ts";
import type { Recorded } from "./ingest.ts";
import type { FollowSessions, LogsCaller } from "./ports.ts";
import { type RecordTurnsDeps, recordTurns } from "./record-turns.ts";
import { recordingMark, saveRecordingMark } from "./recording-marks.ts";

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

/** What {@link createRecorder} needs. */
export interface RecorderDeps extends RecordTurnsDeps {
  readonly log: Log;
  /** When a session is remembered by itself. */
  readonly mode: "off" | "close" | "turn";
  /** The sessions that this gateway runs or ran, and how they fare. */
  readonly follow: FollowSessions;
  /** Those of these sessions that changed since, or run now: for when events are lost. */
  readonly changedSince: (epochMs: number) => Promise<readonly string[]>;
  /** Whose memory it is that is recorded into by itself. */
  readonly owner: () => Promise<string>;
}

/** Each reads a whole session; more callers wait, and yet more are told to come again. */
const onPurposeAtOnce = { atOnce: 1, waiting: 16 };
const firstRetryMs = 1_000;
const maxRetryMs = 60_000;
/** About three minutes: then a session is left out that cannot be recorded, unless the store is what fails. */
const maxAttempts = 8;
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
  const failing = { eventId: "", attempts: 0 };

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
        await clock.sleep(Math.min(maxRetryMs, firstRetryMs * 2 ** failures), signal).catch(() => undefined);
      }
    }
  }

  async function follow(signal: AbortSignal, succeeded: () => void): Promise<void> {
    const mark = await recordingMark(deps);
    let saved = mark?.eventId ?? "";
    let passed = 0;
    const save = async (eventId: string): Promise<void> => {
      if (eventId === saved) return;
      await saveRecordingMark(deps, { eventId, at: clock.now() });
      saved = eventId;
      passed = 0;
    };
    for await (const message of deps.follow({ after: mark?.eventId ?? null, signal })) {
      if (message.kind === "position") {
        await save(message.id);
        succeeded();
      } else if (message.kind === "reset") {
        await catchUp((mark?.at ?? clock.now()) - marginMs, signal);
        await save(message.reset.id);
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

  /** Fails so that it is tried again; after some times the event is let go, for what follows it. */
  async function attempt({ id, sessionId }: SessionEvent, signal: AbortSignal): Promise<void> {
    try {
      await recordByItself(sessionId, { signal });
    } catch (error) {
      if (signal.aborted) throw error;
      failing.attempts = failing.eventId === id ? failing.attempts + 1 : 1;
      failing.eventId = id;
      if (failing.attempts < maxAttempts) throw error;
      log.error({ sessionId, reason: messageOf(error) }, "a session cannot be recorded; it is left out for now");
    }
  }

  /** Events were lost: looks at every session that may have said something. */
  async function catchUp(since: number, signal: AbortSignal): Promise<void> {
    for (const sessionId of await deps.changedSince(since)) {
      await recordByItself(sessionId, { signal, onlyIfOver: mode === "close" });
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
    record: (sessionId, caller, signal) =>
      gate.run(() =>
        recordTurns(deps, { sessionId, caller, onPurpose: true, signal: AbortSignal.any([signal, stop.signal]) }),
      ),
    start() {
      running ??= run(stop.signal);
    },
    async close() {
      stop.abort();
      await running;
    },
  };
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
