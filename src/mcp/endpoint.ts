import { AsyncLocalStorage } from "node:async_hooks";
import {
  createMcpHandler,
  isInitializeRequest,
  isLegacyRequest,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { callerOf, type Principal, requireScope } from "../accounts/index.ts";
import { PosternError } from "../core/errors.ts";
import { type ClientSession, type ClientSessionDeps, messagesOf, openClientSession } from "./client-session.ts";
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

/** Keeps the sessions of clients of the 2025 specifications. */
export interface ClientSessions {
  handle(request: Request, body: unknown, principal: Principal): Promise<Response>;
  close(): Promise<void>;
}

interface Held {
  readonly owner: string;
  readonly session: ClientSession;
}

const sweepMs = 60_000;

export function createClientSessions(
  deps: ClientSessionDeps & Pick<McpLimits, "maxSessions" | "maxSessionsOfCaller" | "idleMs">,
): ClientSessions {
  const { clock } = deps;
  const sessions = new Map<string, Held>();
  let opening = 0;
  let stopSweeping: (() => void) | undefined;

  function sweepLater(): void {
    stopSweeping ??= clock.after(sweepMs, () => {
      stopSweeping = undefined;
      for (const { session } of sessions.values()) {
        if (session.openStreams === 0 && clock.now() - session.usedAt >= deps.idleMs) void session.close();
      }
      if (sessions.size > 0) sweepLater();
    });
  }

  /** The one of these that was left longest; none while each holds a stream open. */
  function leftLongest(held: readonly Held[]): ClientSession | undefined {
    const idle = held.map(({ session }) => session).filter(({ openStreams }) => openStreams === 0);
    return idle.toSorted((a, b) => a.usedAt - b.usedAt)[0];
  }

  /** A client that never says goodbye starts anew each time: its oldest session makes room. */
  async function makeRoom(owner: string): Promise<void> {
    const mine = [...sessions.values()].filter((held) => held.owner === owner);
    const full = mine.length >= deps.maxSessionsOfCaller ? mine : null;
    const fullForAll = sessions.size + opening >= deps.maxSessions ? [...sessions.values()] : null;
    const crowd = full ?? fullForAll;
    if (crowd === null) return;
    const leaving = leftLongest(crowd);
    if (leaving === undefined) {
      throw new PosternError(
        "rate_limited",
        `${crowd.length} MCP sessions are open, the most allowed. End one (DELETE).`,
      );
    }
    await leaving.close();
  }

  async function open(request: Request, body: unknown, principal: Principal): Promise<Response> {
    const owner = callerOf(principal);
    await makeRoom(owner);
    opening += 1;
    let opened: ClientSession | undefined;
    try {
      opened = await openClientSession(deps, () => {
        if (opened !== undefined) sessions.delete(opened.sessionId);
      });
      sessions.set(opened.sessionId, { owner, session: opened });
    } finally {
      opening -= 1;
    }
    sweepLater();
    const response = await opened.handle(request, body, principal);
    if (!response.ok) await opened.close(); // it did not come to be
    return response;
  }

  return {
    async handle(request, body, principal) {
      const sessionId = request.headers.get("mcp-session-id");
      if (sessionId === null) {
        const begins = request.method === "POST" && messagesOf(body).some((message) => isInitializeRequest(message));
        if (begins) return open(request, body, principal);
        return refusedSession(400, -32_000, "Send the header Mcp-Session-Id, as the answer to `initialize` gave it.");
      }
      const held = sessions.get(sessionId);
      if (held?.owner === callerOf(principal)) return held.session.handle(request, body, principal);
      return refusedSession(404, -32_001, "Session not found. Begin a new one with `initialize`.");
    },
    async close() {
      stopSweeping?.();
      await Promise.all([...sessions.values()].map(({ session }) => session.close()));
    },
  };
}

function refusedSession(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: "2.0", error: { code, message }, id: null }, { status });
}
