import type { Kysely } from "kysely";
import type { Attachments } from "../attachments/index.ts";
import type { Catalog } from "../catalog/index.ts";
import { type Clock, isoTime } from "../core/clock.ts";
import { PosternError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type {
  EventPublisher,
  ForgetInChats,
  LocatedSession,
  NoteStore,
  PromptQueue,
  SessionLocator,
  SessionStore,
} from "../sessions/index.ts";
import { dropRecordings, recordingsOf, removeLaunchDir, sessionError, terminalsOfOnly } from "../sessions/index.ts";
import type { Erasure } from "../storage/erasure.ts";
import type { Tables } from "../storage/schema.ts";
import type { TerminalHostClient, TerminalRecording } from "../terminal-host/terminal-info.ts";
import type { Caller } from "../wire/caller.ts";
import type { ForgottenTraces, RecordingInfo } from "../wire/terminal.ts";
import { type CastPart, castLines } from "./asciicast.ts";

/** What Postern keeps about a session: its terminals' recordings and its hooks' reports. */
export interface Recordings {
  /** @throws PosternError `session_not_found` */
  info(sessionId: string, caller: Caller): Promise<RecordingInfo>;
  /**
   * The lines of an asciicast (version 2), each with its newline, read on demand.
   * @param from a date-time, or seconds since the recording's start; the lines begin with the screen at that moment
   * @throws PosternError `session_not_found` | `recording_not_found` | `rate_limited` before the first line
   */
  play(
    sessionId: string,
    options: { readonly from: string | number | undefined; readonly signal: AbortSignal },
    caller: Caller,
  ): Promise<AsyncGenerator<string, void>>;
  /**
   * Removes the recordings, and the session's title, prompts, chat messages in Postern and catalog text, so that with the embedded store,
   * no file in the state folder except memory contains the conversation. The agent's transcript is kept, but the catalog ignores its
   * existing content. If the agent resumes the session, its terminal is recorded again.
   * @throws PosternError `session_not_found` | `session_busy` while its agent runs
   */
  forget(sessionId: string, caller: Caller): Promise<ForgottenTraces>;
}

export interface RecordingsDeps {
  readonly db: Kysely<Tables>;
  readonly host: Pick<TerminalHostClient, "recording" | "forget">;
  readonly locator: Pick<SessionLocator, "locate" | "withSession">;
  readonly store: Pick<SessionStore, "update" | "namesLaunch">;
  readonly queue: Pick<PromptQueue, "loseAll">;
  readonly publisher: Pick<EventPublisher, "publish" | "flush">;
  readonly catalog: Pick<Catalog, "forget">;
  readonly forgetInChats: ForgetInChats;
  readonly attachments: Pick<Attachments, "forget">;
  /** Revokes the links to a session, given its ids. */
  readonly forgetShares: (sessionIds: readonly string[]) => Promise<void>;
  /** Deletes the record of which files of a session accounts have seen, given its ids. */
  readonly forgetLooks: (sessionIds: readonly string[]) => Promise<void>;
  readonly notes: Pick<NoteStore, "forget">;
  /** Erases deleted content from the store's files. */
  readonly erasure: Pick<Erasure, "finish">;
  readonly clock: Clock;
  readonly home: string;
  readonly log: Log;
}

/** The time that removing files takes on a slow disk. */
const removalMs = 5_000;
const removalPauseMs = 10;

/** The recordings of all sessions. */
export function createRecordings(deps: RecordingsDeps): Recordings {
  const { db, host, locator, clock } = deps;

  /** The session's part of each recording that still exists, oldest first. */
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
        throw sessionError("recording_not_found", `Session ${sessionId} has no recording, or it was removed.`);
      }
      const zeroAt = first.beginsAt;
      const fromAt = typeof from === "string" ? Date.parse(from) : zeroAt + (from ?? 0) * 1_000;
      return castLines(parts, { zeroAt, fromAt, signal });
    },

    forget: (sessionId, caller) =>
      locator.withSession(sessionId, caller, async (session) => {
        const { record, live } = session;
        if (live !== null) {
          throw sessionError(
            "session_busy",
            `Session ${record.sessionId} is running and still being recorded. Close it first.`,
          );
        }
        // This is done first. After a crash, the text then stays hidden, and the next gateway erases it.
        const catalog = session.template.transcriptFormat === null ? null : await deps.catalog.forget(record);
        const shown = await removeRecordings(record.sessionId);
        const inboxes = await removeInbox(session);
        if (session.stored) await deps.queue.loseAll(record.sessionId);
        const names = [record.sessionId, ...record.aliases];
        await deps.forgetShares(names);
        await deps.forgetLooks(names);
        const attachments = await deps.attachments.forget([record.sessionId, ...record.aliases]);
        const chatMessages = await deps.forgetInChats(names);
        await deps.notes.forget(record);
        deps.publisher.publish({ events: [], memos: new Map([[record.sessionId, null]]) });
        await deps.publisher.flush();
        const inFiles = await Promise.all([catalog?.finished ?? "done", deps.erasure.finish()]);
        const gone = {
          sessionId: record.sessionId,
          recordings: shown.sizes.length,
          recordingBytes: shown.sizes.reduce((sum, size) => sum + size, 0),
          hookInboxes: inboxes.removed,
          chatMessages,
          attachments,
          kept: shown.kept + inboxes.kept,
          transcript: record.transcriptPath,
          pending: inFiles.includes("pending"),
        };
        return { ...gone, message: forgottenText(gone) };
      }),
  };

  /** @returns the sizes of removed recordings, and the number kept for another session that used the same terminal */
  async function removeRecordings(
    sessionId: string,
  ): Promise<{ readonly sizes: readonly number[]; readonly kept: number }> {
    const sizes: number[] = [];
    const all = new Set((await recordingsOf(db, sessionId)).map(({ terminalId }) => terminalId));
    // The files are removed first, because after a crash the store still lists them.
    for (const terminalId of await terminalsOfOnly(db, sessionId)) {
      all.delete(terminalId);
      const recording = await host.recording(terminalId);
      await host.forget(terminalId);
      if (recording !== null) sizes.push(recording.sizeBytes);
      await untilGone(terminalId);
    }
    await dropRecordings(db, sessionId);
    const others = await Promise.all([...all].map((terminalId) => host.recording(terminalId)));
    return { sizes, kept: others.filter((recording) => recording !== null).length };
  }

  /** Waits for the files to be gone, because the host answers before it has removed them. */
  async function untilGone(terminalId: string): Promise<void> {
    const until = clock.now() + removalMs;
    while ((await host.recording(terminalId)) !== null) {
      if (clock.now() >= until) {
        throw new PosternError("internal_error", `The terminal host did not remove the recording ${terminalId}.`);
      }
      await clock.sleep(removalPauseMs);
    }
  }

  /** Removes the folder of the session's newest launch, unless another session uses it too. */
  async function removeInbox({
    record,
    stored,
  }: LocatedSession): Promise<{ readonly removed: number; readonly kept: number }> {
    if (!stored) return { removed: 0, kept: 0 };
    const { sessionId, launchId } = record;
    await deps.store.update(sessionId, { launchId: null, lastScreen: null, title: null });
    if (launchId === null) return { removed: 0, kept: 0 };
    if (await deps.store.namesLaunch(launchId)) {
      await deps.store.update(sessionId, { launchId });
      return { removed: 0, kept: 1 };
    }
    await removeLaunchDir(deps, launchId);
    return { removed: 1, kept: 0 };
  }
}

function forgottenText({
  sessionId,
  kept,
  chatMessages,
  transcript,
  pending,
}: Omit<ForgottenTraces, "message">): string {
  const sentences = [
    pending
      ? "Removed. Erasing it from the files of the state folder continues in the background, and is done after the next start at the latest."
      : "Removed what Postern stored about the session.",
  ];
  if (kept > 0) {
    sentences.push(
      `Another session shares some of it (recordings and hook inboxes: ${kept}); forget that session too to remove it.`,
    );
  }
  if (chatMessages > 0)
    sentences.push(`${chatMessages} waiting chat messages will not be sent; messages already sent stay in the chat.`);
  if (transcript !== null) sentences.push(`The agent's transcript stays at ${transcript}; delete it there.`);
  sentences.push(`The session's memory is kept too: delete it with \`postern memory purge --session ${sessionId}\`.`);
  return sentences.join(" ");
}
