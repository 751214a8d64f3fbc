import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, isoTime } from "../core/clock.ts";
import { hasCode, messageOf } from "../core/errors.ts";
import { newUuid } from "../core/ids.ts";
import type { Log } from "../core/log.ts";
import type { TerminalHostClient } from "../terminal-host/terminal-info.ts";
import type { Caller } from "../wire/caller.ts";
import type { ScriptRun } from "../wire/folder-scripts.ts";
import type { FolderRule } from "../worktrees/index.ts";
import { sessionError } from "./errors.ts";
import type { FolderScript } from "./ports.ts";

/** The script to run, and its session. */
export interface ScriptRequest {
  readonly kind: ScriptRun["kind"];
  readonly sessionId: string;
  /** The worktree. */
  readonly dir: string;
  readonly script: FolderScript;
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
}

/** A finished run, with its last screen. */
export interface EndedScript {
  readonly run: ScriptRun;
  readonly lastScreen: string;
}

/**
 * Setup and teardown scripts, each in a terminal that clients attach to. Runs are kept in memory only. When the gateway starts again, it ends
 * the terminals of scripts that are still running.
 */
export interface FolderScripts {
  /** @throws PosternError `terminal_host_unavailable` | `session_busy` (one runs for this session) */
  begin(request: ScriptRequest): Promise<{ readonly run: ScriptRun; readonly ended: Promise<EndedScript> }>;
  /** The latest run of this kind; null for none. */
  latest(sessionId: string, kind: ScriptRun["kind"]): ScriptRun | null;
  /** Runs that the caller may see, latest first. */
  list(caller: Caller, sessionId?: string): Promise<readonly ScriptRun[]>;
  /** Ends a run and everything that it started. @throws PosternError `script_not_found` */
  stop(scriptId: string, caller: Caller): Promise<ScriptRun>;
  /** The terminal of a run; null for an unknown id, or without access to its directory. */
  find(scriptId: string, caller: Caller): Promise<{ readonly terminalId: string; watch(): () => void } | null>;
  /** Whether the terminal belongs to a script. */
  owns(terminalId: string): boolean;
  /** Ends all. */
  close(): Promise<void>;
}

interface Run {
  now: ScriptRun;
  readonly terminalId: string;
  readonly script: FolderScript;
  readonly ended: PromiseWithResolvers<EndedScript>;
  /** Why it is being ended. */
  ending: "timed_out" | "failed" | null;
  cancelLimit: () => void;
}

/** Enough to see what happened. The oldest finished runs are dropped. */
const maxKept = 50;
/** Far more than the number of sessions that start at the same time. */
const maxRunning = 20;
/** Time for a script to clean up before it is killed. */
const graceMs = 2_000;
const size = { cols: 120, rows: 40 };

