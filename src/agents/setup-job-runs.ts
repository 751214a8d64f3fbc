import { realpath } from "node:fs/promises";
import type { Clock } from "../core/clock.ts";
import { hasCode, isErrno, messageOf } from "../core/errors.ts";
import { newUuid } from "../core/ids.ts";
import type { Log } from "../core/log.ts";
import type { TerminalHostClient } from "../terminal-host/terminal-info.ts";
import type { AgentSetupJobKind } from "../wire/agent-setup.ts";
import { agentError } from "./errors.ts";
import type { Argv } from "./known-agents.ts";
import type { RecordSetupJob, SetupJobOrigin, SetupJobRecord } from "./ports.ts";
import type { Environment } from "./template.ts";

export interface SetupJobProgram {
  readonly argv: Argv;
  readonly env: Environment;
}

export interface SetupJobRequest {
  readonly agent: string;
  readonly kind: AgentSetupJobKind;
  readonly program: SetupJobProgram;
  readonly by: SetupJobOrigin;
  /** For the audit entry of the job's start. */
  readonly details: SetupJobRecord["details"];
}

/** A job that waits, runs or just ended. */
export interface SetupJob extends SetupJobRequest {
  readonly setupJobId: string;
  readonly terminalId: string;
  state: "waiting" | "running" | "ended";
  exitCode: number | null;
  watchers: number;
  /** Since when the job has no viewer; epoch milliseconds. */
  unwatchedAt: number;
  /** Set while it is being removed. */
  removal: Promise<void> | null;
  /** Audit entries from before the start was recorded; null afterwards. */
  early: SetupJobRecord[] | null;
  cancelUnwatched: () => void;
  cancelLeft: () => void;
  cancelLimit: () => void;
}

/** A login with a second factor takes a few minutes, and so does a 100 MB download on a slow line. */
const limitMs = 10 * 60_000;
/** A page that reloads, or a phone that wakes up, is connected again within this time. Installations need no viewer. */
const unwatchedMs = 2 * 60_000;
/** Another tab that is just reloading is connected again within this time. */
const leftMs = 3_000;
/** An ended job is kept this long, because its last screen shows the result. */
const keptMs = 60_000;
/** Time to exit before a job is killed: npm first undoes an unfinished installation. */
const graceMs = { login: 1_000, install: 5_000 } satisfies Record<AgentSetupJobKind, number>;
const names = { login: "login", install: "installation" } satisfies Record<AgentSetupJobKind, string>;
const size = { cols: 100, rows: 30 };

