import type { Kysely } from "kysely";
import { isoTime } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import type { Tables } from "../storage/schema.ts";
import type { TerminalHostClient, TerminalRecording } from "../terminal-host/terminal-info.ts";
import type { ForgottenTraces, RecordingInfo } from "../wire/terminal.ts";
import { type CastPart, castLines } from "./asciicast.ts";
import type { Catalog } from "./catalog/catalog.ts";
import { codingError } from "./errors.ts";
import type { LocatedSession, SessionLocator } from "./locate.ts";
import type { Caller, EventPublisher } from "./ports.ts";
import { removeLaunchDir } from "./sessions/launch.ts";
import { dropRecordings, recordingsOf, terminalsOfOnly } from "./sessions/session-recordings.ts";
import type { SessionStore } from "./sessions/session-store.ts";

/** What Postern itself keeps of a session: what its terminals showed, and what its hooks told. */
export interface Recordings {
  /** @throws PosternError `session_not_found` */
  info(sessionId: string, caller: Caller): Promise<RecordingInfo>;
  /**
   * The lines of an asciicast (version 2), each with its newline, read as they are taken.
   * @param from a date-time, or seconds since the first moment that is recorded; the screen of that moment comes first
   * @throws PosternError `session_not_found` | `recording_not_found` | `rate_limited` before the first line
   */
  play(
    sessionId: string,
    options: { readonly from: string | number | undefined; readonly signal: AbortSignal },
    caller: Caller,
  ): Promise<AsyncGenerator<string, void>>;
  /**
   * Removes it all, and what the catalog knows of its transcript: that one is the agent's, and read anew if it is still there.
   * @throws PosternError `session_not_found` | `session_busy` while its agent runs
   */
  forget(sessionId: string, caller: Caller): Promise<ForgottenTraces>;
}

/** What {@link createRecordings} needs. */
export interface RecordingsDeps {
  readonly db: Kysely<Tables>;
  readonly host: Pick<TerminalHostClient, "recording" | "forget">;
  readonly locator: Pick<SessionLocator, "locate" | "withSession">;
  readonly store: Pick<SessionStore, "update" | "launchIds">;
  readonly publisher: Pick<EventPublisher, "publish">;
  readonly catalog: Pick<Catalog, "find" | "forget">;
  readonly home: string;
  readonly log: Log;
}

/** The recordings of all sessions. */
export function createRecordings(deps: RecordingsDeps): Recordings {
  const { db, host, locator } = deps;

  /** Of each terminal, the part that is the session's, oldest first; those of which nothing is left are left out. */
  async function partsOf(sessionId: string, caller: Caller): Promise<readonly CastPart[]> {
    const { record } = await locator.locate(sessionId, caller);
    const times = await recordingsOf(db, record.sessionId);
    const found = new Map<string, TerminalRecording | null>();
    for (const { terminalId } of times) {
      if (!found.has(terminalId)) found.set(terminalId, await host.recording(terminalId));
    }
    return times.flatMap(({ terminalId, startedAt, endedAt }) => {
      const recording = found.get(terminalId) ?? null;
      if (recording === null) return [];
      const beginsAt = Math.max(startedAt, recording.beginsAt);
      const endsAt = Math.min(endedAt ?? recording.endsAt, recording.endsAt);
      return endsAt < beginsAt ? [] : [{ recording, beginsAt, endsAt, isLast: endedAt === null }];
    });
  }

  return {
    async info(sessionId, caller) {
      const parts = await partsOf(sessionId, caller);
      return {
        terminals: parts.map(({ recording, beginsAt, endsAt, isLast }) => ({
          terminalId: recording.terminalId,
          startedAt: isoTime(recording.startedAt),
          beginsAt: isoTime(beginsAt),
          endsAt: isoTime(endsAt),
          live: recording.live && isLast,
          sizeBytes: recording.sizeBytes,
        })),
      };
    },

    async play(sessionId, { from, signal }, caller) {
      const parts = await partsOf(sessionId, caller);
      const [first] = parts;
      if (first === undefined) {
        throw codingError("recording_not_found", `Nothing is recorded of session ${sessionId}, or not any more.`);
      }
      const zeroAt = first.beginsAt;
      const fromAt = typeof from === "string" ? Date.parse(from) : zeroAt + (from ?? 0) * 1_000;
      return castLines(parts, { zeroAt, fromAt, signal });
    },

    forget: (sessionId, caller) =>
      locator.withSession(sessionId, caller, async (session) => {
        const { record, live } = session;
        if (live !== null) {
          throw codingError(
            "session_busy",
            `The agent of session ${record.sessionId} is running and goes on being recorded. Close the session first.`,
          );
        }
        const sizes = await removeRecordings(record.sessionId);
        const hookInboxes = await removeInbox(session);
        const path = record.transcriptPath ?? (await deps.catalog.find(record.sessionId, record.agent));
        if (path !== null) deps.catalog.forget(path);
        deps.publisher.publish({ events: [], memos: new Map([[record.sessionId, null]]) });
        return {
          sessionId: record.sessionId,
          recordings: sizes.length,
          recordingBytes: sizes.reduce((sum, size) => sum + size, 0),
          hookInboxes,
        };
      }),
  };

  /** @returns the sizes of what is gone. A terminal that showed another session too stays, for that one. */
  async function removeRecordings(sessionId: string): Promise<readonly number[]> {
    const sizes: number[] = [];
    // The files first: broken off in between, the store still says which are to go.
    for (const terminalId of await terminalsOfOnly(db, sessionId)) {
      const recording = await host.recording(terminalId);
      await host.forget(terminalId);
      if (recording !== null) sizes.push(recording.sizeBytes);
    }
    await dropRecordings(db, sessionId);
    return sizes;
  }

  /** The folder of its newest launch, unless the session that it goes on with is told of there. */
  async function removeInbox({ record, stored }: LocatedSession): Promise<number> {
    if (!stored) return 0;
    const { sessionId, launchId } = record;
    await deps.store.update(sessionId, { launchId: null, lastScreen: null });
    if (launchId === null) return 0;
    if ((await deps.store.launchIds()).has(launchId)) {
      await deps.store.update(sessionId, { launchId });
      return 0;
    }
    await removeLaunchDir(deps, launchId);
    return 1;
  }
}
