import type { AgentTemplate, Environment, HookClaim } from "../agents/index.ts";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import { createKeyedLock } from "../core/single-flight.ts";
import { descendantsOf } from "../platform/processes.ts";
import type { TerminalHostClient } from "../terminal-host/terminal-info.ts";
import type { Transcripts } from "../transcripts/index.ts";
import { type IdentityMessage, type IdentityState, isProvisional, judgeClaim, mayTake } from "./identity.ts";
import { leaseKeyOf } from "./launch.ts";
import type { PromptQueue } from "./prompt-queue.ts";
import { notEnded, type SessionPatch, type SessionRecord, type SessionStore } from "./session-store.ts";
export interface RecordKeeperDeps {
  readonly store: SessionStore;
  readonly queue: PromptQueue;
  readonly host: Pick<TerminalHostClient, "renameLease">;
  readonly clock: Clock;
  readonly log: Log;
}

/** The process whose session it is. */
export interface SessionProcess {
  readonly template: AgentTemplate;
  readonly terminalId: string;
  readonly pid: number;
  /** Where the agent keeps its files. */
  readonly env: Environment;
}

/** What a {@link RecordKeeper} needs from its session. */
export interface IdentityView {
  readonly state: () => IdentityState;
  readonly post: (message: IdentityMessage) => void;
}

/** Writes the record of a live session to the store, under the id that the agent uses. */
export class RecordKeeper {
  readonly #deps: RecordKeeperDeps;
  readonly #process: SessionProcess;
  readonly #view: IdentityView;
  /** Hook and state file may report the same id at the same time, and a patch must not go to an id that is being replaced. */
  readonly #lock = createKeyedLock();

  constructor(deps: RecordKeeperDeps, process: SessionProcess, view: IdentityView) {
    this.#deps = deps;
    this.#process = process;
    this.#view = view;
  }

  get record(): SessionRecord {
    return this.#view.state().record;
  }

  /**
   * Whether a hook line, written `at` (null when the line has no time), counts for this session. A verified line with a new id moves the
   * session to that id.
   */
  async accepts(claim: HookClaim, at: number | null): Promise<boolean> {
    const { template, env } = this.#process;
    const verdict = judgeClaim(claim, { ...this.record, transcriptRoots: template.transcriptRoots(env) });
    if (verdict === "refused") return false;
    if (verdict === "own") {
      this.#view.post({ kind: "named", ended: claim.event.kind === "session_end" });
      return true;
    }
    const runsIt = await this.#runs(claim.agentSessionId);
    return mayTake(this.#view.state(), claim, { runsIt, template }) && this.#take(claim.agentSessionId, at);
  }

  /** Adopts the id from the agent's own files, while there is only a placeholder. */
  async discover(): Promise<void> {
    const { template, pid, env } = this.#process;
    if (!isProvisional(this.#view.state(), template)) return;
    const found = await template.discoverSessionId({ pid, env });
    if (found !== null) await this.#take(found, this.#deps.clock.now());
  }

  /** The agent's files say that its process has moved to this session. @returns whether the session has that id now */
  follow(agentSessionId: string): Promise<boolean> {
    return this.#take(agentSessionId, this.#deps.clock.now());
  }

  /** @param of the id of the only session that the patch applies to, if set: the patch is skipped if the process has left that session */
  patch(patch: SessionPatch, of?: string): Promise<void> {
    return this.#lock.run("id", async () => {
      const { sessionId, aliases } = this.record;
      if (of !== undefined && of !== sessionId && !aliases.includes(of)) return;
      await this.#deps.store.update(sessionId, patch);
      this.#view.post({ kind: "patched", patch });
    });
  }

  /** Whether this process runs the session with that id, according to the agent's own files; null if they do not show it. */
  async #runs(agentSessionId: string): Promise<boolean | null> {
    const { template, pid, env } = this.#process;
    const found = await template.discoverSessionId({ pid, env });
    if (found !== null) return found === agentSessionId;
    const holder = await template.externalHolder(agentSessionId, env);
    if (holder === null) return null;
    return holder.pid === pid || descendantsOf(pid).some((child) => child.pid === holder.pid);
  }

  #take(agentSessionId: string, at: number | null): Promise<boolean> {
    return this.#lock.run("id", async () => {
      const state = this.#view.state();
      if (state.record.sessionId === agentSessionId) return true;
      const { template, terminalId } = this.#process;
      const how = isProvisional(state, template) ? "rekey" : "follow";
      const record = await adoptId(this.#deps, { record: state.record, terminalId, agentSessionId, how, at });
      if (record === null) return false;
      this.#view.post({ kind: "taken", record });
      return true;
    });
  }
}

/**
 * Gives a live terminal's session the id that its agent reported: `rekey` replaces a placeholder id, which stays as an alias; `follow`
 * ends the old session, and the new one takes over its terminal, lease and waiting prompts.
 *
 * @returns the record under the new id, or null when another session holds that id (nothing is changed then).
 */
