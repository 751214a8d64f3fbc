import { AsyncLocalStorage } from "node:async_hooks";
import { createMcpHandler, isLegacyRequest, type ServerContext } from "@modelcontextprotocol/server";
import { z } from "zod";
import { type Principal, requireScope } from "../accounts/index.ts";
import { messagesOf } from "./client-session.ts";
import { createClientSessions } from "./client-sessions.ts";
import type { Mcp, McpDeps, McpLimits, McpRequest } from "./ports.ts";
import { ReplayBuffer } from "./replay-buffer.ts";
import { createSessionResources, type SessionResources } from "./resources.ts";
import { createServer, listTools } from "./server.ts";
import { createSessionUpdates, SessionInterest } from "./session-updates.ts";

const mebibyte = 1024 * 1024;

// Ours: far more than a person's tools open, few enough to leave memory for others.
const defaultLimits: McpLimits = {
  maxSessions: 200,
  maxSessionsOfCaller: 50,
  idleMs: 30 * 60_000,
  abandonMs: 60_000,
  maxKeptMessages: 1_000,
  maxKeptBytes: 8 * mebibyte,
  maxKeptBytesOfAll: 64 * mebibyte,
  progressMs: 3_000,
  maxSubscriptions: 100,
  maxListening: 400,
};

/** What of a message says which scope it needs. */
const callSchema = z.looseObject({ method: z.literal("tools/call"), params: z.looseObject({ name: z.string() }) });
const readingSchema = z.looseObject({
  method: z.enum(["resources/read", "resources/subscribe", "subscriptions/listen"]),
});
const listenSchema = z.looseObject({ method: z.literal("subscriptions/listen") });
/** What may be listened to. What does not fit is refused, whatever else reads it later. */
const filterSchema = z.looseObject({
  params: z.looseObject({
    notifications: z.looseObject({ resourceSubscriptions: z.array(z.string().max(1_000)).optional() }),
  }),
});
const idSchema = z.looseObject({ id: z.union([z.string(), z.number()]) });

/**
 * Serves both families of the specification at one address: 2026-07-28 by the request alone, those of 2025 in sessions.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports
 */
export function createEndpoint(deps: McpDeps): Mcp {
  const limits = { ...defaultLimits, ...deps.limits };
  const callers = new WeakMap<Request, Principal>();
  const resources = createSessionResources(deps);
  const updates = createSessionUpdates(deps);
  const principalOf = ({ http }: ServerContext): Principal => {
    const principal = http?.req === undefined ? undefined : callers.get(http.req);
    if (principal === undefined) throw new Error("A request without a caller.");
    return principal;
  };
  const serving = { ...deps, ...limits, listedTools: listTools(deps.tools), resources, principalOf };
  const sessions = createClientSessions({ ...serving, updates, replay: new ReplayBuffer(limits) });
  /** Whose interest it is while a stream of the newer specification is begun. */
  const listening = new AsyncLocalStorage<SessionInterest>();
  const modern = createMcpHandler(() => createServer(serving, null), {
    legacy: "reject",
    responseMode: "sse", // headers at once, and signs of life: a call may take ten minutes
    maxSubscriptions: limits.maxListening, // of all callers; who keeps a stream open is counted at the door
    bus: {
      publish: () => undefined, // all updates come from the events
      subscribe(listener) {
        const interest = listening.getStore() ?? new SessionInterest();
        return updates.subscribe((update) => {
          for (const uri of interest.urisOf(update)) listener({ kind: "resource_updated", uri });
        });
      },
    },
    onerror: ({ message }) => deps.log.debug({ reason: message }, "an MCP request"),
  });

  return {
    async handle(incoming) {
      const { body, principal } = incoming;
      checkScopes(deps, incoming);
      const request = requestOf(incoming);
      callers.set(request, principal);
      if (await isLegacyRequest(request, body)) return sessions.handle(request, body, principal);
      if (!listenSchema.safeParse(body).success) return modern.fetch(request, { parsedBody: body });
      const interest = await interestOf({ ...limits, resources }, incoming);
      return interest instanceof Response
        ? interest
        : listening.run(interest, () => modern.fetch(request, { parsedBody: body }));
    },
    async close() {
      updates.close();
      await Promise.all([modern.close(), sessions.close()]);
    },
  };
}

/** Before anything is answered, so that a client can ask its user for more. @throws PosternError `insufficient_scope` */
function checkScopes({ tools }: Pick<McpDeps, "tools">, { body, principal }: McpRequest): void {
  for (const message of messagesOf(body)) {
    const call = callSchema.safeParse(message);
    const tool = call.success ? tools.find(({ name }) => name === call.data.params.name) : undefined;
    if (tool !== undefined) requireScope(principal, tool.scope);
    if (readingSchema.safeParse(message).success) requireScope(principal, "coding:read");
  }
}

/** A stream of updates is for sessions that its caller may see. @returns the answer that refuses it, otherwise */
async function interestOf(
  { resources, maxSubscriptions }: { readonly resources: SessionResources } & Pick<McpLimits, "maxSubscriptions">,
  { body, principal, signal }: McpRequest,
): Promise<SessionInterest | Response> {
  const filter = filterSchema.safeParse(body);
  if (!filter.success) return refusal(body, "`notifications` does not fit: see subscriptions/listen.");
  const uris = new Set(filter.data.params.notifications.resourceSubscriptions);
  if (uris.size > maxSubscriptions) return refusal(body, `${maxSubscriptions} resources are the most of a stream.`);
  const interest = new SessionInterest();
  try {
    for (const uri of uris) interest.add(uri, await resources.idsOf(uri, principal, signal));
    return interest;
  } catch {
    return refusal(body, "One of these resources is not there, or not yours to see.");
  }
}

function refusal(body: unknown, message: string): Response {
  const id = idSchema.safeParse(body).data?.id ?? null;
  return Response.json({ jsonrpc: "2.0", error: { code: -32_602, message }, id });
}

/** Headers that a server of the protocol reads; never the caller's credentials. */
function requestOf({ method, headers, signal }: McpRequest): Request {
  const known = [...headers].filter(
    ([name]) => ["accept", "content-type", "last-event-id"].includes(name) || name.startsWith("mcp-"),
  );
  return new Request("http://localhost/mcp", { method, headers: known, signal });
}
