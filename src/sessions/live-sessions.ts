import { hasCode } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { processRow } from "../platform/process-table.ts";
import type { TerminalExit, TerminalHostClient } from "../terminal-host/terminal-info.ts";
import { sessionError } from "./errors.ts";
import {
  inboxPathOf,
  type LaunchDeps,
  type LaunchNames,
  type LaunchOrder,
  newLaunchNames,
  planLaunch,
  removeLaunchDir,
  runLaunch,
} from "./launch.ts";
import { LiveSession } from "./live-session.ts";
import type { SessionRecord } from "./session-store.ts";
import { TakeUp, type TakeUpDeps } from "./take-up.ts";

/** The registry of sessions with a live process. Only it starts, finds and ends them. */
export interface LiveSessions {
  /** By the session's id or an alias. Null once its process is gone and its end is recorded. */
  findAlive(idOrAlias: string): Promise<LiveSession | null>;
  all(): readonly LiveSession[];
  /**
   * Spawns an agent and follows it. `save` stores the record with the launch's names before the process runs, so that a crash in
   * between leaves no unknown process.
   * @throws PosternError `too_many_sessions` | `session_busy` | `agent_start_failed`
   */
  launch(order: LaunchOrder, save: (names: LaunchNames) => Promise<SessionRecord>): Promise<LiveSession>;
  /** Ends a session's process group and waits until the end is recorded. */
  end(session: LiveSession): Promise<void>;
  /** Reattaches to the terminal host's terminals, at startup and after the host was lost. */
  reconcile(): Promise<void>;
  /** Stops following; agents keep running. */
  close(): Promise<void>;
}
export interface LiveSessionsDeps extends TakeUpDeps, Omit<LaunchDeps, "hooks"> {
  readonly maxSessions: number;
}

/** An agent ran, and may have received the prompt on its command line, but could not be followed. */
export class AgentEndedUnfollowed extends Error {}

// If the store is busy for longer, every other request is delayed as well.
const followPausesMs = [100, 300, 1_000, 3_000];

