import type { AgentTemplate, Environment, ExternalHolder } from "../agents/index.ts";
import type { Catalog, TranscriptRow } from "../catalog/index.ts";
import { type AliveSessions, type SessionRow, transcriptRows } from "../catalog/index.ts";
import { isoTime } from "../core/clock.ts";
import { isAlive, startTimeOf } from "../platform/processes.ts";
import type { Activity, SessionSummary } from "../wire/coding.ts";
import { shownWorktree, type Worktrees } from "../worktrees/index.ts";
import { isBooting } from "./activity.ts";
import type { LiveSession } from "./live-session.ts";
import type { LiveSessions } from "./live-sessions.ts";
import type { PromptQueue } from "./prompt-queue.ts";
import { type NoteStore, noteKey } from "./session-notes.ts";
import type { SessionRecord, SessionStore } from "./session-store.ts";
import { activityOf } from "./status.ts";
import { recordOnDisk, type SessionFacts, summarize, type TranscriptFacts } from "./summary.ts";

/** Summaries for many sessions at once, from the catalog, the store and live processes, without opening a transcript. */
export interface SessionPages {
  /** The sessions that run now: read once for each call of a tool. */
  alive(): Promise<AliveNow>;
  /** In the order of `rows`. */
  summaries(
    rows: readonly Omit<SessionRow, "group">[],
    alive: AliveNow,
    accountId: string,
  ): Promise<readonly SessionSummary[]>;
}

/** The processes that run at the moment, by session. */
export interface AliveNow extends AliveSessions {
  readonly live: ReadonlyMap<string, LiveSession>;
  readonly external: ReadonlyMap<string, ExternalHolder>;
  /** Sessions whose agent waits for a person. */
  readonly needing: readonly string[];
}
export interface SessionPagesDeps {
  readonly catalog: Pick<Catalog, "database" | "indexing">;
  readonly store: Pick<SessionStore, "findAll">;
  readonly queue: Pick<PromptQueue, "waitingIn">;
  readonly live: Pick<LiveSessions, "all">;
  readonly worktrees: Pick<Worktrees, "ofSession">;
  readonly notes: Pick<NoteStore, "of">;
  readonly templates: readonly AgentTemplate[];
  readonly environmentOf: (template: AgentTemplate) => Environment;
}

/** Pages over the catalog. */
export function createSessionPages(deps: SessionPagesDeps): SessionPages {
  const { catalog, store, queue, worktrees, notes } = deps;

  return {
    async alive() {
      const all = deps.live.all().filter(({ exit }) => exit === null);
      const ours = new Set(all.map(({ pid }) => pid));
      const live = new Map(all.map((session) => [session.record.sessionId, session]));
      const reported = await Promise.all(
        deps.templates.map((template) => template.externalSessions(deps.environmentOf(template))),
      );
      // An agent that moved to another session may still hold the first one, and is not an outside process. The reports are a moment old:
      // a process that has ended since runs nothing.
      const others = reported.flatMap((sessions) =>
        [...sessions].filter(([id, { pid }]) => !live.has(id) && !ours.has(pid) && isAlive(pid, startTimeOf(pid))),
      );
      const ready = (session: LiveSession): boolean => !isBooting(session.state);
      return {
        live,
        external: new Map(others),
        running: [...all.filter(ready).map(({ record }) => record.sessionId), ...others.map(([id]) => id)],
        starting: all.filter((session) => !ready(session)).map(({ record }) => record.sessionId),
        needing: all.filter((session) => isNeeding(activityOf(session))).map(({ record }) => record.sessionId),
      };
    },

    async summaries(rows, alive, accountId) {
      const ids = rows.map(({ sessionId }) => sessionId);
      const reader = await catalog.database();
      const [records, waiting, transcripts, notesOf] = await Promise.all([
        store.findAll(ids),
        queue.waitingIn(ids),
        transcriptRows(
          reader,
          rows.flatMap(({ transcriptId }) => transcriptId ?? []),
        ),
        notes.of(rows, accountId),
      ]);
      const recordOf = new Map(records.map((record) => [record.sessionId, record]));
      const transcriptOf = new Map(transcripts.map((row) => [row.transcript_id, row]));
      const partial = catalog.indexing() !== null;
      const summaries = rows.map(async ({ sessionId, agent, transcriptId }) => {
        const stored = recordOf.get(sessionId);
        const row = transcriptId === null ? undefined : transcriptOf.get(transcriptId);
        const live = alive.live.get(sessionId) ?? null;
        const record = live?.record ?? (stored?.agent === agent ? stored : undefined) ?? (row && recordFrom(row));
        const noted = notesOf.get(noteKey({ agent, sessionId }));
        if (record === undefined || noted === undefined) return null; // it was removed during the query
        return summarize({
          notes: noted,
          record,
          live,
          transcript: row === undefined ? unread(record, partial) : transcriptFrom(row, live),
          external: live === null ? (alive.external.get(sessionId) ?? null) : null,
          queuedPrompts: live?.outbox.waitingCount ?? waiting.get(sessionId) ?? 0,
          worktree: stored === undefined ? null : shownWorktree(await worktrees.ofSession(sessionId)),
        });
      });
      return (await Promise.all(summaries)).filter((summary) => summary !== null);
    },
  };
}

function isNeeding(activity: Activity): boolean {
  return activity.startsWith("needs_");
}

function recordFrom(row: TranscriptRow): SessionRecord {
  return recordOnDisk({
    sessionId: row.session_id,
    agent: row.agent,
    dir: row.dir ?? "",
    transcriptPath: row.path,
    createdAt: row.created_at ?? row.updated_at,
    updatedAt: row.updated_at,
  });
}

/** The catalog does not store the last turn; for a live session it is known. */
function transcriptFrom(row: TranscriptRow, live: LiveSession | null): SessionFacts["transcript"] {
  const lastTurn = live?.transcriptSummary?.lastTurn;
  return {
    title: row.title,
    updatedAt: isoTime(row.updated_at),
    turnCount: row.turn_count,
    model: row.model,
    branch: row.branch,
    sizeBytes: row.size_bytes,
    ...(lastTurn === undefined ? {} : { lastTurn }),
  };
}

/** A recorded transcript that is not indexed yet; null once everything is indexed. */
function unread({ transcriptPath, updatedAt }: SessionRecord, partial: boolean): TranscriptFacts | null {
  if (!partial || transcriptPath === null) return null;
  return { title: null, updatedAt: isoTime(updatedAt), turnCount: 0, model: null, branch: null, sizeBytes: 0 };
}
