import { access } from "node:fs/promises";
import type { AgentTemplate, Environment, ExternalHolder } from "../agents/index.ts";
import type { Catalog } from "../catalog/index.ts";
import { createKeyedLock } from "../core/single-flight.ts";
import type { TranscriptSummary, Transcripts } from "../transcripts/index.ts";
import type { Caller } from "../wire/caller.ts";
import type { SessionSummary } from "../wire/coding.ts";
import type { FolderRule } from "../worktrees/index.ts";
import { shownWorktree, type Worktrees } from "../worktrees/index.ts";
import { sessionError } from "./errors.ts";
import type { LiveSession } from "./live-session.ts";
import type { LiveSessions } from "./live-sessions.ts";
import type { PromptQueue } from "./prompt-queue.ts";
import { type NoteStore, noteKey } from "./session-notes.ts";
import type { SessionRecord, SessionStore } from "./session-store.ts";
import { recordOnDisk, summarize } from "./summary.ts";

/** A session that the caller may see. */
export interface LocatedSession {
  readonly record: SessionRecord;
  /** Whether the store has it; otherwise it was found by id among an agent's transcripts. */
  readonly stored: boolean;
  readonly template: AgentTemplate;
  readonly env: Environment;
  readonly live: LiveSession | null;
  /** The caller's account. */
  readonly accountId: string;
}

/** Finds sessions by any of their current or earlier ids. */
export interface SessionLocator {
  /** @throws PosternError `session_not_found`, including for a session that the caller may not see. */
  locate(idOrAlias: string, caller: Caller): Promise<LocatedSession>;
  /** Locks the session for `task`: no other ask, spawn or close of it runs during that time, under any of its ids. */
  withSession<T>(idOrAlias: string, caller: Caller, task: (session: LocatedSession) => Promise<T>): Promise<T>;
  /** Holds a live session for `task` as {@link SessionLocator.withSession} does; does nothing if its id has changed in the meantime. */
  withLive(session: LiveSession, task: () => Promise<void>): Promise<void>;
  /** @returns null when there is no transcript (yet). */
  transcriptOf(session: LocatedSession): Promise<TranscriptSummary | null>;
  /**
   * According to the agent's own files, a process outside this gateway that runs or still holds a session. An agent that moved to another
   * session may hold the first one for as long as it lives (Codex, measured).
   */
  holderOf(session: LocatedSession): Promise<ExternalHolder | null>;
  /** The same, but null if the process belongs to this gateway. */
  externalHolder(session: LocatedSession): Promise<ExternalHolder | null>;
  summaryOf(session: LocatedSession): Promise<SessionSummary>;
}
export interface LocatorDeps {
  readonly store: SessionStore;
  readonly queue: PromptQueue;
  readonly live: LiveSessions;
  readonly transcripts: Transcripts;
  readonly templates: readonly AgentTemplate[];
  readonly environmentOf: (template: AgentTemplate) => Environment;
  readonly isVisibleDir: FolderRule["isVisibleDir"];
  readonly catalog: Pick<Catalog, "find">;
  readonly worktrees: Pick<Worktrees, "ofSession">;
  readonly notes: Pick<NoteStore, "of">;
}

/** A session before access to it is checked. */
type FoundSession = Omit<LocatedSession, "accountId">;

