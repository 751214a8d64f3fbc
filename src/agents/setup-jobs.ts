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

/** Agents' own interactive log-ins, and their installation from npm, each in a terminal that is attached to like a session's. */
export interface AgentSetupJobs {
  /**
   * Starts the agent's log-in. While one of this agent runs, that one is meant.
   * @param options `method`: the agent's first one when it is left out
   * @throws PosternError `agent_unknown` | `agent_not_configured` | `agent_binary_missing` | `agent_start_failed` | `invalid_request`
   *   for an agent that has no such log-in of its own
   */
  logIn(
    nameOrAlias: string,
    options: { readonly method?: LoginMethod | undefined; readonly by: SetupJobOrigin },
  ): Promise<StartedSetupJob>;
  /**
   * Installs the agent from npm, or its newest version over an older one. While that runs, that one is meant; while another agent is
   * installed, it waits for that. Nothing is configured.
   * @throws PosternError `agent_unknown` | `agent_binary_missing` (of npm) | `agent_start_failed` | `invalid_request` for an agent that npm
   *   does not have
   */
  install(nameOrAlias: string, options: { readonly by: SetupJobOrigin }): Promise<StartedSetupJob>;
  /** What runs or waits for the agent, and what ended a moment ago. */
  ofAgent(name: string): AgentSetupJob[];
  /**
   * Ends what of this kind runs for the agent, and forgets it. Idempotent.
   * @param options `unlessWatched`: a few seconds later, and not while someone watches it
   * @throws PosternError `agent_unknown`
   */
  cancel(
    nameOrAlias: string,
    kind: AgentSetupJobKind,
    options: { readonly by: SetupJobOrigin; readonly unlessWatched?: boolean },
  ): Promise<void>;
  /** The terminal of one that runs or ended a moment ago; null for any other id, and for who may not do this. */
  find(setupJobId: string, caller: Caller): SetupJobTerminal | null;
  /** Whether the terminal is one of these. */
  owns(terminalId: string): boolean;
  /** Ends those that run, and forgets all: no one could find them again. */
  close(): Promise<void>;
}

/** The one that was begun, or that ran already. */
export interface StartedSetupJob {
  /** Its id, in the form of a session's. */
  readonly sessionId: string;
  /** False when one was under way: that one is meant. */
  readonly began: boolean;
}

/** Where it takes place. */
export interface SetupJobTerminal {
  readonly terminalId: string;
  /** Someone watches until the returned function is called. A log-in that no one watches any more is ended after a while. */
  watch(): () => void;
}

/** What {@link createAgentSetupJobs} needs. */
export interface AgentSetupJobsDeps {
  readonly host: TerminalHostClient;
  readonly agents: {
    /** @throws PosternError `agent_unknown` */
    template(name: string): AgentTemplate;
    resolve(name: string): Promise<{ readonly template: AgentTemplate; readonly binary: string }>;
    environmentOf(template: AgentTemplate): Environment;
    /** What was known of its log-in may have changed. */
    loginChanged(name: string): void;
  };
  /** Writes down who began and who cancelled one, and how it ended. Never throws. */
  readonly note: RecordSetupJob;
  readonly clock: Clock;
  readonly log: Log;
}

/** None outlives its gateway, and no recording is made of one: what is found running at the next start is ended as any unknown terminal. */
export function createAgentSetupJobs({ host, agents, note, clock, log }: AgentSetupJobsDeps): AgentSetupJobs {
  const runs = createSetupJobRuns({ host, changed: (name) => agents.loginChanged(name), note, clock, log });
  const flights = createSingleFlight<SetupJob>();

  /** The one of this kind that is under way for the agent, else another. */
  async function start(request: SetupJobRequest): Promise<StartedSetupJob> {
    const { agent, kind } = request;
    let began = false;
    const { setupJobId } = await flights(`${kind} ${agent}`, async () => {
      const found = runs.all().find((one) => one.agent === agent && one.kind === kind && one.state !== "ended");
      if (found?.removal === null) {
        runs.touch(found);
        return found;
      }
      await found?.removal; // npm takes back its half before the next begins
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
        const what = method === "code" ? "log-in with a code" : "log-in of its own";
        throw agentError("invalid_request", `${template.name} has no ${what}. Give it its key variable.`);
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
    const message = `npm does not have ${template.name}. Install it, and say where its program is.`;
    throw agentError("invalid_request", message);
  }
  const [npm, ...args] = command;
  const program = await findExecutable(npm, env["PATH"] ?? "");
  if (program === null) {
    const message =
      "`npm` is not on the gateway's PATH. It comes with Node.js; install it, and start the gateway again.";
    throw agentError("agent_binary_missing", message);
  }
  return { argv: [program, ...args], env: installEnvironment(template, env) };
}
