import type { AgentTemplate, Environment, HookClaim } from "../agents/index.ts";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import { createKeyedLock } from "../core/single-flight.ts";
import { descendantsOf } from "../platform/processes.ts";
import type { TerminalHostClient } from "../terminal-host/terminal-info.ts";
import { judgeClaim } from "./claims.ts";
import type { PromptQueue } from "./prompt-queue.ts";
import type { SessionPatch, SessionRecord, SessionStore } from "./session-store.ts";

/** The name under which the terminal host keeps a session from being run twice. */
export function leaseKeyOf(session: { readonly agent: string; readonly sessionId: string }): string {
  return `${session.agent}:${session.sessionId}`;
}

/** What an {@link Identity} needs. */
export interface IdentityDeps {
  readonly store: SessionStore;
  readonly queue: PromptQueue;
  readonly host: Pick<TerminalHostClient, "renameLease">;
  readonly clock: Clock;
  readonly log: Log;
}

/** The process whose session it is. */
export interface IdentityProcess {
  readonly template: AgentTemplate;
  readonly terminalId: string;
  readonly pid: number;
  /** Where the agent keeps its files. */
  readonly env: Environment;
}

/** Which session a live process runs: its record, under whatever id the agent gives it. */
export class Identity {
  readonly #deps: IdentityDeps;
  readonly #process: IdentityProcess;
  readonly #changed: () => void;
  /** Hook and state file may report the same id at the same time, and a patch must not go to an id that is being replaced. */
  readonly #lock = createKeyedLock();
  #record: SessionRecord;
  /** Whether the agent gave or used this id. A session that was just begun in the terminal has no transcript yet that would prove it. */
  #named = false;
  /** The agent said that its session ended while its process lives: the next session's id is its successor's. */
  #awaitsSuccessor = false;

  constructor(deps: IdentityDeps, process: IdentityProcess & { readonly record: SessionRecord }, changed: () => void) {
    this.#deps = deps;
    this.#process = process;
    this.#record = process.record;
    this.#changed = changed;
  }

  get record(): SessionRecord {
    return this.#record;
  }

  /** Whether the id is a stand-in until the agent tells its own. */
  get provisional(): boolean {
    const { transcriptPath, aliases } = this.#record;
    const isUnproven = !this.#named && transcriptPath === null && aliases.length === 0;
    return this.#process.template.idRegime === "discovered" && isUnproven;
  }

  /**
   * Whether a hook line, written `at` (null when it does not say), counts for this session; one that names a new id, and is verified,
   * moves the session there.
   */
  async accepts(claim: HookClaim, at: number | null): Promise<boolean> {
    const { template, env } = this.#process;
    const verdict = judgeClaim(claim, {
      sessionId: this.#record.sessionId,
      dir: this.#record.dir,
      transcriptRoots: template.transcriptRoots(env),
    });
    if (verdict === "refused") return false;
    const { kind } = claim.event;
    if (verdict === "own") {
      this.#named = true;
      if (kind === "session_end") this.#awaitsSuccessor = true;
      return true;
    }
    const verified = await this.#isRunBy(claim.agentSessionId);
    if (verified === false) return false;
    if (this.provisional) return this.#take(claim.agentSessionId, at);
    // An agent that goes on with another session may not say that the first one ended: then its files must say so.
    return (
      kind === "session_start" && (this.#awaitsSuccessor || verified === true) && this.#take(claim.agentSessionId, at)
    );
  }

  /** Takes the id that the agent's own files tell, while there is only a stand-in. */
  async discover(): Promise<void> {
    const { template, pid, env } = this.#process;
    const told = await template.discoverSessionId({ pid, env });
    if (told !== null) await this.#take(told, this.#deps.clock.now());
  }

  /** The agent's files tell that its process has gone over to this session. @returns whether the session goes by that id now */
  follow(agentSessionId: string): Promise<boolean> {
    return this.#take(agentSessionId, this.#deps.clock.now());
  }

  /** @param of the session that the patch is about, if it is about one only: skipped when the process has left it */
  patch(patch: SessionPatch, of?: string): Promise<void> {
    return this.#lock.run("id", async () => {
      const { sessionId, aliases } = this.#record;
      if (of !== undefined && of !== sessionId && !aliases.includes(of)) return;
      await this.#deps.store.update(sessionId, patch);
      this.#record = { ...this.#record, ...patch };
      this.#changed();
    });
  }

  /** Whether this process runs the session with that id, by the agent's own files; null when they do not tell. */
  async #isRunBy(agentSessionId: string): Promise<boolean | null> {
    const { template, pid, env } = this.#process;
    const told = await template.discoverSessionId({ pid, env });
    if (told !== null) return told === agentSessionId;
    const holder = await template.externalHolder(agentSessionId, env);
    if (holder === null) return null;
    return holder.pid === pid || descendantsOf(pid).some((child) => child.pid === holder.pid);
  }

  #take(agentSessionId: string, at: number | null): Promise<boolean> {
    return this.#lock.run("id", async () => {
      if (this.#record.sessionId === agentSessionId) return true;
      const adopted = await adoptId(this.#deps, {
        record: this.#record,
        terminalId: this.#process.terminalId,
        agentSessionId,
        how: this.provisional ? "rekey" : "follow",
        at,
      });
      if (adopted === null) return false;
      this.#record = adopted;
      this.#named = true;
      this.#awaitsSuccessor = false;
      this.#changed();
      return true;
    });
  }
}