export function createFolderScripts(deps: {
  readonly host: TerminalHostClient;
  /** The state folder. */
  readonly home: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly isVisibleDir: FolderRule["isVisibleDir"];
}): FolderScripts {
  const { host, clock, log } = deps;
  const folder = join(deps.home, "scripts");
  /** In the order of their start. */
  const runs = new Map<string, Run>();
  let prepared: Promise<void> | null = null;

  const stopListening = host.onExit((ended) => {
    for (const run of runs.values()) {
      if (ended === null) void settle(run, null);
      else if (run.terminalId === ended.terminalId)
        void settle(run, ended.exit.signal === null ? ended.exit.exitCode : null);
    }
  });

  const isRunning = ({ now }: Run): boolean => now.state === "running";

  async function settle(run: Run, exitCode: number | null): Promise<void> {
    if (!isRunning(run)) return;
    run.cancelLimit();
    const { scriptId, kind, sessionId } = run.now;
    const state = run.ending ?? (exitCode === 0 ? "succeeded" : "failed");
    run.now = { ...run.now, state, exitCode: run.ending === null ? exitCode : null, endedAt: isoTime(clock.now()) };
    log.info({ sessionId, scriptId, state, exitCode }, `${kind} script ended`);
    const lastScreen = await screenOf(run);
    // A server that a setup script started keeps running; after a teardown nothing may use the worktree.
    if (kind === "teardown" || state !== "succeeded") await end(run);
    await rm(pathOf(scriptId), { force: true }).catch((error: unknown) =>
      log.warn({ scriptId, error: messageOf(error) }, "cannot remove a script's file"),
    );
    run.ended.resolve({ run: run.now, lastScreen });
  }

  async function screenOf({ terminalId }: Run): Promise<string> {
    try {
      return (await host.look(terminalId)).lines.join("\n").trim();
    } catch (error) {
      log.debug({ error: messageOf(error) }, "an ended script has no last screen");
      return "";
    }
  }

  /** For a finished script, ends the processes that it left running. */
  async function end({ terminalId, now }: Run): Promise<void> {
    try {
      await host.end(terminalId, { graceMs });
    } catch (error) {
      if (hasCode(error, "terminal_gone")) return;
      log.warn({ scriptId: now.scriptId, error: messageOf(error) }, "cannot end a script");
    }
  }

  const pathOf = (scriptId: string): string => join(folder, scriptId);

  async function dropOldest(): Promise<void> {
    const ended = [...runs.values()].filter((run) => !isRunning(run));
    for (const { now, terminalId } of ended.slice(0, Math.max(0, ended.length - maxKept))) {
      runs.delete(now.scriptId);
      await host
        .forget(terminalId)
        .catch((error: unknown) => log.debug({ error: messageOf(error) }, "cannot drop the terminal of an old script"));
    }
  }

  /** Removes files of an earlier gateway. */
  async function emptyFolder(): Promise<void> {
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true, mode: 0o700 });
  }

  /** The script is stored in a file, because every user of the machine can read command lines. */
  async function spawn({ now, terminalId, script }: Run, env: ScriptRequest["env"]): Promise<void> {
    prepared ??= emptyFolder().catch((error: unknown) => {
      prepared = null;
      throw error;
    });
    await prepared;
    const path = pathOf(now.scriptId);
    await writeFile(path, script.text, { mode: 0o600, flag: "wx" });
    const place = { cwd: now.dir, env, ...size };
    await host.spawn({ terminalId, leaseKey: now.scriptId, argv: ["/bin/sh", path], ...place, keepRecording: false });
  }

  function requireRoom(sessionId: string, kind: ScriptRun["kind"]): void {
    const running = [...runs.values()].filter(isRunning);
    if (running.some(({ now }) => now.sessionId === sessionId)) {
      throw sessionError("session_busy", `A script already runs for session ${sessionId}. Wait until it has ended.`);
    }
    // The limit is not for teardowns: one beyond it would be skipped, and there are never more of them than sessions.
    if (kind === "setup" && running.length >= maxRunning) {
      throw sessionError("too_many_sessions", `${maxRunning} setup or teardown scripts are running. Try again later.`);
    }
  }

  async function visible(run: Run, caller: Caller): Promise<boolean> {
    return deps.isVisibleDir(run.now.dir, { scope: "coding", caller });
  }

  return {
    async begin({ kind, sessionId, dir, script, env }) {
      requireRoom(sessionId, kind);
      const scriptId = `${kind}-${newUuid()}`;
      const startedAt = isoTime(clock.now());
      const now: ScriptRun = {
        scriptId,
        kind,
        sessionId,
        dir,
        state: "running",
        exitCode: null,
        startedAt,
        endedAt: null,
      };
      const run: Run = {
        ...{ now, terminalId: newUuid(), script, ended: Promise.withResolvers(), ending: null },
        cancelLimit: () => undefined,
      };
      runs.set(scriptId, run); // before the host lists its terminal
      run.cancelLimit = clock.after(script.timeoutMs, () => {
        run.ending ??= "timed_out";
        void end(run);
      });
      try {
        await spawn(run, env);
        // The run was stopped before the host knew its terminal.
        if (run.ending !== null) void end(run);
      } catch (error) {
        if (!hasCode(error, "spawn_failed")) {
          await settle(run, null);
          throw error;
        }
        log.warn({ sessionId, error: messageOf(error) }, `cannot start a ${kind} script`);
        await settle(run, null);
      }
      await dropOldest();
      return { run: run.now, ended: run.ended.promise };
    },

    latest: (sessionId, kind) =>
      [...runs.values()].findLast(({ now }) => now.sessionId === sessionId && now.kind === kind)?.now ?? null,

    async list(caller, sessionId) {
      const found: ScriptRun[] = [];
      for (const run of [...runs.values()].toReversed()) {
        if (sessionId !== undefined && run.now.sessionId !== sessionId) continue;
        if (await visible(run, caller)) found.push(run.now);
      }
      return found;
    },

    async stop(scriptId, caller) {
      const run = runs.get(scriptId);
      if (run === undefined || !(await visible(run, caller))) {
        throw sessionError(
          "script_not_found",
          `The script run ${scriptId} does not exist or you don't have access to it.`,
        );
      }
      if (!isRunning(run)) return run.now;
      run.ending ??= "failed";
      await end(run);
      return (await run.ended.promise).run;
    },

    async find(scriptId, caller) {
      const run = runs.get(scriptId);
      if (run === undefined || !(await visible(run, caller))) return null;
      return { terminalId: run.terminalId, watch: () => () => undefined };
    },

    owns: (terminalId) => [...runs.values()].some((run) => run.terminalId === terminalId),

    async close() {
      const running = [...runs.values()].filter(isRunning);
      for (const run of running) run.ending ??= "failed";
      await Promise.all(running.map(end));
      stopListening();
      for (const run of running) await settle(run, null);
    },
  };
}
