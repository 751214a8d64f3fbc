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

/** `/api/agents`: which agents there are, and which of them are configured. */
export function agentRoutes({ list, change, remove, audit }: AgentRoutesDeps): RouteModule {
  return ({ app, actorOf }) => {
    app.route({
      method: "GET",
      url: "/api/agents",
      config: { access: "coding:read" },
      schema: {
        operationId: "listAgents",
        tags,
        summary: "The configured agents, and those found on the machine. The same as coding_list_agents.",
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
        summary: "Configures an agent, or changes what is configured: its binary, or that it is the default.",
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
        summary: "Takes an agent off the configured ones. The program and its sessions stay.",
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
  /** Every agent that Postern knows, found or not. */
  readonly known: () => Promise<readonly KnownAgent[]>;
  readonly jobs: Pick<AgentSetupJobs, "logIn" | "install" | "cancel" | "ofAgent">;
}

/** As the registry describes it. */
type KnownAgent = Omit<AgentSetup, "installCommand" | "errands"> & {
  readonly installCommand: readonly string[] | null;
};

/** `/api/agents/setup`, and what set-up runs: the installation of an agent, and its log-in. */
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
      summary: "Every agent that the gateway knows, found or not: what is there, and what is to be done.",
      response: { 200: agentSetupSchema },
    },
    handler: async () => ({
      agents: (await known()).map(({ installCommand, ...agent }) => ({
        ...agent,
        installCommand: installCommand === null ? null : installCommand.join(" "),
        errands: jobs.ofAgent(agent.name),
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
      summary: "Starts the agent's own log-in in a terminal.",
      description:
        "Attach to it as to a session, with the id of the answer: only who holds `admin` can. One log-in of an agent runs at a time; a " +
        "second call answers the same id. It is ended after 10 minutes, or when nobody has watched it for two.",
      params,
      body: agentLoginInputSchema,
      response: { 200: agentTerminalSchema },
    },
    preValidation: bodyMayBeMissing,
    handler: (request) =>
      jobs.logIn(request.params.name, {
        ...request.body,
        by: actorOf(request),
      }),
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
      summary: "Installs the agent from npm, in a terminal: the command that GET /api/agents/setup shows.",
      description:
        "Attach to it as to a session: only who holds `admin` can. A second call while it goes on answers the same id. While another agent " +
        "is installed it waits for that, and has no terminal yet. It is ended after 10 minutes. Nothing is configured by it.",
      params,
      response: { 200: agentTerminalSchema },
    },
    handler: (request) =>
      jobs.install(request.params.name, {
        by: actorOf(request),
      }),
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
          ? "Ends the agent's log-in, if one runs."
          : "Ends the agent's installation, if one runs; npm takes back what it has done by half.",
      params,
      querystring: cancelSetupJobQuerySchema,
      response: { 204: z.undefined().describe("It does not run, or not any more") },
    },
    handler: async (request, reply) => {
      const unlessWatched = request.query.unlessWatched !== undefined;
      await jobs.cancel(request.params.name, kind, {
        by: actorOf(request),
        unlessWatched,
      });
      return reply.code(204).send();
    },
  });
}
