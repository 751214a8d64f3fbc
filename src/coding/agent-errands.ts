import type { Clock } from "../core/clock.ts";
import { hasCode, messageOf } from "../core/errors.ts";
import { newUuid } from "../core/ids.ts";
import type { Log } from "../core/log.ts";
import { createSingleFlight } from "../core/single-flight.ts";
import { findExecutable } from "../platform/executables.ts";
import type { TerminalHostClient } from "../terminal-host/terminal-info.ts";
import type { AgentErrand, AgentErrandKind, LoginMethod } from "../wire/agent-setup.ts";
import { type Argv, installCommand, installEnvironment, loginArguments, loginMethods } from "./agents/known-agents.ts";
import type { AgentTemplate, Environment } from "./agents/template.ts";
import { codingError } from "./errors.ts";
import type { Caller } from "./ports.ts";

/** Agents' own interactive log-ins, and their installation from npm, each in a terminal that is attached to like a session's. */
export interface AgentErrands {
  /**
   * Starts the agent's log-in. While one of this agent runs, that one is meant.
   * @param method the agent's first one when it is left out
   * @returns its id, in the form of a session's
   * @throws PosternError `agent_unknown` | `agent_not_configured` | `agent_binary_missing` | `agent_start_failed` | `invalid_request`
   *   for an agent that has no such log-in of its own
   */
  logIn(nameOrAlias: string, method?: LoginMethod): Promise<{ readonly sessionId: string }>;
  /**
   * Installs the agent from npm, or its newest version over an older one. While that goes on, that one is meant. Nothing is configured.
   * @throws PosternError `agent_unknown` | `agent_binary_missing` (of npm) | `agent_start_failed` | `invalid_request` for an agent that npm
   *   does not have
   */
  install(nameOrAlias: string): Promise<{ readonly sessionId: string }>;
  /** What runs for the agent, and what ended a moment ago. */
  ofAgent(name: string): AgentErrand[];
  /** Ends what of this kind runs for the agent, and forgets it. Idempotent. @throws PosternError `agent_unknown` */
  cancel(nameOrAlias: string, kind: AgentErrandKind): Promise<void>;
  /** The terminal of one that runs or ended a moment ago; null for any other id, and for who may not do this. */
  find(errandId: string, caller: Caller): ErrandTerminal | null;
  /** Whether the terminal is one of these. */
  owns(terminalId: string): boolean;
  /** Ends those that run, and forgets all: nobody could find them again. */
  close(): Promise<void>;
}

/** Where it takes place. */
export interface ErrandTerminal {
  readonly terminalId: string;
  /** Somebody watches until the returned function is called. A log-in that nobody watches any more is ended after a while. */
  watch(): () => void;
}

/** What {@link createAgentErrands} needs. */
export interface AgentErrandsDeps {
  readonly host: TerminalHostClient;
  readonly agents: {
    /** @throws PosternError `agent_unknown` */
    template(name: string): AgentTemplate;
    resolve(name: string): Promise<{ readonly template: AgentTemplate; readonly binary: string }>;
    environmentOf(template: AgentTemplate): Environment;
    /** What was known of its log-in may have changed. */
    loginChanged(name: string): void;
  };
  readonly clock: Clock;
  readonly log: Log;
}

interface Errand {
  readonly agent: string;
  readonly kind: AgentErrandKind;
  readonly errandId: string;
  readonly terminalId: string;
  state: "running" | "ended";
  exitCode: number | null;
  watchers: number;
  /** While it is ended and forgotten. */
  removal: Promise<void> | null;
  cancelUnwatched: () => void;
  cancelLimit: () => void;
}

/** A person who logs in takes a few minutes, with a second factor and a look for the password; a slow line as many for 100 MB. */
const limitMs = 10 * 60_000;
/** A page that is loaded anew, or a phone that wakes up, is back by then. An installation needs nobody. */
const unwatchedMs = 2 * 60_000;
/** The last screen says how it went. */
const keptMs = 60_000;
/** Npm takes back what it has done by half. */
const graceMs = { login: 1_000, install: 5_000 } satisfies Record<AgentErrandKind, number>;
const words = { login: "log-in", install: "installation" } satisfies Record<AgentErrandKind, string>;
const size = { cols: 100, rows: 30 };

