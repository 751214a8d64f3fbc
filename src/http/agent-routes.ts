import { z } from "zod";
import type { Accounts } from "../accounts/index.ts";
import { type ConfigureAgentInput, configureAgentInputSchema } from "../wire/changes.ts";
import { type ListAgentsOutput, listAgentsOutputSchema } from "../wire/coding.ts";
import { textSchema } from "../wire/text.ts";
import type { RouteModule } from "./route-server.ts";

const tags = ["agents"];
const params = z.strictObject({ name: textSchema(100).describe("Agent name or alias.") });

/** What {@link agentRoutes} needs. */
export interface AgentRoutesDeps {
  readonly list: () => Promise<ListAgentsOutput>;
  readonly change: (name: string, input: ConfigureAgentInput) => Promise<void>;
  readonly remove: (name: string) => Promise<void>;
  readonly audit: Pick<Accounts["audit"], "note">;
}

/** `/api/agents`: which agents there are, and which of them are configured. */
export function agentRoutes({ list, change, remove, audit }: AgentRoutesDeps): RouteModule {
  return ({ app, principalOf, originOf }) => {
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
        const { name } = request.params;
        const { binary, isDefault } = request.body;
        await change(name, request.body);
        await audit.note({
          action: "agent_configured",
          accountId: principalOf(request).accountId,
          subject: name,
          details: {
            ...(binary == null ? {} : { program: binary }),
            ...(isDefault === true ? { default: "yes" } : {}),
          },
          from: originOf(request),
        });
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
        await audit.note({
          action: "agent_removed",
          accountId: principalOf(request).accountId,
          subject: request.params.name,
          details: {},
          from: originOf(request),
        });
        return list();
      },
    });
  };
}
