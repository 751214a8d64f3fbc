import type { AgentTemplate, Environment } from "../agents/index.ts";
import { hasCode } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { processRow } from "../platform/process-table.ts";
import type { TerminalExit, TerminalHostClient, TerminalInfo } from "../terminal-host/terminal-info.ts";
import { sessionError } from "./errors.ts";
import { inboxPathOf, type LaunchOrder, prepareLaunch, removeLaunchDir, sweepLaunchDirs } from "./launch.ts";
import { LiveSession } from "./live-session.ts";
import { createReconciler } from "./reconciler.ts";
import type { LiveSessionDeps } from "./session-actor.ts";
import type { SessionRecord } from "./session-store.ts";

/** The sessions whose processes live, by their terminals. */
export interface LiveSessions {
  /** By the session's id or an alias. Null once its process is gone and its record says how. */
  findAlive(idOrAlias: string): Promise<LiveSession | null>;
  all(): readonly LiveSession[];
  /**
   * Spawns an agent and follows it. The record (inserted or updated by `save` with the launch's names) stands before the
   * process does, so that a crash in between leaves nothing unknown.
   * @throws PosternError `too_many_sessions` | `session_busy` | `agent_start_failed`
   */
  launch(order: LaunchOrder, save: (names: LaunchNames) => Promise<SessionRecord>): Promise<LiveSession>;
  /** Ends a session's process group and waits until its record says so. */
  end(session: LiveSession): Promise<void>;
  /** Takes up what the terminal host and the store know, at the start and after the host was lost. */
  reconcile(): Promise<void>;
  /** Stops following; agents live on. */
  close(): Promise<void>;
}

/** The names that a record needs before its process runs. */
export interface LaunchNames {
  readonly launchId: string;
  readonly terminalId: string;
}

/** What {@link createLiveSessions} needs. */
export interface LiveSessionsDeps extends LiveSessionDeps {
  readonly home: string;
  readonly hookCommand: string;
  readonly maxSessions: number;
  /** Templates by primary name, and the environment of their processes. */
  readonly templateOf: (agent: string) => AgentTemplate | null;
  readonly environmentOf: (template: AgentTemplate) => Environment;
  /** Whether a terminal belongs to somebody else here: it is none of a session, and no stray. */
  readonly isOthers: (terminalId: string) => boolean;
}

/** An agent ran, and may have taken the prompt on its command line, but could not be followed. */
export class AgentEndedUnfollowed extends Error {}

// A store that is busy for longer holds up every other request as well.
const followPausesMs = [100, 300, 1_000, 3_000];
// No process has it: of a terminal that went with its host, only the end is left to note.
const gonePid = -1;

