import type { Clock } from "../core/clock.ts";
import { hasCode, messageOf } from "../core/errors.ts";
import { newUuid } from "../core/ids.ts";
import type { Log } from "../core/log.ts";
import { createSingleFlight } from "../core/single-flight.ts";
import type { TerminalHostClient } from "../terminal-host/terminal-info.ts";
import type { AgentTemplate, Environment } from "./agents/template.ts";
import { codingError } from "./errors.ts";
import type { Caller } from "./ports.ts";

/** Agents' own interactive log-ins, each in a terminal that is attached to like a session's. */
export interface AgentLogins {
  /**
   * Starts the agent's log-in. While one of this agent runs, that one is meant.
   * @returns its id, in the form of a session's
   * @throws PosternError `agent_unknown` | `agent_not_configured` | `agent_binary_missing` | `agent_start_failed` | `invalid_request`
   *   for an agent that has no log-in of its own
   */
  start(nameOrAlias: string): Promise<{ readonly sessionId: string }>;
  /** The terminal of a log-in that runs or ended a moment ago; null for any other id, and for who may not log agents in. */
  find(loginId: string, caller: Caller): LoginTerminal | null;
  /** Whether the terminal is one of these. */
  owns(terminalId: string): boolean;
  /** Ends those that run, and forgets all: nobody could find them again. */
  close(): Promise<void>;
}

/** Where a log-in takes place. */
export interface LoginTerminal {
  readonly terminalId: string;
  /** Somebody watches until the returned function is called. A log-in that nobody watches any more is ended after a while. */
  watch(): () => void;
}

/** What {@link createAgentLogins} needs. */
export interface AgentLoginsDeps {
  readonly host: TerminalHostClient;
  readonly agents: {
    resolve(name: string): Promise<{ readonly template: AgentTemplate; readonly binary: string }>;
    environmentOf(template: AgentTemplate): Environment;
    /** What was known of its log-in may have changed. */
    loginChanged(name: string): void;
  };
  readonly clock: Clock;
  readonly log: Log;
}

interface Login {
  readonly agent: string;
  readonly loginId: string;
  readonly terminalId: string;
  state: "running" | "ended";
  watchers: number;
  cancelUnwatched: () => void;
  cancelLimit: () => void;
}

/** A person who logs in takes a few minutes, with a second factor and a look for the password. */
const limitMs = 15 * 60_000;
/** A page that is loaded anew, or a phone that wakes up, is back by then. */
const unwatchedMs = 2 * 60_000;
/** The last screen says how it went. */
const keptMs = 60_000;
const size = { cols: 100, rows: 30 };

/** No log-in outlives its gateway, and no recording is made of one: what is found running at the next start is ended as any terminal that nobody knows. */
export function createAgentLogins({ host, agents, clock, log }: AgentLoginsDeps): AgentLogins {
  const logins = new Map<string, Login>();
  const flights = createSingleFlight<Login>();
  const byTerminal = (terminalId: string): Login | undefined =>
    [...logins.values()].find((login) => login.terminalId === terminalId);

  const stopListening = host.onExit((told) => {
    if (told === null) {
      for (const login of logins.values()) drop(login); // they went with their host
      return;
    }
    const login = byTerminal(told.terminalId);
    if (login !== undefined) settle(login);
  });

  const hasEnded = ({ state }: Login): boolean => state === "ended";

  function settle(login: Login): void {
    if (hasEnded(login)) return;
    login.state = "ended";
    login.cancelUnwatched();
    login.cancelLimit();
    agents.loginChanged(login.agent);
    log.info({ agent: login.agent }, "a log-in ended");
    login.cancelLimit = clock.after(keptMs, () => {
      drop(login);
      void forget(login);
    });
  }

  function drop(login: Login): void {
    login.cancelUnwatched();
    login.cancelLimit();
    logins.delete(login.loginId);
    agents.loginChanged(login.agent);
  }

  function complain({ agent }: Login, error: unknown): void {
    if (!hasCode(error, "terminal_gone")) log.warn({ agent, error: messageOf(error) }, "cannot end a log-in");
  }

  async function end(login: Login): Promise<void> {
    await host.end(login.terminalId, { graceMs: 1_000 }).catch((error: unknown) => complain(login, error));
  }

  /** Codes, addresses and tokens were on its screen. */
  async function forget(login: Login): Promise<void> {
    await host.forget(login.terminalId).catch((error: unknown) => complain(login, error));
  }

  function endUnwatched(login: Login): void {
    login.cancelUnwatched();
    if (!hasEnded(login)) login.cancelUnwatched = clock.after(unwatchedMs, () => void end(login));
  }

  async function spawn(template: AgentTemplate, binary: string): Promise<Login> {
    const terminalId = newUuid();
    const login: Login = {
      agent: template.name,
      loginId: `login-${newUuid()}`,
      terminalId,
      state: "running",
      watchers: 0,
      cancelUnwatched: () => undefined,
      cancelLimit: () => undefined,
    };
    logins.set(login.loginId, login); // before the host lists it
    try {
      const env = agents.environmentOf(template);
      const argv = [binary, ...template.loginArgs] as const;
      const place = { cwd: env["HOME"] ?? "/", env, ...size };
      await host.spawn({ terminalId, leaseKey: login.loginId, argv, ...place, keepRecording: false });
    } catch (error) {
      logins.delete(login.loginId);
      if (!hasCode(error, "spawn_failed")) throw error;
      throw codingError("agent_start_failed", `The log-in of ${template.name} cannot be started: ${messageOf(error)}`, {
        cause: error,
      });
    }
    log.info({ agent: template.name }, "a log-in began");
    if (hasEnded(login) || !logins.has(login.loginId)) return login; // before the host had answered
    login.cancelLimit = clock.after(limitMs, () => void end(login));
    endUnwatched(login);
    return login;
  }

  return {
    async start(nameOrAlias) {
      const { template, binary } = await agents.resolve(nameOrAlias);
      if (template.loginArgs.length === 0) {
        throw codingError("invalid_request", `${template.name} has no log-in of its own. Give it its key variable.`);
      }
      const isRunning = (login: Login): boolean => login.agent === template.name && !hasEnded(login);
      const { loginId } = await flights(
        template.name,
        async () => [...logins.values()].find(isRunning) ?? spawn(template, binary),
      );
      return { sessionId: loginId };
    },

    find(loginId, caller) {
      const login = logins.get(loginId);
      if (login === undefined || !caller.scopes.has("admin")) return null;
      if (login.watchers === 0) endUnwatched(login); // asked for, and about to be watched
      return { terminalId: login.terminalId, watch: () => watch(login) };
    },

    owns: (terminalId) => byTerminal(terminalId) !== undefined,

    async close() {
      stopListening();
      const all = [...logins.values()];
      for (const login of all) drop(login);
      await Promise.all(
        all.map(async (login) => {
          if (!hasEnded(login)) await end(login);
          await forget(login);
        }),
      );
    },
  };

  function watch(login: Login): () => void {
    login.watchers += 1;
    login.cancelUnwatched();
    let left = false;
    return () => {
      if (left) return;
      left = true;
      login.watchers -= 1;
      if (login.watchers === 0) endUnwatched(login);
    };
  }
}
