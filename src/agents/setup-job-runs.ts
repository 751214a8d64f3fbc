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

/** What runs in the terminal. */
export interface SetupJobProgram {
  readonly argv: Argv;
  readonly env: Environment;
}

/** What is begun, and for whom. */
export interface SetupJobRequest {
  readonly agent: string;
  readonly kind: AgentSetupJobKind;
  readonly program: SetupJobProgram;
  readonly by: SetupJobOrigin;
  /** For the note of its beginning. */
  readonly details: SetupJobRecord["details"];
}

/** One that waits, runs, or ended a moment ago. */
export interface Errand extends SetupJobRequest {
  readonly setupJobId: string;
  readonly terminalId: string;
  state: "waiting" | "running" | "ended";
  exitCode: number | null;
  watchers: number;
  /** Epoch milliseconds: nobody has watched it since then. */
  unwatchedAt: number;
  /** While it is ended and forgotten. */
  removal: Promise<void> | null;
  /** Notes of what came before its beginning was noted; null once that is. */
  early: SetupJobRecord[] | null;
  cancelUnwatched: () => void;
  cancelLeft: () => void;
  cancelLimit: () => void;
}

/** The lives of errands: each in a terminal of the host, one installation after another. */
export interface SetupJobRuns {
  all(): readonly Errand[];
  find(setupJobId: string): Errand | undefined;
  /** Begins it, or puts it in line; an installation waits for others, because npm's global folder is one. @throws PosternError `agent_start_failed` */
  begin(request: SetupJobRequest): Promise<Errand>;
  /** Installations that come before this one. */
  ahead(errand: Errand): number;
  /** Ends it, and forgets it. @param by who cancelled it; null for nobody */
  remove(errand: Errand, by: SetupJobOrigin | null): Promise<void>;
  /** The same soon, unless somebody watches it. */
  leave(errand: Errand, by: SetupJobOrigin): void;
  /** It is asked for, and about to be watched: who looks for it has as long again. */
  touch(errand: Errand): void;
  watch(errand: Errand): () => void;
  /** Ends those that run, and forgets all. */
  close(): Promise<void>;
}

/** What {@link createErrandRuns} needs. */
export interface SetupJobRunsDeps {
  readonly host: TerminalHostClient;
  /** One of this agent ended, or was forgotten. */
  readonly changed: (agent: string) => void;
  readonly note: RecordSetupJob;
  readonly clock: Clock;
  readonly log: Log;
}

/** A person who logs in takes a few minutes, with a second factor and a look for the password; a slow line as many for 100 MB. */
const limitMs = 10 * 60_000;
/** A page that is loaded anew, or a phone that wakes up, is back by then. An installation needs nobody. */
const unwatchedMs = 2 * 60_000;
/** Another tab that is loaded anew at the moment when this one is left is back by then. */
const leftMs = 3_000;
/** The last screen says how it went. */
const keptMs = 60_000;
/** Npm takes back what it has done by half. */
const graceMs = { login: 1_000, install: 5_000 } satisfies Record<AgentSetupJobKind, number>;
const words = { login: "log-in", install: "installation" } satisfies Record<AgentSetupJobKind, string>;
const size = { cols: 100, rows: 30 };