/** Follows every live session of this gateway. */
export function createLiveSessions(deps: LiveSessionsDeps): LiveSessions {
  const byTerminal = new Map<string, LiveSession>();
  /** Exits told by the host before their launch had a session to tell; at most one for each launch under way. */
  const earlyExits = new Map<string, TerminalExit>();
  /** Terminals whose launch is under way. */
  const launching = new Set<string>();
  /** Terminals launched since the host and the store were last asked: they may be missing in either answer. */
  let fresh = new Set<string>();
  /** How often the host was lost. */
  let losses = 0;
  let swept = false;
  let closed = false;

  const reconciler = createReconciler(deps, takeUpAll);

  const stopListening = deps.host.onExit((ended) => {
    if (closed) return;
    const handled = ended === null ? onLoss() : onExit(ended.terminalId, ended.exit);
    handled.catch((error: unknown) => deps.log.error({ error }, "cannot take note of an ended terminal"));
  });

  async function onExit(terminalId: string, exit: TerminalExit): Promise<void> {
    const session = byTerminal.get(terminalId);
    if (session !== undefined) await settle(session, exit);
    else if (launching.has(terminalId)) earlyExits.set(terminalId, exit);
  }

  /** The host is gone, with all its terminals: tries until another one answers. */
  function onLoss(): Promise<void> {
    losses += 1;
    return reconciler.runUntilDone();
  }

  /** Writes down how a session's process ended, once, however many tell. */
  async function settle(session: LiveSession, exit: TerminalExit): Promise<void> {
    const { terminalId } = session;
    if (session.exit === null) {
      await session
        .onExit(exit, await lastScreenOf(deps.host, terminalId, deps.log))
        .finally(() => byTerminal.delete(terminalId));
      await deps.host.release(terminalId);
    } else {
      await session.onExit(exit, null);
    }
  }

  async function launch(
    order: LaunchOrder,
    save: (names: LaunchNames) => Promise<SessionRecord>,
  ): Promise<LiveSession> {
    const underWay = [...launching].filter((terminalId) => !byTerminal.has(terminalId)).length;
    if (byTerminal.size + underWay >= deps.maxSessions) {
      throw sessionError(
        "too_many_sessions",
        `${deps.maxSessions} sessions are live, the most allowed. Close one, or raise maxSessions in the configuration.`,
      );
    }
    const prepared = prepareLaunch(deps, order);
    const { terminalId } = prepared;
    const lossesBefore = losses;
    launching.add(terminalId);
    fresh.add(terminalId);
    try {
      const replaced = order.kind === "resume" ? await launchIdOf(order.sessionId) : null;
      const planning = prepared.plan(); // while the store writes
      const planned = planning.catch(() => undefined); // told below
      const record = await save(prepared).catch(async (error: unknown) => {
        await planned;
        await removeLaunchDir(deps, prepared.launchId);
        throw error;
      });
      const info = await planning
        .then((plan) => prepared.run(plan))
        .catch(async (error: unknown) => {
          await deps.store.update(record.sessionId, { terminalId: null, launchId: replaced });
          await removeLaunchDir(deps, prepared.launchId);
          throw error;
        });
      const session = new LiveSession(deps, {
        record,
        template: order.template,
        terminalId,
        pid: info.pid,
        env: order.env,
        inboxPath: prepared.inboxPath,
        origin: "launched",
      });
      byTerminal.set(terminalId, session);
      const followed = await session.begin().then(
        () => session,
        (error: unknown) => followAgain(session, error),
      );
      void warnOfSandbox(followed, order);
      deps.log.info(
        { sessionId: record.sessionId, agent: order.template.name, pid: info.pid, kind: order.kind },
        "agent spawned",
      );
      if (replaced !== null) await removeReplaced(replaced);
      const exit = earlyExits.get(terminalId);
      if (exit !== undefined) await settle(followed, exit);
      return followed;
    } finally {
      launching.delete(terminalId);
      earlyExits.delete(terminalId);
      if (!reconciler.running) fresh.delete(terminalId);
      // Reconciling passed this launch over; its terminal may have gone with the host.
      if (losses !== lossesBefore) {
        onLoss().catch((error: unknown) => deps.log.error({ error }, "cannot take up what the terminal host knows"));
      }
    }
  }

  /** Beside the start, which does not wait for it. An agent that is to do everything freely runs nothing in its sandbox. */
  async function warnOfSandbox(session: LiveSession, order: LaunchOrder): Promise<void> {
    if (order.permissionMode === "all") return;
    try {
      const problem = await order.template.checkSandbox?.(order.binary, order.env);
      if (problem) session.warn(`${problem.message}${problem.fix === null ? "" : ` To fix it: ${problem.fix}`}`);
    } catch (error) {
      deps.log.warn({ error, agent: order.template.name }, "cannot check an agent's sandbox");
    }
  }

  /**
   * A process that runs is never left without a session that follows it: what failed once, as a store that was busy, is tried again, and
   * in the end the process is ended.
   */
  async function followAgain(failed: LiveSession, cause: unknown): Promise<LiveSession> {
    const { record, terminalId, pid } = failed;
    byTerminal.delete(terminalId);
    await failed.close();
    for (const pauseMs of followPausesMs) {
      deps.log.warn({ sessionId: record.sessionId, error: cause, pauseMs }, "cannot follow an agent; trying again");
      await deps.clock.sleep(pauseMs);
      // Under the name that it may have taken meanwhile.
      const known = await deps.store.find(record.sessionId).catch(() => null); // tried again with what is known
      const session = await found(known ?? record, terminalId, pid).catch(() => null); // what it failed with is told already
      if (session !== null) return session;
    }
    await endStray(terminalId);
    throw new AgentEndedUnfollowed(`Cannot follow the session ${record.sessionId}; its agent was ended.`, { cause });
  }

  async function launchIdOf(sessionId: string): Promise<string | null> {
    return (await deps.store.find(sessionId))?.launchId ?? null;
  }

  /** The launch before this one; a session that moved on in its terminal shares it with its successor. */
  async function removeReplaced(launchId: string): Promise<void> {
    try {
      if (!(await deps.store.namesLaunch(launchId))) await removeLaunchDir(deps, launchId);
    } catch (error) {
      deps.log.warn({ launchId, error }, "cannot tell whether the folder of an old launch is needed");
    }
  }

  async function takeUp(): Promise<void> {
    fresh = new Set(launching);
    const [terminals, records] = await Promise.all([deps.host.list(), deps.store.withTerminal()]);
    const known = new Map(terminals.map((terminal) => [terminal.terminalId, terminal]));
    for (const record of records) {
      const { terminalId } = record;
      if (terminalId === null || fresh.has(terminalId)) continue;
      const info = known.get(terminalId);
      known.delete(terminalId);
      await takeUpOne(record, { terminalId, info }).catch((error: unknown) =>
        deps.log.error({ sessionId: record.sessionId, error }, "cannot take up a session"),
      );
    }
    for (const stray of known.values()) {
      if (byTerminal.has(stray.terminalId) || fresh.has(stray.terminalId)) continue;
      if (deps.isOthers(stray.terminalId)) continue;
      deps.log.warn({ pid: stray.pid }, "ending a terminal that no session knows");
      await endStray(stray.terminalId).catch((error: unknown) =>
        deps.log.warn({ pid: stray.pid, error }, "cannot end a terminal that no session knows"),
      );
    }
  }

  async function takeUpOne(
    record: SessionRecord,
    { terminalId, info }: { readonly terminalId: string; readonly info: TerminalInfo | undefined },
  ): Promise<void> {
    const session = byTerminal.get(terminalId) ?? (await found(record, terminalId, info?.pid ?? gonePid));
    if (info !== undefined && info.exit === null) return;
    try {
      if (session === null) await deps.store.update(record.sessionId, { terminalId: null });
      else if (info === undefined) await session.onExit(null, null);
      else if (info.exit !== null) await settle(session, info.exit);
    } finally {
      byTerminal.delete(terminalId);
    }
  }

  async function endStray(terminalId: string): Promise<void> {
    await deps.host.end(terminalId);
    await deps.host.forget(terminalId);
  }

  async function found(record: SessionRecord, terminalId: string, pid: number): Promise<LiveSession | null> {
    const template = deps.templateOf(record.agent);
    if (template === null || record.launchId === null) return null;
    const session = new LiveSession(deps, {
      record,
      template,
      terminalId,
      pid,
      env: deps.environmentOf(template),
      inboxPath: inboxPathOf(deps.home, record.launchId),
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
    deps.log.info({ sessionId: record.sessionId, agent: record.agent, pid }, "took up a session of an earlier gateway");
    return session;
  }

  async function takeUpAll(): Promise<void> {
    await takeUp();
    if (swept) return;
    swept = true;
    await sweepLaunchDirs(deps, () => deps.store.launchIds()).catch((error: unknown) =>
      deps.log.warn({ error }, "cannot sweep the folders of old launches"),
    );
  }

  return {
    async findAlive(idOrAlias) {
      const named = ({ record }: LiveSession): boolean =>
        record.sessionId === idOrAlias || record.aliases.includes(idOrAlias);
      const session = [...byTerminal.values()].find(named) ?? null;
      if (session === null) return null;
      // A process that was just killed is known to the kernel before the host has told.
      if (session.exit !== null || isGone(session.pid)) await session.ended();
      return session.exit === null ? session : null;
    },
    all: () => [...byTerminal.values()],
    launch,
    async end(session) {
      try {
        await settle(session, await deps.host.end(session.terminalId));
      } catch (error) {
        if (!hasCode(error, "terminal_gone")) throw error;
        await session.ended(); // it went by itself, or with its host
      }
    },
    reconcile: () => reconciler.run(),
    async close() {
      closed = true;
      reconciler.stop();
      stopListening();
      await Promise.all([...byTerminal.values()].map((session) => session.close()));
    },
  };
}

function isGone(pid: number): boolean {
  const row = processRow(pid);
  return row === undefined || row.zombie;
}

async function lastScreenOf(host: TerminalHostClient, terminalId: string, log: Log): Promise<string> {
  try {
    return (await host.look(terminalId)).lines.join("\n").trim();
  } catch (error) {
    log.debug({ error }, "an ended terminal has no last screen");
    return "";
  }
}
