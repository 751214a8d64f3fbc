import type { z } from "zod";
import type { Principal } from "../accounts/index.ts";
import type { Scope } from "../wire/access.ts";
import type { ToolEffects } from "../wire/tool.ts";
import type { RouteServer } from "./route-server.ts";

/**
 * A tool as every face shows it: the name, what it is for in words for an LLM, its schemas, the scope that it needs at least, and
 * the run. `signal` is aborted when the caller goes away or the gateway stops.
 */
export interface Tool<Input = unknown, Output = unknown> {
  readonly name: string;
  readonly description: string;
  readonly input: z.ZodType<Input>;
  readonly output: z.ZodType<Output>;
  readonly scope: Scope;
  readonly effects: ToolEffects;
  run(input: Input, principal: Principal, signal: AbortSignal): Promise<Output>;
}

/** Adds `POST /api/coding/<name>`. */
export function registerTool(server: RouteServer, tool: Tool): void {
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
