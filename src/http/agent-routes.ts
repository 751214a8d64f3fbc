import { z } from "zod";
import type { Accounts } from "../accounts/index.ts";
import type { AgentSetupJobs } from "../agents/index.ts";
import {
  type AgentSetup,
  type AgentSetupJobKind,
  agentLoginInputSchema,
  agentSetupJobKindSchema,
  agentSetupSchema,
  agentTerminalSchema,
  cancelSetupJobQuerySchema,
} from "../wire/agent-setup.ts";
import { type ConfigureAgentInput, configureAgentInputSchema } from "../wire/changes.ts";
import { type ListAgentsOutput, listAgentsOutputSchema } from "../wire/coding.ts";
import { textSchema } from "../wire/text.ts";
import { bodyMayBeMissing, type RouteModule, type RouteServer } from "./route-server.ts";

const tags = ["agents"];
const params = z.strictObject({ name: textSchema(100).describe("Agent name or alias.") });

export interface AgentRoutesDeps {
  readonly list: () => Promise<ListAgentsOutput>;
  readonly change: (name: string, input: ConfigureAgentInput) => Promise<void>;
  readonly remove: (name: string) => Promise<void>;
  readonly audit: Pick<Accounts["audit"], "note">;
}

/** `/api/agents`: installed and configured agents. */
export function agentRoutes({ list, change, remove, audit }: AgentRoutesDeps): RouteModule {
  return ({ app, actorOf }) => {
    app.route({
      method: "GET",
      url: "/api/agents",
      config: { access: "coding:read" },
      schema: {
        operationId: "listAgents",
        tags,
        summary: "Lists configured and installed agents, like coding_list_agents.",
        response: { 200: listAgentsOutputSchema },
      },
      handler: async () => list(),
    });

    app.route({
      method: "POST",
      url: "/api/agents/:name",
      config: { access: "admin" },
      schema: {
        operationId: "configureAgent",
        tags,
        summary: "Configures an agent, or changes its binary or whether it is the default.",
        params,
        body: configureAgentInputSchema,
        response: { 200: listAgentsOutputSchema },
      },
      preValidation: bodyMayBeMissing,
      handler: async (request) => {
        const { name } = request.params;
        const { binary, isDefault } = request.body;
        await change(name, request.body);
        const details = {
          ...(binary == null ? {} : { program: binary }),
          ...(isDefault === true ? { default: "yes" } : {}),
        };
        await audit.note({ ...actorOf(request), action: "agent_configured", subject: name, details });
        return list();
      },
    });

    app.route({
      method: "DELETE",
      url: "/api/agents/:name",
      config: { access: "admin" },
      schema: {
        operationId: "removeAgent",
        tags,
        summary: "Removes an agent from the configuration. The program and its sessions are kept.",
        params,
        response: { 200: listAgentsOutputSchema },
      },
      handler: async (request) => {
        const { name } = request.params;
        await remove(name);
        await audit.note({ ...actorOf(request), action: "agent_removed", subject: name, details: {} });
        return list();
      },
    });
  };
}

const config = { access: "admin" } as const;

interface AgentSetupRoutesDeps {
  /** Every supported agent, installed or not. */
  readonly known: () => Promise<readonly KnownAgent[]>;
  readonly jobs: Pick<AgentSetupJobs, "logIn" | "install" | "cancel" | "ofAgent">;
}

type KnownAgent = Omit<AgentSetup, "installCommand" | "setupJobs"> & {
  readonly installCommand: readonly string[] | null;
};

/** `/api/agents/setup`, and installing and logging in an agent. */
export function agentSetupRoutes(deps: AgentSetupRoutesDeps): RouteModule {
  return (server) => {
    addSetup(server, deps);
    addLogin(server, deps);
    addInstall(server, deps);
    for (const kind of agentSetupJobKindSchema.options) addCancel(server, deps, kind);
  };
}

function addSetup({ app }: RouteServer, { known, jobs }: AgentSetupRoutesDeps): void {
  app.route({
    method: "GET",
    url: "/api/agents/setup",
    config,
    schema: {
      operationId: "agentSetup",
      tags,
      summary: "Lists every supported agent, installed or not, with its setup state.",
      response: { 200: agentSetupSchema },
    },
    handler: async () => ({
      agents: (await known()).map(({ installCommand, ...agent }) => ({
        ...agent,
        installCommand: installCommand === null ? null : installCommand.join(" "),
        setupJobs: jobs.ofAgent(agent.name),
      })),
    }),
  });
}

function addLogin({ app, actorOf }: RouteServer, { jobs }: AgentSetupRoutesDeps): void {
  app.route({
    method: "POST",
    url: "/api/agents/:name/login",
    config,
    schema: {
      operationId: "loginAgent",
      tags,
      summary: "Starts the agent's login in a terminal.",
      description:
        "Attach to the returned id as you would to a session; this requires the scope `admin`. Each agent has one login at a time; a second call " +
        "returns the same id. The login is cancelled after 10 minutes, or after 2 minutes without a viewer.",
      params,
      body: agentLoginInputSchema,
      response: { 200: agentTerminalSchema },
    },
    preValidation: bodyMayBeMissing,
    handler: (request) => jobs.logIn(request.params.name, { ...request.body, by: actorOf(request) }),
  });
}

function addInstall({ app, actorOf }: RouteServer, { jobs }: AgentSetupRoutesDeps): void {
  app.route({
    method: "POST",
    url: "/api/agents/:name/install",
    config,
    schema: {
      operationId: "installAgent",
      tags,
      summary: "Installs the agent from npm in a terminal, with the command from GET /api/agents/setup.",
      description:
        "Attach to the returned id as you would to a session; this requires the scope `admin`. While the installation runs, a second " +
        "call returns the same id. The installation waits, without a terminal, while another agent is being installed, and is " +
        "cancelled after 10 minutes. It does not configure the agent.",
      params,
      response: { 200: agentTerminalSchema },
    },
    handler: (request) => jobs.install(request.params.name, { by: actorOf(request) }),
  });
}

function addCancel({ app, actorOf }: RouteServer, { jobs }: AgentSetupRoutesDeps, kind: AgentSetupJobKind): void {
  app.route({
    method: "DELETE",
    url: `/api/agents/:name/${kind}`,
    config,
    schema: {
      operationId: kind === "login" ? "cancelAgentLogin" : "cancelAgentInstall",
      tags,
      summary:
        kind === "login"
          ? "Cancels the agent's login, if one is running."
          : "Cancels the agent's installation, if one is running. npm rolls back partial changes.",
      params,
      querystring: cancelSetupJobQuerySchema,
      response: { 204: z.undefined().describe("Not running") },
    },
    handler: async (request, reply) => {
      const unlessWatched = request.query.unlessWatched !== undefined;
      await jobs.cancel(request.params.name, kind, { by: actorOf(request), unlessWatched });
      return reply.code(204).send();
    },
  });
}