/** A locator over store, live sessions and the agents' transcripts. */
export function createLocator(deps: LocatorDeps): SessionLocator {
  const lock = createKeyedLock();

  async function fromStore(record: SessionRecord): Promise<FoundSession | null> {
    const template = deps.templates.find((candidate) => candidate.name === record.agent);
    if (template === undefined) return null; // its agent is no longer configured
    const env = deps.environmentOf(template);
    const transcriptPath = record.transcriptPath ?? (await pathOf(record.sessionId, { template, env }));
    return { record: { ...record, transcriptPath }, stored: true, template, env, live: null };
  }

  /** An indexed session is found immediately; a file that was just created is not indexed yet. */
  async function pathOf(
    sessionId: string,
    { template, env }: { readonly template: AgentTemplate; readonly env: Environment },
  ): Promise<string | null> {
    const indexed = await deps.catalog.find(sessionId, template.name);
    if (indexed !== null && (await isThere(indexed))) return indexed;
    return template.findTranscript(sessionId, env);
  }

  async function fromDisk(sessionId: string): Promise<FoundSession | null> {
    for (const template of deps.templates) {
      const env = deps.environmentOf(template);
      const path = await pathOf(sessionId, { template, env });
      if (path === null || template.transcriptFormat === null) continue;
      const summary = await deps.transcripts.summary(path, template.transcriptFormat);
      if (summary?.cwd === null || summary === null) continue;
      return { record: recordOf(sessionId, template, summary), stored: false, template, env, live: null };
    }
    return null;
  }

  async function find(idOrAlias: string): Promise<FoundSession | null> {
    const live = await deps.live.findAlive(idOrAlias);
    const template = deps.templates.find(({ name }) => name === live?.record.agent);
    if (live !== null && template !== undefined) {
      return { record: live.record, stored: true, template, env: deps.environmentOf(template), live };
    }
    const record = await deps.store.find(idOrAlias);
    return record === null ? fromDisk(idOrAlias) : fromStore(record);
  }

  async function locate(idOrAlias: string, caller: Caller): Promise<LocatedSession> {
    const session = await find(idOrAlias);
    if (session === null || !(await deps.isVisibleDir(session.record.dir, { scope: "coding", caller }))) {
      throw sessionError(
        "session_not_found",
        `Session ${idOrAlias} does not exist or is not in a folder that you can access.`,
      );
    }
    return { ...session, accountId: caller.accountId };
  }

  async function withSession<T>(
    idOrAlias: string,
    caller: Caller,
    task: (session: LocatedSession) => Promise<T>,
  ): Promise<T> {
    const { sessionId } = (await locate(idOrAlias, caller)).record;
    return lock.run(sessionId, async () => {
      const session = await locate(idOrAlias, caller);
      // It adopted its agent's own id while we waited, so lock that id too.
      if (session.record.sessionId === sessionId) return task(session);
      return lock.run(session.record.sessionId, async () => task(await locate(idOrAlias, caller)));
    });
  }

  function withLive(session: LiveSession, task: () => Promise<void>): Promise<void> {
    const { sessionId } = session.record;
    return lock.run(sessionId, async () => {
      if (session.exit === null && session.record.sessionId === sessionId) await task();
    });
  }

  async function transcriptOf({ record, template, live }: LocatedSession): Promise<TranscriptSummary | null> {
    const path = live?.record.transcriptPath ?? record.transcriptPath;
    if (path === null || template.transcriptFormat === null) return null;
    return deps.transcripts.summary(path, template.transcriptFormat);
  }

  async function holderOf({ record, template, env, live }: LocatedSession): Promise<ExternalHolder | null> {
    return live === null ? template.externalHolder(record.sessionId, env) : null;
  }

  async function externalHolder(session: LocatedSession): Promise<ExternalHolder | null> {
    const holder = await holderOf(session);
    return holder !== null && deps.live.all().some(({ pid }) => pid === holder.pid) ? null : holder;
  }

  return {
    locate,
    withSession,
    withLive,
    transcriptOf,
    holderOf,
    externalHolder,
    async summaryOf(session) {
      const { record } = session.live ?? session;
      const notes = (await deps.notes.of([record], session.accountId)).get(noteKey(record));
      if (notes === undefined) throw new Error("The store returned no notes."); // it returns notes for every session
      return summarize({
        notes,
        record,
        live: session.live,
        transcript: await transcriptOf(session),
        external: await externalHolder(session),
        queuedPrompts: session.live?.outbox.waitingCount ?? (await waiting(deps.queue, record.sessionId)),
        worktree: shownWorktree(await deps.worktrees.ofSession(record.sessionId)),
      });
    },
  };
}

async function isThere(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch {
    return false; // moved, removed or not readable: searched for by name
  }
}

async function waiting(queue: PromptQueue, sessionId: string): Promise<number> {
  return (await queue.waitingIn([sessionId])).get(sessionId) ?? 0;
}

function recordOf(sessionId: string, template: AgentTemplate, summary: TranscriptSummary): SessionRecord {
  const at = (time: string | null): number => (time === null ? 0 : Date.parse(time));
  return recordOnDisk({
    sessionId,
    agent: template.name,
    dir: summary.cwd ?? "",
    transcriptPath: summary.path,
    createdAt: at(summary.createdAt),
    updatedAt: at(summary.updatedAt),
  });
}
