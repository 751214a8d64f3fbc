import { z } from "zod";
import { isoTime } from "../core/clock.ts";
import { sha256 } from "../core/ids.ts";
import type { TranscriptSummary } from "../transcripts/index.ts";
import {
  type Activity,
  activitySchema,
  type PendingPermission,
  type SessionStatus,
  sessionStatusSchema,
} from "../wire/coding.ts";
import type { NewSessionEvent } from "../wire/events.ts";
import { type ActivityState, isBooting } from "./activity.ts";
import { dialogAsked } from "./dialog-desk.ts";
import type { SessionRecord } from "./session-store.ts";
import { activityOf, statusOf } from "./status.ts";

/** A session whose events are published. */
export interface PublishedSession {
  readonly record: SessionRecord;
  readonly state: ActivityState;
  readonly outbox: {
    readonly unconfirmed: string | null;
    /** Null until the store's prompts are read. */
    readonly queue: { readonly promptIds: readonly string[]; readonly edits: number } | null;
  };
  readonly transcriptSummary: TranscriptSummary | null;
  /** Whether the id is a placeholder until the agent reports its own. */
  readonly provisional: boolean;
}

/** What was published about a session. */
const memoSchema = z.object({
  status: sessionStatusSchema.nullable(),
  activity: activitySchema.nullable(),
  turnRuns: z.boolean(),
  /** The open permissions, by ids that stay the same when the reports are read again. */
  asked: z.array(z.string()),
  /** Whether its process ended, or continued with another session. */
  over: z.boolean(),
  /** The time of the agent's newest report included here. */
  through: z.number(),
  /** The waiting prompts, as a mark made by `markOfQueue`. */
  queue: z.string().default(""),
});
/** @see memoSchema */
export type Memo = z.infer<typeof memoSchema>;

// Enough for a tool's name; no known agent uses longer names.
const maxToolLength = 200;

/** A session about which nothing was published. */
export const nothingPublished: Memo = {
  status: null,
  activity: null,
  turnRuns: false,
  asked: [],
  over: false,
  through: -1,
  queue: "",
};

/** How a process ended, as far as it was observed. */
export interface Exit {
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly endedAfterIdleMs: number | null;
}

export interface Facts {
  readonly status: SessionStatus;
  readonly activity: Activity | null;
  readonly turnRuns: boolean;
  /** Whether the transcript's last turn is unfinished. */
  readonly turnOpen: boolean;
  readonly permissions: readonly Pick<PendingPermission, "permissionId" | "kind" | "tool">[];
  /** Null while it is not known. */
  readonly queue: { readonly promptIds: readonly string[]; readonly edits: number } | null;
  readonly exit: Exit | null;
}

export function factsOf(session: PublishedSession, exit: Exit | null): Facts {
  const { state, transcriptSummary } = session;
  const dialog = dialogAsked(state);
  return {
    status: statusOf({
      alive: exit === null,
      ready: !isBooting(state),
      hasTranscript: transcriptSummary !== null,
    }),
    activity: exit === null ? activityOf(session) : null,
    turnRuns: state.turnRuns,
    turnOpen: transcriptSummary?.lastTurn.kind === "open",
    permissions: exit === null ? [...state.permissions, ...(dialog === null ? [] : [dialog])] : [],
    // Prompts that wait when a process ends stay for the next process.
    queue: exit === null ? session.outbox.queue : null,
    exit,
  };
}

/** A short mark of the queue: equal for the same prompts in the same order. */
export function markOfQueue(promptIds: readonly string[]): string {
  return promptIds.length === 0 ? "" : sha256(promptIds.join(" ")).slice(0, queueMarkLength);
}

// Enough to notice a change.
const queueMarkLength = 16;

export function queueEvent(record: SessionRecord, queuedPrompts: number, at: number): NewSessionEvent {
  return { kind: "session.queue_changed", ...headOf(record, at), queuedPrompts };
}

