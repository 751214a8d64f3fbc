import { z } from "zod";
import type { AgentLogins } from "../coding/index.ts";
import { agentLoginSchema, type ConfigureAgentInput, configureAgentInputSchema } from "../wire/changes.ts";
import { emptyInputSchema, type ListAgentsOutput, listAgentsOutputSchema } from "../wire/coding.ts";
import { textSchema } from "../wire/text.ts";
import type { RouteModule } from "./route-server.ts";

const tags = ["agents"];
const params = z.strictObject({ name: textSchema(100).describe("Agent name or alias.") });

/** What {@link agentRoutes} needs. */
export interface AgentRoutesDeps {
  readonly list: () => Promise<ListAgentsOutput>;
  readonly change: (name: string, input: ConfigureAgentInput) => Promise<void>;
  readonly remove: (name: string) => Promise<void>;
  readonly logins: Pick<AgentLogins, "start">;
}

/** `/api/agents`: which agents there are, and which of them are configured. */
export function agentRoutes({ list, change, remove, logins }: AgentRoutesDeps): RouteModule {
  return ({ app }) => {
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
      preValidation: async (request) => {
        request.body ??= {};
      },
      handler: async (request) => {
        await change(request.params.name, request.body);
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
        await remove(request.params.name);
        return list();
      },
    });

    app.route({
      method: "POST",
      url: "/api/agents/:name/login",
      config: { access: "admin" },
      schema: {
        operationId: "loginAgent",
        tags,
        summary: "Starts the agent's own log-in in a terminal.",
        description:
          "Attach to it as to a session, with the id of the answer: only who holds `admin` can. One log-in of an agent runs at a time; a " +
          "second call answers the same id. It is ended after 15 minutes, or when nobody has watched it for two.",
        params,
        body: emptyInputSchema,
        response: { 200: agentLoginSchema },
      },
      preValidation: async (request) => {
        request.body ??= {};
      },
      handler: async (request) => logins.start(request.params.name),
    });
  };
}