/**
 * Gives a live terminal's session the id that its agent told: `rekey` replaces a provisional id, which stays as an alias;
 * `follow` ends the old session, continued by the new one, and terminal, lease and waiting prompts go over.
 *
 * @returns the record under the new id, or null when another session holds that id (nothing is changed then).
 */
async function adoptId(
  deps: IdentityDeps,
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
  // In a terminal, a person may go back to an older session of the same agent; one that is alive or another agent's is never taken over.
  if (holder !== null && (how === "rekey" || holder.terminalId !== null || holder.agent !== record.agent)) return null;
  if (holder !== null && (at === null || at < record.createdAt) && (await leadsTo(store, holder, record))) return null;
  const leaseKey = leaseKeyOf({ agent: record.agent, sessionId: agentSessionId });
  if (how === "rekey") {
    await host.renameLease(terminalId, leaseKey);
    await store.rekey(record.sessionId, agentSessionId);
    log.info({ sessionId: agentSessionId, agent: record.agent }, "session took its agent's own id");
    return { ...record, sessionId: agentSessionId, aliases: [...record.aliases, record.sessionId] };
  }
  const successor = successorOf(record, { agentSessionId, holder, now: clock.now() });
  await host.renameLease(terminalId, leaseKey);
  try {
    await store.succeed(record.sessionId, successor, (transaction) =>
      queue.moveAll(record.sessionId, agentSessionId, transaction),
    );
  } catch (error) {
    await host.renameLease(terminalId, leaseKeyOf(record)); // the lease says who runs, as the store does
    throw error;
  }
  log.info({ sessionId: record.sessionId, continuedBy: agentSessionId }, "session is continued by another");
  return successor;
}

/** The record under which a terminal goes on: a new one, or that of an older session of the same agent. */
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
  return { ...base, ...running, closedAt: null, exitCode: null, signal: null, lastScreen: null, continuedBy: null };
}

// A chain is as long as a person said /clear in one terminal.
const maxChain = 1_000;

/**
 * Whether `older` was continued, step by step, by `present`: a line that names it and is older than `present` is history, read again
 * after a restart. The agent may hold the older session for as long as it lives (Codex, measured), so its files do not tell.
 */
async function leadsTo(store: SessionStore, older: SessionRecord, present: SessionRecord): Promise<boolean> {
  let next = older.continuedBy;
  for (let steps = 0; next !== null && steps < maxChain; steps += 1) {
    if (next === present.sessionId) return true;
    next = (await store.find(next))?.continuedBy ?? null;
  }
  return false;
}