/** What must be published, and the memo after that. Pure. */
export function newsOf(
  memo: Memo,
  facts: Facts,
  context: {
    readonly record: SessionRecord;
    readonly at: number;
    readonly created: { readonly replaces: string | null } | null;
    /** Turns whose end was observed since the last look. */
    readonly turnsEnded: number;
    /** Whether the text of a waiting prompt was changed since the last look. */
    readonly edited: boolean;
    readonly catchingUp: boolean;
  },
): { readonly events: readonly NewSessionEvent[]; readonly memo: Memo } {
  const { record, at, created } = context;
  const head = headOf(record, at);
  const { status, activity } = facts;
  const events: NewSessionEvent[] = [];
  // The unobserved end of a turn that was published as running, unless the transcript shows that it still runs.
  const unseen = memo.turnRuns && !facts.turnRuns && (context.turnsEnded > 0 || !facts.turnOpen) ? 1 : 0;
  const ended = context.catchingUp ? unseen : Math.max(context.turnsEnded, unseen);
  if (created !== null) {
    const made = headOf(record, record.createdAt);
    events.push({ kind: "session.created", ...made, status, activity, replaces: created.replaces });
  }
  const alive = created === null && facts.exit === null;
  if (alive && memo.status !== status) events.push(statusEvent(record, { previous: memo.status, status, at }));
  for (let turn = 0; turn < ended; turn += 1) {
    events.push({ kind: "session.turn_ended", ...head });
  }
  for (const { permissionId, kind, tool } of facts.permissions) {
    if (memo.asked.includes(permissionId)) continue;
    events.push({
      kind: "session.permission_asked",
      ...head,
      permissionId,
      permission: kind,
      tool: tool.slice(0, maxToolLength),
    });
  }
  if (created === null && activity !== null && memo.activity !== activity) {
    events.push({ kind: "session.activity", ...head, activity, previous: memo.activity });
  }
  const queue = facts.queue === null ? memo.queue : markOfQueue(facts.queue.promptIds);
  if (facts.queue !== null && (queue !== memo.queue || context.edited)) {
    events.push(queueEvent(record, facts.queue.promptIds.length, at));
  }
  if (facts.exit !== null) {
    events.push({ kind: "session.exited", ...head, status, ...facts.exit });
    if (memo.status !== status) events.push(statusEvent(record, { previous: memo.status, status, at }));
  }
  const turnRuns = facts.exit === null && (facts.turnRuns || (memo.turnRuns && unseen === 0 && ended === 0));
  return {
    events,
    memo: {
      ...memo,
      status,
      activity,
      turnRuns,
      asked: facts.permissions.map(({ permissionId }) => permissionId),
      over: facts.exit !== null,
      queue,
    },
  };
}

function headOf({ sessionId, agent, dir }: SessionRecord, at: number) {
  return { at: isoTime(at), sessionId, agent, dir };
}

export function statusEvent(
  record: SessionRecord,
  change: { readonly previous: SessionStatus | null; readonly status: SessionStatus; readonly at: number },
): NewSessionEvent {
  const { previous, status, at } = change;
  return { kind: "session.status", ...headOf(record, at), status, previous, continuedBy: record.continuedBy };
}

/** How a session ended according to its record, if that was not published yet. */
export function endNews(
  record: SessionRecord,
  memo: Memo | null,
): { readonly events: readonly NewSessionEvent[]; readonly memo: Memo | null } {
  const { closedAt } = record;
  const closed: readonly NewSessionEvent[] =
    closedAt === null ? [] : [{ kind: "session.closed", ...headOf(record, closedAt) }];
  if (memo === null || memo.over) return { events: closed, memo: closedAt === null ? memo : null };
  const { updatedAt, exitCode, signal, endedAfterIdleMs, continuedBy, transcriptPath } = record;
  const status = continuedBy !== null || transcriptPath !== null ? "completed" : "failed";
  const change = statusEvent(record, { previous: memo.status, status, at: updatedAt });
  const how = { status, exitCode, signal, endedAfterIdleMs } as const;
  const exited = { kind: "session.exited", ...headOf(record, updatedAt), ...how } as const;
  return {
    events: [...(continuedBy === null ? [exited] : []), change, ...closed],
    memo: closedAt === null ? { ...memo, status, activity: null, turnRuns: false, over: true } : null,
  };
}

/** Null also for a memo that another version wrote and this one cannot read: everything then counts as unpublished. */
export function parseMemo(text: string | null): Memo | null {
  if (text === null) return null;
  try {
    return memoSchema.safeParse(JSON.parse(text)).data ?? null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
