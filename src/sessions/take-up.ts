import type { AgentTemplate, Environment } from "../agents/index.ts";
import { oneAtATime } from "../core/coalesce.ts";
import type { TerminalInfo } from "../terminal-host/terminal-info.ts";
import { inboxPathOf, sweepLaunchDirs } from "./launch.ts";
import { LiveSession } from "./live-session.ts";
import type { LiveSessionDeps } from "./session-sensors.ts";
import type { SessionRecord } from "./session-store.ts";
export interface TakeUpDeps extends LiveSessionDeps {
  /** The state folder. */
  readonly home: string;
  /** Templates by primary name, and the environment of their processes. */
  readonly templateOf: (agent: string) => AgentTemplate | null;
  readonly environmentOf: (template: AgentTemplate) => Environment;
  /** Whether a terminal belongs to another part of the gateway, such as an agent's login. */
  readonly isOthers: (terminalId: string) => boolean;
}

/** The sessions that are followed, by terminal, and the terminals whose launch is in progress. */
export interface Followed {
  readonly byTerminal: Map<string, LiveSession>;
  readonly launching: ReadonlySet<string>;
  /** Records how a session's process ended. */
  readonly settle: (session: LiveSession, exit: NonNullable<TerminalInfo["exit"]>) => Promise<void>;
}

// The terminal host client itself gives a new host some seconds to start.
const firstPauseMs = 100;
const longestPauseMs = 5_000;
// Used for a terminal that ended with its host, of which only the end is recorded. No process has this id.
const gonePid = -1;

/** Compares the terminal host's terminals with the store, at startup and after the host was lost. */
export class TakeUp {
  /** Runs once; a call during a run makes it run once more. Rejects when the host or the store cannot be read. */
  readonly run: () => Promise<void>;
  readonly #deps: TakeUpDeps;
  readonly #followed: Followed;
  readonly #stopping = new AbortController();
  /** Terminals launched since the host and the store were last read; either may not list them yet. */
  #fresh = new Set<string>();
  #running = false;
  #wanted = false;
  #retrying: Promise<void> | null = null;
  #swept = false;

  constructor(deps: TakeUpDeps, followed: Followed) {
    this.#deps = deps;
    this.#followed = followed;
    this.run = oneAtATime(async () => {
      if (this.#stopping.signal.aborted) return;
      this.#running = true;
      await this.#all().finally(() => {
        this.#running = false;
      });
    });
  }

  /** Runs again and again until it succeeds, or is stopped. */
  runUntilDone(): Promise<void> {
    this.#wanted = true;
    this.#retrying ??= this.#retry().finally(() => {
      this.#retrying = null;
    });
    return this.#retrying;
  }

  async #retry(): Promise<void> {
    const { clock, log } = this.#deps;
    const { signal } = this.#stopping;
    for (let pauseMs = firstPauseMs; this.#wanted && !signal.aborted; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      this.#wanted = false;
      try {
        await this.run();
      } catch (error) {
        if (signal.aborted) return;
        log.warn({ error, pauseMs }, "cannot list the terminal host's terminals; trying again");
        this.#wanted = true;
        await clock.sleep(pauseMs, signal).catch(() => undefined); // it was stopped
      }
    }
  }

  stop(): void {
    this.#stopping.abort();
  }

  /** This terminal is about to be launched. */
  launches(terminalId: string): void {
    this.#fresh.add(terminalId);
  }

  /** The launch of this terminal has finished, successfully or not. */
  launched(terminalId: string): void {
    if (!this.#running) this.#fresh.delete(terminalId);
  }

  /** Follows a process that this gateway or an earlier one started. @returns null when its agent is no longer configured */
  async follow(record: SessionRecord, terminalId: string, pid: number): Promise<LiveSession | null> {
    const { home, templateOf, environmentOf, log } = this.#deps;
    const { byTerminal } = this.#followed;
    const template = templateOf(record.agent);
    if (template === null || record.launchId === null) return null;
    const session = new LiveSession(this.#deps, {
      record,
      template,
      terminalId,
      pid,
      env: environmentOf(template),
      inboxPath: inboxPathOf(home, record.launchId),
      origin: "found",
    });
    byTerminal.set(terminalId, session);
    try {
      await session.begin();
    } catch (error) {
      byTerminal.delete(terminalId);
      await session.close();
      throw error;
    }
    log.info({ sessionId: record.sessionId, agent: record.agent, pid }, "reattached to a session");
    return session;
  }

  /** Ends a terminal that no session can follow. */
  async endUnfollowed(terminalId: string): Promise<void> {
    await this.#deps.host.end(terminalId);
    await this.#deps.host.forget(terminalId);
  }

  async #all(): Promise<void> {
    const { host, store, log } = this.#deps;
    this.#fresh = new Set(this.#followed.launching);
    const [terminals, records] = await Promise.all([host.list(), store.withTerminal()]);
    const known = new Map(terminals.map((terminal) => [terminal.terminalId, terminal]));
    for (const record of records) {
      const { terminalId } = record;
      if (terminalId === null || this.#fresh.has(terminalId)) continue;
      const info = known.get(terminalId);
      known.delete(terminalId);
      await this.#one(record, { terminalId, info }).catch((error: unknown) =>
        log.error({ sessionId: record.sessionId, error }, "cannot reattach to a session"),
      );
    }
    for (const { terminalId, pid } of known.values()) {
      if (this.#followed.byTerminal.has(terminalId) || this.#fresh.has(terminalId)) continue;
      if (this.#deps.isOthers(terminalId)) continue;
      log.warn({ pid }, "ending a terminal without a session");
      await this.endUnfollowed(terminalId).catch((error: unknown) =>
        log.warn({ pid, error }, "cannot end a terminal without a session"),
      );
    }
    await this.#sweepOnce();
  }

  async #one(
    record: SessionRecord,
    { terminalId, info }: { readonly terminalId: string; readonly info: TerminalInfo | undefined },
  ): Promise<void> {
    const { byTerminal, settle } = this.#followed;
    const session = byTerminal.get(terminalId) ?? (await this.follow(record, terminalId, info?.pid ?? gonePid));
    if (info !== undefined && info.exit === null) return;
    try {
      if (session === null) await this.#deps.store.update(record.sessionId, { terminalId: null });
      else if (info === undefined) await session.onExit(null, null);
      else if (info.exit !== null) await settle(session, info.exit);
    } finally {
      byTerminal.delete(terminalId);
    }
  }

  async #sweepOnce(): Promise<void> {
    if (this.#swept) return;
    this.#swept = true;
    const { store, log } = this.#deps;
    await sweepLaunchDirs(this.#deps, () => store.launchIds()).catch((error: unknown) =>
      log.warn({ error }, "cannot remove old launch folders"),
    );
  }
}
