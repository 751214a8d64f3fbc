import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import { createSingleFlight } from "../core/single-flight.ts";
import { findExecutable } from "../platform/executables.ts";
import type { TerminalHostClient } from "../terminal-host/terminal-info.ts";
import type { AgentSetupJob, AgentSetupJobKind, LoginMethod } from "../wire/agent-setup.ts";
import type { Caller } from "../wire/caller.ts";
import { agentError } from "./errors.ts";
import { installCommand, installEnvironment, loginArguments, loginMethods } from "./known-agents.ts";
import type { RecordSetupJob, SetupJobOrigin } from "./ports.ts";
import { createSetupJobRuns, type SetupJob, type SetupJobProgram, type SetupJobRequest } from "./setup-job-runs.ts";
import type { AgentTemplate, Environment } from "./template.ts";

/** The agents' interactive logins and their installation from npm, each in a terminal that clients attach to. */
export interface AgentSetupJobs {
  /**
   * Starts the agent's login, or returns the one that is running.
   * @param options `method`: the login method; by default, the agent's first
   * @throws PosternError `agent_unknown` | `agent_not_configured` | `agent_binary_missing` | `agent_start_failed` | `invalid_request` if
   * the agent does not have this login
   */
  logIn(
    nameOrAlias: string,
    options: { readonly method?: LoginMethod | undefined; readonly by: SetupJobOrigin },
  ): Promise<StartedSetupJob>;
  /**
   * Installs or updates the agent from npm, or returns the running installation. Installations run one at a time. Configures nothing.
   * @throws PosternError `agent_unknown` | `agent_binary_missing` (npm) | `agent_start_failed` | `invalid_request` if the agent is not on
   * npm
   */
  install(nameOrAlias: string, options: { readonly by: SetupJobOrigin }): Promise<StartedSetupJob>;
  /** Jobs of the agent that wait, run or just ended. */
  ofAgent(name: string): AgentSetupJob[];
  /**
   * Ends the agent's jobs of this kind and removes them. Idempotent.
   * @param options `unlessWatched`: cancels a few seconds later, and only if no one is watching then
   * @throws PosternError `agent_unknown`
   */
  cancel(
    nameOrAlias: string,
    kind: AgentSetupJobKind,
    options: { readonly by: SetupJobOrigin; readonly unlessWatched?: boolean },
  ): Promise<void>;
  /** The terminal of a job that runs or just ended; null for an unknown id or a caller without `admin`. */
  find(setupJobId: string, caller: Caller): SetupJobTerminal | null;
  /** Whether the terminal belongs to a setup job. */
  owns(terminalId: string): boolean;
  /** Ends and removes all jobs. */
  close(): Promise<void>;
}

/** A job that was started, or was already running. */
export interface StartedSetupJob {
  /** The job's id. */
  readonly sessionId: string;
  /** False if it was already running. */
  readonly began: boolean;
}

export interface SetupJobTerminal {
  readonly terminalId: string;
  /** Counts a viewer until the returned function is called. A login without viewers ends after a while. */
  watch(): () => void;
}

export interface AgentSetupJobsDeps {
  readonly host: TerminalHostClient;
  readonly agents: {
    /** @throws PosternError `agent_unknown` */
    template(name: string): AgentTemplate;
    resolve(name: string): Promise<{ readonly template: AgentTemplate; readonly binary: string }>;
    environmentOf(template: AgentTemplate): Environment;
    /** The login state may have changed. */
    loginChanged(name: string): void;
  };
  /** Writes to the audit log. Never throws. */
  readonly note: RecordSetupJob;
  readonly clock: Clock;
  readonly log: Log;
}

/** Jobs are kept in memory only. When the gateway starts again, it ends the terminals of jobs that are still running. */
export function createAgentSetupJobs({ host, agents, note, clock, log }: AgentSetupJobsDeps): AgentSetupJobs {
  const runs = createSetupJobRuns({ host, changed: (name) => agents.loginChanged(name), note, clock, log });
  const flights = createSingleFlight<SetupJob>();

  /** Starts a job, unless one of this kind is running for the agent. */
  async function start(request: SetupJobRequest): Promise<StartedSetupJob> {
    const { agent, kind } = request;
    let began = false;
    const { setupJobId } = await flights(`${kind} ${agent}`, async () => {
      const found = runs.all().find((one) => one.agent === agent && one.kind === kind && one.state !== "ended");
      if (found?.removal === null) {
        runs.touch(found);
        return found;
      }
      await found?.removal; // npm first undoes the unfinished installation
      began = true;
      return runs.begin(request);
    });
    return { sessionId: setupJobId, began };
  }

  return {
    async logIn(nameOrAlias, { method, by }) {
      const { template, binary } = await agents.resolve(nameOrAlias);
      const args = loginArguments(template, method ?? loginMethods(template)[0]);
      if (args === null) {
        const what = method === "code" ? "login with a code" : "login";
        throw agentError("invalid_request", `${template.name} has no ${what}. Set its API key variable.`);
      }
      const program: SetupJobProgram = { argv: [binary, ...args], env: agents.environmentOf(template) };
      const details = method === undefined ? {} : { method };
      return start({ kind: "login", agent: template.name, program, by, details });
    },

    async install(nameOrAlias, { by }) {
      const template = agents.template(nameOrAlias);
      const program = await installProgram(template, agents.environmentOf(template));
      return start({ kind: "install", agent: template.name, program, by, details: {} });
    },

    ofAgent: (name) =>
      runs.all().flatMap((job) => {
        const { agent, kind, setupJobId: sessionId, state, exitCode } = job;
        return agent === name ? [{ kind, sessionId, state, exitCode, ahead: runs.ahead(job) }] : [];
      }),

    async cancel(nameOrAlias, kind, { by, unlessWatched = false }) {
      const { name } = agents.template(nameOrAlias);
      const meant = runs.all().filter((job) => job.agent === name && job.kind === kind);
      if (unlessWatched) for (const job of meant) runs.leave(job, by);
      else await Promise.all(meant.map((job) => runs.remove(job, by)));
    },

    find(setupJobId, caller) {
      const job = runs.find(setupJobId);
      if (job === undefined || job.state === "waiting" || !caller.scopes.has("admin")) return null;
      runs.touch(job);
      return { terminalId: job.terminalId, watch: () => runs.watch(job) };
    },

    owns: (terminalId) => runs.all().some((job) => job.terminalId === terminalId),

    close: () => runs.close(),
  };
}

async function installProgram(template: AgentTemplate, env: Environment): Promise<SetupJobProgram> {
  const command = installCommand(template);
  if (command === null) {
    const message = `${template.name} is not on npm. Install it yourself, then configure the path of its program.`;
    throw agentError("invalid_request", message);
  }
  const [npm, ...args] = command;
  const program = await findExecutable(npm, env["PATH"] ?? "");
  if (program === null) {
    const message = "`npm` is not on the gateway's PATH. Install Node.js, which includes it, and restart the gateway.";
    throw agentError("agent_binary_missing", message);
  }
  return { argv: [program, ...args], env: installEnvironment(template, env) };
}