/** None outlives its gateway, and no recording is made of one: what is found running at the next start is ended as any terminal that nobody knows. */
export function createAgentErrands({ host, agents, clock, log }: AgentErrandsDeps): AgentErrands {
  const errands = new Map<string, Errand>();
  const flights = createSingleFlight<Errand>();
  const byTerminal = (terminalId: string): Errand | undefined =>
    [...errands.values()].find((errand) => errand.terminalId === terminalId);

  const stopListening = host.onExit((told) => {
    if (told === null) {
      for (const errand of errands.values()) drop(errand); // they went with their host
      return;
    }
    const errand = byTerminal(told.terminalId);
    if (errand !== undefined) settle(errand, told.exit.signal === null ? told.exit.exitCode : null);
  });

  const hasEnded = ({ state }: Errand): boolean => state === "ended";

  function settle(errand: Errand, exitCode: number | null): void {
    if (hasEnded(errand)) return;
    errand.state = "ended";
    errand.exitCode = exitCode;
    errand.cancelUnwatched();
    errand.cancelLimit();
    agents.loginChanged(errand.agent);
    log.info({ agent: errand.agent, exitCode }, `the ${words[errand.kind]} of an agent ended`);
    errand.cancelLimit = clock.after(keptMs, () => {
      drop(errand);
      void forget(errand);
    });
  }

  function drop(errand: Errand): void {
    errand.cancelUnwatched();
    errand.cancelLimit();
    errands.delete(errand.errandId);
    agents.loginChanged(errand.agent);
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

  function remove(errand: Errand): Promise<void> {
    errand.removal ??= (async () => {
      if (!hasEnded(errand)) await end(errand);
      drop(errand);
      await forget(errand);
    })();
    return errand.removal;
  }

  /** It was cancelled before the host had answered, which may have begun it after that: nobody else would end it. */
  async function endDropped(errand: Errand): Promise<void> {
    await end(errand);
    await forget(errand);
  }

  function endUnwatched(errand: Errand): void {
    errand.cancelUnwatched();
    if (hasEnded(errand) || errand.kind === "install") return;
    errand.cancelUnwatched = clock.after(unwatchedMs, () => void end(errand));
  }

  /** The one of this kind that runs for the agent, else another. */
  async function start(kind: AgentErrandKind, agent: AgentTemplate, program: Program): Promise<{ sessionId: string }> {
    const isRunning = (errand: Errand): boolean =>
      errand.agent === agent.name && errand.kind === kind && !hasEnded(errand);
    const { errandId } = await flights(`${kind} ${agent.name}`, async () => {
      const running = [...errands.values()].find(isRunning);
      if (running?.removal === null) return running;
      await running?.removal; // npm takes back its half before the next begins
      return spawn(kind, agent, program);
    });
    return { sessionId: errandId };
  }

  async function spawn(kind: AgentErrandKind, { name: agent }: AgentTemplate, program: Program): Promise<Errand> {
    const terminalId = newUuid();
    const errand: Errand = {
      agent,
      kind,
      errandId: `${kind}-${newUuid()}`,
      terminalId,
      state: "running",
      exitCode: null,
      watchers: 0,
      removal: null,
      cancelUnwatched: () => undefined,
      cancelLimit: () => undefined,
    };
    errands.set(errand.errandId, errand); // before the host lists it
    try {
      const place = { cwd: program.env["HOME"] ?? "/", ...program, ...size };
      await host.spawn({ terminalId, leaseKey: errand.errandId, ...place, keepRecording: false });
    } catch (error) {
      errands.delete(errand.errandId);
      if (!hasCode(error, "spawn_failed")) throw error;
      const told = `The ${words[kind]} of ${agent} cannot be started: ${messageOf(error)}`;
      throw codingError("agent_start_failed", told, { cause: error });
    }
    log.info({ agent }, `the ${words[kind]} of an agent began`);
    if (!errands.has(errand.errandId)) await endDropped(errand);
    if (hasEnded(errand) || !errands.has(errand.errandId)) return errand; // before the host had answered
    errand.cancelLimit = clock.after(limitMs, () => void end(errand));
    endUnwatched(errand);
    return errand;
  }

  return {
    async logIn(nameOrAlias, method) {
      const { template, binary } = await agents.resolve(nameOrAlias);
      const args = loginArguments(template, method ?? loginMethods(template)[0]);
      if (args === null) {
        const what = method === "code" ? "log-in with a code" : "log-in of its own";
        throw codingError("invalid_request", `${template.name} has no ${what}. Give it its key variable.`);
      }
      return start("login", template, { argv: [binary, ...args], env: agents.environmentOf(template) });
    },

    async install(nameOrAlias) {
      const template = agents.template(nameOrAlias);
      return start("install", template, await installProgram(template, agents.environmentOf(template)));
    },

    ofAgent: (name) =>
      [...errands.values()].flatMap(({ agent, kind, errandId: sessionId, state, exitCode }) =>
        agent === name ? [{ kind, sessionId, state, exitCode }] : [],
      ),

    async cancel(nameOrAlias, kind) {
      const { name } = agents.template(nameOrAlias);
      const meant = [...errands.values()].filter((errand) => errand.agent === name && errand.kind === kind);
      await Promise.all(meant.map(remove));
    },

    find(errandId, caller) {
      const errand = errands.get(errandId);
      if (errand === undefined || !caller.scopes.has("admin")) return null;
      if (errand.watchers === 0) endUnwatched(errand); // asked for, and about to be watched
      return { terminalId: errand.terminalId, watch: () => watch(errand) };
    },

    owns: (terminalId) => byTerminal(terminalId) !== undefined,

    async close() {
      stopListening();
      const all = [...errands.values()];
      for (const errand of all) drop(errand);
      await Promise.all(all.map(remove));
    },
  };

  function watch(errand: Errand): () => void {
    errand.watchers += 1;
    errand.cancelUnwatched();
    let left = false;
    return () => {
      if (left) return;
      left = true;
      errand.watchers -= 1;
      if (errand.watchers === 0) endUnwatched(errand);
    };
  }
}

/** What runs in the terminal. */
interface Program {
  readonly argv: Argv;
  readonly env: Environment;
}

async function installProgram(template: AgentTemplate, env: Environment): Promise<Program> {
  const command = installCommand(template);
  if (command === null) {
    const told = `npm does not have ${template.name}. Install it, and say where its program is.`;
    throw codingError("invalid_request", told);
  }
  const [npm, ...args] = command;
  const program = await findExecutable(npm, env["PATH"] ?? "");
  if (program === null) {
    const told = "`npm` is not on the gateway's PATH. It comes with Node.js; install it, and start the gateway again.";
    throw codingError("agent_binary_missing", told);
  }
  return { argv: [program, ...args], env: installEnvironment(template, env) };
}
