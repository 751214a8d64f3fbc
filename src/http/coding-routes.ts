import type { Principal } from "../accounts/index.ts";
import { type SpawnInput, type SpawnOutput, spawnInputSchema, spawnOutputSchema } from "../wire/coding.ts";
import type { Tool } from "../wire/tool.ts";
import type { RouteModule } from "./route-server.ts";
import { registerTool } from "./tool-routes.ts";

/** The coding tools, and the terminal routes of the web application. */
export function codingRoutes(deps: {
  readonly tools: readonly Tool<Principal>[];
  readonly spawn: (input: SpawnInput, principal: Principal, signal: AbortSignal) => Promise<SpawnOutput>;
}): RouteModule {
  return (server) => {
    for (const tool of deps.tools) registerTool(server, tool);
    const { app, principalOf, signalOf } = server;
    app.route({
      method: "POST",
      url: "/api/coding/spawn",
      config: { access: "coding:write" },
      schema: {
        operationId: "spawn",
        tags: ["coding"],
        summary: "Allocates or resumes a terminal without sending a prompt.",
        body: spawnInputSchema,
        response: { 200: spawnOutputSchema },
      },
      handler: async (request, reply) => deps.spawn(request.body, principalOf(request), signalOf(reply)),
    });
  };
}