async function adoptId(
  deps: RecordKeeperDeps,
  change: {
    readonly record: SessionRecord;
    readonly terminalId: string;
    readonly agentSessionId: string;
    readonly how: "rekey" | "follow";
    readonly at: number | null;
  },
): Promise<SessionRecord | null> {
  const { store, queue, host, clock, log } = deps;
  const { record, terminalId, agentSessionId, how, at } = change;
  const holder = await store.find(agentSessionId);
  // In a terminal, a person can resume an older session of the same agent; a running session, or another agent's, is never taken over.
  if (holder !== null && (how === "rekey" || holder.terminalId !== null || holder.agent !== record.agent)) return null;
  if (holder !== null && (at === null || at < record.createdAt) && (await leadsTo(store, holder, record))) return null;
  const leaseKey = leaseKeyOf({ agent: record.agent, sessionId: agentSessionId });
  if (how === "rekey") {
    await host.renameLease(terminalId, leaseKey);
    await store.rekey(record.sessionId, agentSessionId);
    log.info({ sessionId: agentSessionId, agent: record.agent }, "session adopted its agent's own id");
    return { ...record, sessionId: agentSessionId, aliases: [...record.aliases, record.sessionId] };
  }
  const successor = successorOf(record, { agentSessionId, holder, now: clock.now() });
  await host.renameLease(terminalId, leaseKey);
  try {
    await store.succeed(record.sessionId, successor, (transaction) =>
      queue.moveAll(record.sessionId, agentSessionId, transaction),
    );
  } catch (error) {
    await host.renameLease(terminalId, leaseKeyOf(record)); // the lease must match the store
    throw error;
  }
  log.info({ sessionId: record.sessionId, continuedBy: agentSessionId }, "session is continued by another");
  return successor;
}

/** The record of the session that a terminal runs now: a new record, or the record of an older session of the same agent. */
function successorOf(
  record: SessionRecord,
  to: { readonly agentSessionId: string; readonly holder: SessionRecord | null; readonly now: number },
): SessionRecord {
  const { agentSessionId, holder, now } = to;
  const { launchId, terminalId, permissionMode } = record;
  const base = holder ?? {
    ...record,
    sessionId: agentSessionId,
    aliases: [],
    title: null,
    transcriptPath: null,
    createdAt: now,
  };
  const running = { launchId, terminalId, permissionMode, updatedAt: now };
  return { ...base, ...running, ...notEnded, continuedBy: null };
}

// A chain gets longer with each /clear command in one terminal.
const maxChain = 1_000;

/**
 * Whether `older` was continued, step by step, by `present`: a line with the id of `older` from before `present` began is history, read again after a
 * restart. The agent may hold the older session for as long as it lives (Codex, measured), so its files cannot prove it.
 */
async function leadsTo(store: SessionStore, older: SessionRecord, present: SessionRecord): Promise<boolean> {
  let next = older.continuedBy;
  for (let steps = 0; next !== null && steps < maxChain; steps += 1) {
    if (next === present.sessionId) return true;
    next = (await store.find(next))?.continuedBy ?? null;
  }
  return false;
}
export interface SessionSwitchDetectorDeps {
  readonly template: Pick<AgentTemplate, "moves" | "findTranscript">;
  readonly pid: number;
  readonly env: Environment;
  readonly keeper: Pick<RecordKeeper, "record" | "follow">;
  readonly transcripts: Pick<Transcripts, "watch">;
  /** Called when a switch may have happened. */
  readonly onDue: () => void;
}

/** Detects that a process has switched to another session, if the agent has no hooks that report a switch. */
export class SessionSwitchDetector {
  readonly #deps: SessionSwitchDetectorDeps;
  #unwatch: (() => void) | null = null;
  /** Whether something was typed, or typed text has not appeared in the agent's files yet. */
  #isDue = true;

  constructor(deps: SessionSwitchDetectorDeps) {
    this.#deps = deps;
  }

  get isDue(): boolean {
    return this.#unwatch !== null && this.#isDue;
  }

  /**
   * Moves the session's record with its process.
   * @param transcriptPath of the session that the process was in
   * @returns the transcript of the session that it is in now; null when it did not switch, or when there is none yet
   */
  async follow(transcriptPath: string | null): Promise<string | null> {
    const { template, pid, env, keeper } = this.#deps;
    if (template.moves === undefined || transcriptPath === null) return null;
    this.#unwatch ??= this.#watch(template.moves.watched(transcriptPath));
    if (!this.#isDue) return null;
    this.#isDue = false; // input during this look causes another look
    const moved = await template.moves.movedTo({ pid, transcriptPath }).catch((error: unknown) => {
      this.#isDue = true;
      throw error;
    });
    this.#isDue ||= moved === "soon";
    if (moved === null || moved === "soon" || moved.sessionId === keeper.record.sessionId) return null;
    return (await keeper.follow(moved.sessionId)) ? template.findTranscript(moved.sessionId, env) : null;
  }

  /** Done once: a process stays in its project. */
  #watch(path: string): () => void {
    return this.#deps.transcripts.watch(path, () => {
      this.#isDue = true;
      this.#deps.onDue();
    });
  }

  close(): void {
    this.#unwatch?.();
  }
}