/** Follows every live session of this gateway. */
export function createLiveSessions(deps: LiveSessionsDeps): LiveSessions {
  const { host, store, log } = deps;
  const byTerminal = new Map<string, LiveSession>();
  /** Exits that the host reported before their launch had a session; at most one for each launch in progress. */
  const earlyExits = new Map<string, TerminalExit>();
  const launching = new Set<string>();
  /** How often the host was lost. */
  let losses = 0;
  let closed = false;

  const takeUp = new TakeUp(deps, { byTerminal, launching, settle });

  const stopListening = host.onExit((ended) => {
    if (closed) return;
    const handled = ended === null ? onLoss() : onExit(ended.terminalId, ended.exit);
    handled.catch((error: unknown) => log.error({ error }, "cannot record the end of a terminal"));
  });

  async function onExit(terminalId: string, exit: TerminalExit): Promise<void> {
    const session = byTerminal.get(terminalId);
    if (session !== undefined) await settle(session, exit);
    else if (launching.has(terminalId)) earlyExits.set(terminalId, exit);
  }

  /** The host is gone, with all its terminals: retries until a new host responds. */
  function onLoss(): Promise<void> {
    losses += 1;
    return takeUp.runUntilDone();
  }

  /** Records how a session's process ended, only once even if several reports come. */
  async function settle(session: LiveSession, exit: TerminalExit): Promise<void> {
    const { terminalId } = session;
    if (session.exit === null) {
      await session
        .onExit(exit, await lastScreenOf(host, terminalId, log))
        .finally(() => byTerminal.delete(terminalId));
      await host.release(terminalId);
    } else {
      await session.onExit(exit, null);
    }
  }

  function requireRoom(): void {
    const inProgress = [...launching].filter((terminalId) => !byTerminal.has(terminalId)).length;
    if (byTerminal.size + inProgress < deps.maxSessions) return;
    throw sessionError(
      "too_many_sessions",
      `${deps.maxSessions} sessions are running, the maximum. Close one, or raise maxSessions in the configuration.`,
    );
  }

  async function launch(
    order: LaunchOrder,
    save: (names: LaunchNames) => Promise<SessionRecord>,
  ): Promise<LiveSession> {
    requireRoom();
    const names = newLaunchNames();
    const { terminalId } = names;
    const lossesBefore = losses;
    launching.add(terminalId);
    takeUp.launches(terminalId);
    try {
      const session = await spawn(order, names, save);
      const exit = earlyExits.get(terminalId);
      if (exit !== undefined) await settle(session, exit);
      return session;
    } finally {
      launching.delete(terminalId);
      earlyExits.delete(terminalId);
      takeUp.launched(terminalId);
      // The take-up skipped this launch, whose terminal may have ended with the host.
      if (losses !== lossesBefore) {
        onLoss().catch((error: unknown) => log.error({ error }, "cannot list the terminal host's terminals"));
      }
    }
  }

  async function spawn(
    order: LaunchOrder,
    names: LaunchNames,
    save: (names: LaunchNames) => Promise<SessionRecord>,
  ): Promise<LiveSession> {
    const { launchId, terminalId } = names;
    const replaced = order.kind === "resume" ? ((await store.find(order.sessionId))?.launchId ?? null) : null;
    const planning = planLaunch(deps, order, names); // while the store writes
    const planned = planning.catch(() => undefined); // reported below
    const record = await save(names).catch(async (error: unknown) => {
      await planned;
      await removeLaunchDir(deps, launchId);
      throw error;
    });
    const info = await planning
      .then((plan) => runLaunch(deps, order, { ...names, plan }))
      .catch(async (error: unknown) => {
        await store.update(record.sessionId, { terminalId: null, launchId: replaced });
        await removeLaunchDir(deps, launchId);
        throw error;
      });
    const { pid } = info;
    const { template, env } = order;
    const inboxPath = inboxPathOf(deps.home, launchId);
    const session = new LiveSession(deps, { record, template, terminalId, pid, env, inboxPath, origin: "launched" });
    byTerminal.set(terminalId, session);
    const followed = await session.begin().then(
      () => session,
      (error: unknown) => followAgain(session, error),
    );
    void warnOfSandbox(followed, order);
    log.info({ sessionId: record.sessionId, agent: template.name, pid, kind: order.kind }, "agent spawned");
    if (replaced !== null) await removeReplaced(replaced);
    return followed;
  }

  /** Runs alongside the start, which does not wait for it. With mode "all" the agent uses no sandbox. */
  async function warnOfSandbox(session: LiveSession, order: LaunchOrder): Promise<void> {
    if (order.permissionMode === "all") return;
    try {
      const problem = await order.template.checkSandbox?.(order.binary, order.env);
      if (problem) session.warn(`${problem.message}${problem.fix === null ? "" : ` To fix it: ${problem.fix}`}`);
    } catch (error) {
      log.warn({ error, agent: order.template.name }, "cannot check an agent's sandbox");
    }
  }

  /** A running process is always followed by a session. A failure, such as a busy store, is retried, and if it persists the process is ended. */
  async function followAgain(failed: LiveSession, cause: unknown): Promise<LiveSession> {
    const { record, terminalId, pid } = failed;
    byTerminal.delete(terminalId);
    await failed.close();
    for (const pauseMs of followPausesMs) {
      log.warn({ sessionId: record.sessionId, error: cause, pauseMs }, "cannot follow an agent; trying again");
      await deps.clock.sleep(pauseMs);
      // The session may have another id by now.
      const known = await store.find(record.sessionId).catch(() => null); // if this fails, the record from before is used
      const session = await takeUp.follow(known ?? record, terminalId, pid).catch(() => null); // the first failure is logged
      if (session !== null) return session;
    }
    await takeUp.endUnfollowed(terminalId);
    throw new AgentEndedUnfollowed(`Cannot follow the session ${record.sessionId}; its agent was ended.`, { cause });
  }

  /** Removes the folder of the previous launch, unless a session still needs it: a replaced session shares its launch with its successor. */
  async function removeReplaced(launchId: string): Promise<void> {
    try {
      if (!(await store.namesLaunch(launchId))) await removeLaunchDir(deps, launchId);
    } catch (error) {
      log.warn({ launchId, error }, "cannot determine whether an old launch folder is still needed");
    }
  }

  return {
    async findAlive(idOrAlias) {
      const named = ({ record }: LiveSession): boolean =>
        record.sessionId === idOrAlias || record.aliases.includes(idOrAlias);
      const session = [...byTerminal.values()].find(named) ?? null;
      if (session === null) return null;
      // When a process is killed, the kernel knows it before the host reports it.
      if (session.exit !== null || isGone(session.pid)) await session.ended();
      return session.exit === null ? session : null;
    },
    all: () => [...byTerminal.values()],
    launch,
    async end(session) {
      try {
        await settle(session, await host.end(session.terminalId));
      } catch (error) {
        if (!hasCode(error, "terminal_gone")) throw error;
        await session.ended(); // the process had already ended, or ended with its host
      }
    },
    reconcile: takeUp.run,
    async close() {
      closed = true;
      takeUp.stop();
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
    log.debug({ error }, "a terminal that ended has no last screen");
    return "";
  }
}
