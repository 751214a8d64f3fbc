import { z } from "zod";
import type { Principal } from "../../src/accounts/index.ts";
import { type HttpConfig, healthRoutes, type RouteModule, registerTool } from "../../src/http/index.ts";
import type { Tool } from "../../src/wire/tool.ts";
import { startHttpServer } from "./http-server.ts";

/** Says its `text` again. */
export const echo: Tool<Principal, { text: string; more?: { depth: number } | undefined }, { text: string }> = {
  name: "echo",
  title: "Echo",
  description: "Says it again. Nothing more.",
  input: z.strictObject({ text: z.string(), more: z.strictObject({ depth: z.int() }).optional() }),
  output: z.object({ text: z.string() }),
  scope: "coding:write",
  effects: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  quotesTranscripts: false,
  run: async ({ text }) => ({ text }),
};

/** A JSON object with anything in it. */
export const looseSchema = z.looseObject({});

/** A tool that does `run`, whatever it is asked. */
export function toolThat(run: (principal: Principal, signal: AbortSignal) => Promise<unknown>): RouteModule {
  const input = z.strictObject({});
  const tool: Tool<Principal> = {
    name: "act",
    title: "Act",
    description: "Acts.",
    input,
    output: z.unknown(),
    scope: "coding:read",
    effects: echo.effects,
    quotesTranscripts: false,
    run: async (_input, principal, signal) => run(principal, signal),
  };
  return (server) => registerTool(server, tool);
}

const itemRoutes: RouteModule = ({ app }) =>
  app.route({
    method: "GET",
    url: "/api/items/:itemId",
    config: { access: "signed-in" },
    schema: { params: z.object({ itemId: z.string() }), response: { 200: z.object({ itemId: z.string() }) } },
    handler: async (request) => ({ itemId: request.params.itemId }),
  });

/** A server with an echo, an item route and `routes`, and what posts to it with a token that may read and write. */
export async function startEchoServer(routes: readonly RouteModule[] = [], config: Partial<HttpConfig> = {}) {
  const echoRoutes: RouteModule = (server) => registerTool(server, echo);
  const server = await startHttpServer(() => [healthRoutes, itemRoutes, echoRoutes, ...routes], config);
  const headers = await server.signedIn("coding:read", "coding:write");
  /** Posts `body`; a string is sent unchanged, as JSON. */
  const post = async (path: string, body?: string | Uint8Array, more: Readonly<Record<string, string>> = {}) => {
    const type = body === undefined ? {} : { "content-type": "application/json" };
    const answer = await fetch(`${server.url}${path}`, {
      method: "POST",
      headers: { ...headers, ...type, ...more },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : Buffer.from(body) }),
    });
    return { status: answer.status, headers: answer.headers, body: looseSchema.parse(await answer.json()) };
  };
  return { ...server, headers, post, say: (body?: string | Uint8Array) => post("/api/coding/echo", body) };
}
