import type { ExternalHolder } from "../agents/index.ts";
import { isoTime } from "../core/clock.ts";
import type { TranscriptSummary } from "../transcripts/index.ts";
import type { PendingPermission, SessionSummary } from "../wire/coding.ts";
import { isBooting, type OpenPermission } from "./activity.ts";
import { dialogAsked } from "./dialog-desk.ts";
import type { LiveSession } from "./live-session.ts";
import type { SessionNotes } from "./session-notes.ts";
import { notEnded, type SessionRecord } from "./session-store.ts";
import { activityOf, externalActivity, limitEnd, statusOf } from "./status.ts";

/** The transcript's part of a summary, from disk or from the catalog. */
export type TranscriptFacts = Pick<
  TranscriptSummary,
  "title" | "updatedAt" | "turnCount" | "model" | "branch" | "sizeBytes"
>;

/** Everything that a session's summary is made of. */
export interface SessionFacts {
  readonly record: SessionRecord;
  /** The session's process, when it lives under this gateway. */
  readonly live: LiveSession | null;
  readonly transcript: (TranscriptFacts & Partial<Pick<TranscriptSummary, "lastTurn">>) | null;
  /** A process outside this gateway that runs the session. */
  readonly external: ExternalHolder | null;
  readonly queuedPrompts: number;
  readonly worktree: SessionSummary["worktree"];
  readonly notes: SessionNotes;
}

/** The summary in every response. Pure, except for the live session's current state. */
export function summarize({
  record,
  live,
  transcript,
  external,
  queuedPrompts,
  worktree,
  notes,
}: SessionFacts): SessionSummary {
  const alive = live?.exit === null;
  const running = alive || external !== null;
  const status = statusOf({
    alive: running,
    ready: external !== null || (live !== null && !isBooting(live.state)),
    hasTranscript: transcript !== null,
  });
  const title = notes.title ?? transcript?.title ?? record.title;
  const updatedAt = transcript?.updatedAt ?? isoTime(record.updatedAt);
  return {
    sessionId: record.sessionId,
    sessionAliases: [...record.aliases],
    agent: record.agent,
    dir: record.dir,
    title,
    status,
    activity: alive ? activityOf(live) : external === null ? null : externalActivity(external, transcript),
    owner: alive ? "gateway" : external !== null ? "external" : null,
    pid: alive ? live.pid : (external?.pid ?? null),
    createdAt: isoTime(record.createdAt),
    updatedAt,
    turnCount: transcript?.turnCount ?? 0,
    queuedPrompts,
    draft: alive && live.outbox.draft,
    model: transcript?.model ?? record.model,
    branch: transcript?.branch ?? null,
    worktree,
    permissions: alive ? askedBy(live) : [],
    screen: alive ? (live.state.standing?.screen ?? null) : null,
    resetsAt: alive ? limitEnd(live.state, live.transcriptSummary) : null,
    sizeBytes: transcript?.sizeBytes ?? 0,
    exitCode: running ? null : record.exitCode,
    signal: running ? null : record.signal,
    failure:
      status === "failed"
        ? { exitCode: record.exitCode, signal: record.signal, lastScreen: record.lastScreen ?? "" }
        : null,
    turnFailure: turnFailureOf(transcript),
    warnings: alive ? [...live.warnings] : [],
    continuedBy: record.continuedBy,
    closedAt: record.closedAt === null ? null : isoTime(record.closedAt),
    pinned: notes.pinned,
    archived: notes.archived,
    labels: [...notes.labels],
    unread: Date.parse(updatedAt) > notes.seenAt,
    keepRunning: record.keepRunning,
    idleEndsAt: alive && live.idleEndsAt !== null ? isoTime(live.idleEndsAt) : null,
    endedAfterIdleMs: running ? null : record.endedAfterIdleMs,
  };
}

/** A longer failure text is a response body that a server sent instead of a reason. */
const maxFailureCharacters = 1000;

/** Null also for a transcript from the catalog, which stores no last turn. */
function turnFailureOf(transcript: SessionFacts["transcript"]): string | null {
  const lastTurn = transcript?.lastTurn;
  return lastTurn?.kind === "failed" ? lastTurn.message.slice(0, maxFailureCharacters) : null;
}

function askedBy(live: LiveSession): PendingPermission[] {
  const dialog = dialogAsked(live.state);
  const permissions = live.state.permissions.map((permission) => toPending(live, permission));
  return dialog === null ? permissions : [...permissions, dialog];
}

function toPending(live: LiveSession, permission: OpenPermission): PendingPermission {
  const { permissionId, kind, tool, input, askedAt } = permission;
  return { permissionId, kind, tool, input, askedAt, answerable: live.isAnswerable(permissionId) };
}

/** What a transcript shows of its session. */
type FoundOnDisk = Pick<SessionRecord, "sessionId" | "agent" | "dir" | "transcriptPath" | "createdAt" | "updatedAt">;

/** The record of a session that Postern never ran: only what its transcript shows. */
export function recordOnDisk(found: FoundOnDisk): SessionRecord {
  return {
    ...found,
    aliases: [],
    title: null,
    model: null,
    permissionMode: "ask",
    launchId: null,
    terminalId: null,
    ...notEnded,
    continuedBy: null,
    keepRunning: false,
  };
}
