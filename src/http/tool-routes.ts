import type { Principal } from "../accounts/index.ts";
import type { Tool } from "../wire/tool.ts";
import type { RouteServer } from "./route-server.ts";

/** Adds `POST /api/coding/<name>`. */
export function registerTool(server: RouteServer, tool: Tool<Principal>): void {
  const { app, principalOf, signalOf } = server;
  const [summary = tool.name] = tool.description.split(/(?<=\.)\s/, 1);
  app.route({
    method: "POST",
    url: `/api/coding/${tool.name}`,
    config: { access: tool.scope },
    schema: {
      operationId: tool.name,
      tags: ["coding"],
      summary,
      description: tool.description,
      effects: tool.effects,
      body: tool.input,
      response: { 200: tool.output },
    },
    // A tool without required fields may be called without a body.
    preValidation: async (request) => {
      request.body ??= {};
    },
    handler: async (request, reply) => tool.run(request.body, principalOf(request), signalOf(reply)),
  });
}