/** @see SetupJobRuns */
export function createErrandRuns({ host, changed, note, clock, log }: SetupJobRunsDeps): SetupJobRuns {
  /** In the order in which they were asked for. */
  const errands = new Map<string, Errand>();
  let closed = false;

  const stopListening = host.onExit((told) => {
    if (told === null) {
      // They went with their host. Those that wait did not, and the next of them begins with the first end.
      for (const errand of [...errands.values()].filter(({ state }) => state !== "waiting")) {
        settle(errand, null);
        drop(errand);
      }
      return;
    }
    const errand = [...errands.values()].find(({ terminalId }) => terminalId === told.terminalId);
    if (errand !== undefined) settle(errand, told.exit.signal === null ? told.exit.exitCode : null);
  });

  const hasEnded = ({ state }: Errand): boolean => state === "ended";

  function tell(errand: Errand, what: "started" | "cancelled" | "ended", by = errand.by): void {
    const details = what === "started" ? errand.details : what === "ended" ? { exitCode: errand.exitCode } : {};
    const entry: SetupJobRecord = { ...by, action: `agent_${errand.kind}_${what}`, subject: errand.agent, details };
    if (what !== "started" && errand.early !== null) {
      errand.early.push(entry);
      return;
    }
    for (const one of [entry, ...(errand.early ?? [])]) void note(one);
    errand.early = null;
  }

  function settle(errand: Errand, exitCode: number | null): void {
    if (hasEnded(errand)) return;
    errand.state = "ended";
    errand.exitCode = exitCode;
    errand.cancelUnwatched();
    errand.cancelLimit();
    changed(errand.agent);
    log.info({ agent: errand.agent, exitCode }, `the ${words[errand.kind]} of an agent ended`);
    if (errand.removal === null) tell(errand, "ended");
    errand.cancelLimit = clock.after(keptMs, () => {
      drop(errand);
      void forget(errand);
    });
    beginNext();
  }

  function drop(errand: Errand): void {
    errand.cancelUnwatched();
    errand.cancelLeft();
    errand.cancelLimit();
    errands.delete(errand.setupJobId);
    changed(errand.agent);
  }

  function complain({ agent, kind }: Errand, error: unknown): void {
    if (hasCode(error, "terminal_gone")) return;
    log.warn({ agent, error: messageOf(error) }, `cannot end the ${words[kind]} of an agent`);
  }

  async function end(errand: Errand): Promise<void> {
    const options = { graceMs: graceMs[errand.kind] };
    await host.end(errand.terminalId, options).catch((error: unknown) => complain(errand, error));
  }

  /** Codes, addresses and tokens were on its screen. */
  async function forget(errand: Errand): Promise<void> {
    await host.forget(errand.terminalId).catch((error: unknown) => complain(errand, error));
  }

  function remove(errand: Errand, by: SetupJobOrigin | null): Promise<void> {
    errand.removal ??= (async () => {
      if (by !== null && !hasEnded(errand)) tell(errand, "cancelled", by);
      if (errand.state === "waiting") return drop(errand);
      if (!hasEnded(errand)) await end(errand);
      drop(errand);
      await forget(errand);
      beginNext();
    })();
    return errand.removal;
  }

  function endUnwatched(errand: Errand): void {
    errand.cancelUnwatched();
    if (errand.state !== "running" || errand.kind === "install") return;
    errand.cancelUnwatched = clock.after(unwatchedMs, () => void end(errand));
  }

  const installing = (): readonly Errand[] =>
    [...errands.values()].filter((errand) => errand.kind === "install" && !hasEnded(errand));

  function beginNext(): void {
    const [next] = installing();
    if (closed || next === undefined || next.state !== "waiting") return;
    run(next).catch((error: unknown) => {
      log.warn({ agent: next.agent, error: messageOf(error) }, "an installation that waited cannot be started");
      settle(next, null);
    });
  }

  async function run(errand: Errand): Promise<void> {
    const { agent, kind, program, terminalId } = errand;
    errand.state = "running"; // before the host lists it
    try {
      const cwd = await realpath(program.env["HOME"] ?? "/");
      const place = { cwd, ...program, ...size };
      await host.spawn({ terminalId, leaseKey: errand.setupJobId, ...place, keepRecording: false });
    } catch (error) {
      if (!hasCode(error, "spawn_failed") && !isErrno(error, "ENOENT", "ENOTDIR", "EACCES")) throw error;
      const told = `The ${words[kind]} of ${agent} cannot be started: ${messageOf(error)}`;
      throw agentError("agent_start_failed", told, { cause: error });
    }
    log.info({ agent }, `the ${words[kind]} of an agent began`);
    if (!errands.has(errand.setupJobId)) {
      // It was cancelled before the host had answered, which may have begun it after that: nobody else would end it.
      await end(errand);
      await forget(errand);
    }
    if (hasEnded(errand) || !errands.has(errand.setupJobId)) return; // before the host had answered
    errand.cancelLimit = clock.after(limitMs, () => void end(errand));
    endUnwatched(errand);
  }

  function leave(errand: Errand, by: SetupJobOrigin): void {
    errand.cancelLeft();
    const unlessWatched = (): void => {
      if (errand.watchers > 0 || hasEnded(errand)) return;
      const pauseMs = errand.unwatchedAt + leftMs - clock.now();
      if (pauseMs <= 0) void remove(errand, by);
      else errand.cancelLeft = clock.after(pauseMs, unlessWatched);
    };
    errand.cancelLeft = clock.after(leftMs, unlessWatched);
  }

  return {
    all: () => [...errands.values()],
    find: (setupJobId) => errands.get(setupJobId),
    leave,
    remove,

    async begin(request) {
      const waits = request.kind === "install" && installing().length > 0;
      const errand: Errand = {
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
      errands.set(errand.setupJobId, errand);
      try {
        if (!waits) await run(errand);
      } catch (error) {
        errands.delete(errand.setupJobId);
        beginNext();
        throw error;
      }
      tell(errand, "started");
      return errand;
    },

    ahead: (errand) => (errand.state === "waiting" ? installing().indexOf(errand) : 0),

    touch(errand) {
      if (errand.watchers > 0) return;
      errand.unwatchedAt = clock.now();
      endUnwatched(errand);
    },

    watch(errand) {
      errand.watchers += 1;
      errand.cancelUnwatched();
      let left = false;
      return () => {
        if (left) return;
        left = true;
        errand.watchers -= 1;
        if (errand.watchers > 0) return;
        errand.unwatchedAt = clock.now();
        endUnwatched(errand);
      };
    },

    async close() {
      closed = true;
      stopListening();
      const all = [...errands.values()];
      for (const errand of all) drop(errand);
      await Promise.all(all.map((errand) => remove(errand, null)));
    },
  };
}
