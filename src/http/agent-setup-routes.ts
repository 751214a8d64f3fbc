import { z } from "zod";
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
import { textSchema } from "../wire/text.ts";
import type { RouteModule, RouteServer } from "./route-server.ts";

const tags = ["agents"];
const config = { access: "admin" } as const;
const params = z.strictObject({ name: textSchema(100).describe("Agent name or alias.") });

/** What {@link agentSetupRoutes} needs. */
export interface AgentSetupRoutesDeps {
  /** Every agent that Postern knows, found or not. */
  readonly known: () => Promise<readonly KnownAgent[]>;
  readonly errands: Pick<AgentSetupJobs, "logIn" | "install" | "cancel" | "ofAgent">;
}

/** As the registry tells it. */
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

function addSetup({ app }: RouteServer, { known, errands }: AgentSetupRoutesDeps): void {
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
        errands: errands.ofAgent(agent.name),
      })),
    }),
  });
}

function addLogin({ app, principalOf, originOf }: RouteServer, { errands }: AgentSetupRoutesDeps): void {
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
    preValidation: async (request) => {
      request.body ??= {};
    },
    handler: (request) =>
      errands.logIn(request.params.name, {
        ...request.body,
        by: { accountId: principalOf(request).accountId, from: originOf(request) },
      }),
  });
}

function addInstall({ app, principalOf, originOf }: RouteServer, { errands }: AgentSetupRoutesDeps): void {
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
      errands.install(request.params.name, {
        by: { accountId: principalOf(request).accountId, from: originOf(request) },
      }),
  });
}

function addCancel(
  { app, principalOf, originOf }: RouteServer,
  { errands }: AgentSetupRoutesDeps,
  kind: AgentSetupJobKind,
): void {
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
      await errands.cancel(request.params.name, kind, {
        by: { accountId: principalOf(request).accountId, from: originOf(request) },
        unlessWatched,
      });
      return reply.code(204).send();
    },
  });
}