/** Jobs that wait, run or just ended, each in its own terminal. */
export function createSetupJobRuns({
  host,
  changed,
  note,
  clock,
  log,
}: {
  readonly host: TerminalHostClient;
  /** A job of this agent ended or was removed. */
  readonly changed: (agent: string) => void;
  readonly note: RecordSetupJob;
  readonly clock: Clock;
  readonly log: Log;
}) {
  /** In the order of the requests. */
  const jobs = new Map<string, SetupJob>();
  let closed = false;

  const stopListening = host.onExit((ended) => {
    if (ended === null) {
      // Jobs that were running ended with the host. Waiting jobs did not: the first end starts the next waiting job.
      for (const job of [...jobs.values()].filter(({ state }) => state !== "waiting")) {
        settle(job, null);
        drop(job);
      }
      return;
    }
    const job = [...jobs.values()].find(({ terminalId }) => terminalId === ended.terminalId);
    if (job !== undefined) settle(job, ended.exit.signal === null ? ended.exit.exitCode : null);
  });

  const hasEnded = ({ state }: SetupJob): boolean => state === "ended";

  function record(job: SetupJob, what: "started" | "cancelled" | "ended", by = job.by): void {
    const details = what === "started" ? job.details : what === "ended" ? { exitCode: job.exitCode } : {};
    const entry: SetupJobRecord = { ...by, action: `agent_${job.kind}_${what}`, subject: job.agent, details };
    if (what !== "started" && job.early !== null) {
      job.early.push(entry);
      return;
    }
    for (const one of [entry, ...(job.early ?? [])]) void note(one);
    job.early = null;
  }

  function settle(job: SetupJob, exitCode: number | null): void {
    if (hasEnded(job)) return;
    job.state = "ended";
    job.exitCode = exitCode;
    job.cancelUnwatched();
    job.cancelLimit();
    changed(job.agent);
    log.info({ agent: job.agent, exitCode }, `${names[job.kind]} of an agent ended`);
    if (job.removal === null) record(job, "ended");
    job.cancelLimit = clock.after(keptMs, () => {
      drop(job);
      void forget(job);
    });
    beginNext();
  }

  function drop(job: SetupJob): void {
    job.cancelUnwatched();
    job.cancelLeft();
    job.cancelLimit();
    jobs.delete(job.setupJobId);
    changed(job.agent);
  }

  function logFailure({ agent, kind }: SetupJob, error: unknown): void {
    if (hasCode(error, "terminal_gone")) return;
    log.warn({ agent, error: messageOf(error) }, `cannot end the ${names[kind]} of an agent`);
  }

  async function end(job: SetupJob): Promise<void> {
    const options = { graceMs: graceMs[job.kind] };
    await host.end(job.terminalId, options).catch((error: unknown) => logFailure(job, error));
  }

  /** Removes the job's terminal, because its screen showed codes, addresses and tokens. */
  async function forget(job: SetupJob): Promise<void> {
    await host.forget(job.terminalId).catch((error: unknown) => logFailure(job, error));
  }

  /** Ends and removes the job. @param by who cancelled it, or null */
  function remove(job: SetupJob, by: SetupJobOrigin | null): Promise<void> {
    job.removal ??= (async () => {
      if (by !== null && !hasEnded(job)) record(job, "cancelled", by);
      if (job.state === "waiting") return drop(job);
      if (!hasEnded(job)) await end(job);
      drop(job);
      await forget(job);
      beginNext();
    })();
    return job.removal;
  }

  function endUnwatched(job: SetupJob): void {
    job.cancelUnwatched();
    if (job.state !== "running" || job.kind === "install") return;
    job.cancelUnwatched = clock.after(unwatchedMs, () => void end(job));
  }

  const installing = (): readonly SetupJob[] =>
    [...jobs.values()].filter((job) => job.kind === "install" && !hasEnded(job));

  function beginNext(): void {
    const [next] = installing();
    if (closed || next === undefined || next.state !== "waiting") return;
    run(next).catch((error: unknown) => {
      log.warn({ agent: next.agent, error: messageOf(error) }, "cannot start a queued installation");
      settle(next, null);
    });
  }

  async function run(job: SetupJob): Promise<void> {
    const { agent, kind, program, terminalId } = job;
    job.state = "running"; // before the host lists it
    try {
      const cwd = await realpath(program.env["HOME"] ?? "/");
      const place = { cwd, ...program, ...size };
      await host.spawn({ terminalId, leaseKey: job.setupJobId, ...place, keepRecording: false });
    } catch (error) {
      if (!hasCode(error, "spawn_failed") && !isErrno(error, "ENOENT", "ENOTDIR", "EACCES")) throw error;
      const message = `Cannot start the ${names[kind]} of ${agent}: ${messageOf(error)}`;
      throw agentError("agent_start_failed", message, { cause: error });
    }
    log.info({ agent }, `${names[kind]} of an agent started`);
    if (!jobs.has(job.setupJobId)) {
      // The job was cancelled before the host answered, and its program may have started after that.
      await end(job);
      await forget(job);
    }
    if (hasEnded(job) || !jobs.has(job.setupJobId)) return; // the host had not answered yet
    job.cancelLimit = clock.after(limitMs, () => void end(job));
    endUnwatched(job);
  }

  /** Removes the job a few seconds later, unless someone is watching. */
  function leave(job: SetupJob, by: SetupJobOrigin): void {
    job.cancelLeft();
    const unlessWatched = (): void => {
      if (job.watchers > 0 || hasEnded(job)) return;
      const pauseMs = job.unwatchedAt + leftMs - clock.now();
      if (pauseMs <= 0) void remove(job, by);
      else job.cancelLeft = clock.after(pauseMs, unlessWatched);
    };
    job.cancelLeft = clock.after(leftMs, unlessWatched);
  }

  return {
    all: () => [...jobs.values()],
    find: (setupJobId: string) => jobs.get(setupJobId),
    leave,
    remove,

    /** Starts a job, or queues it: npm's global folder allows one installation at a time. @throws PosternError `agent_start_failed` */
    async begin(request: SetupJobRequest): Promise<SetupJob> {
      const waits = request.kind === "install" && installing().length > 0;
      const job: SetupJob = {
        ...request,
        setupJobId: `${request.kind}-${newUuid()}`,
        terminalId: newUuid(),
        state: "waiting",
        exitCode: null,
        watchers: 0,
        unwatchedAt: clock.now(),
        removal: null,
        early: [],
        cancelUnwatched: () => undefined,
        cancelLeft: () => undefined,
        cancelLimit: () => undefined,
      };
      jobs.set(job.setupJobId, job);
      try {
        if (!waits) await run(job);
      } catch (error) {
        jobs.delete(job.setupJobId);
        beginNext();
        throw error;
      }
      record(job, "started");
      return job;
    },

    /** The number of installations before this one. */
    ahead: (job: SetupJob) => (job.state === "waiting" ? installing().indexOf(job) : 0),

    /** Restarts the job's time limit without viewers, just before a viewer attaches. */
    touch(job: SetupJob): void {
      if (job.watchers > 0) return;
      job.unwatchedAt = clock.now();
      endUnwatched(job);
    },

    watch(job: SetupJob): () => void {
      job.watchers += 1;
      job.cancelUnwatched();
      let left = false;
      return () => {
        if (left) return;
        left = true;
        job.watchers -= 1;
        if (job.watchers > 0) return;
        job.unwatchedAt = clock.now();
        endUnwatched(job);
      };
    },

    async close(): Promise<void> {
      closed = true;
      stopListening();
      const all = [...jobs.values()];
      for (const job of all) drop(job);
      await Promise.all(all.map((job) => remove(job, null)));
    },
  };
}
