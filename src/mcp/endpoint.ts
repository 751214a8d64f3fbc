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

// Far more than one user's tools need, but few enough to limit memory.
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

/** The parts of a message that determine its scope. */
const callSchema = z.looseObject({ method: z.literal("tools/call"), params: z.looseObject({ name: z.string() }) });
const readingSchema = z.looseObject({
  method: z.enum(["resources/read", "resources/subscribe", "subscriptions/listen"]),
});
const listenSchema = z.looseObject({ method: z.literal("subscriptions/listen") });
/** The subscriptions of a stream, validated before the library reads them. */
const filterSchema = z.looseObject({
  params: z.looseObject({
    notifications: z.looseObject({ resourceSubscriptions: z.array(z.string().max(1_000)).optional() }),
  }),
});
const idSchema = z.looseObject({ id: z.union([z.string(), z.number()]) });

/**
 * Serves both versions of the specification: 2026-07-28 per request, 2025 in sessions.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports
 */
export function createEndpoint(deps: McpDeps): Mcp {
  const limits = { ...defaultLimits, ...deps.limits };
  const callers = new WeakMap<Request, Principal>();
  const resources = createSessionResources(deps);
  const updates = createSessionUpdates(deps);
  const principalOf = ({ http }: ServerContext): Principal => {
    const principal = http?.req === undefined ? undefined : callers.get(http.req);
    if (principal === undefined) throw new Error("The request has no caller.");
    return principal;
  };
  const serving = { ...deps, ...limits, listedTools: listTools(deps.tools), resources, principalOf };
  const sessions = createClientSessions({ ...serving, updates, replay: new ReplayBuffer(limits) });
  /** The subscriptions of the stream that is being opened (newer specification). */
  const listening = new AsyncLocalStorage<SessionInterest>();
  const modern = createMcpHandler(() => createServer(serving, null), {
    legacy: "reject",
    responseMode: "sse", // immediate headers and keep-alives: a call can take ten minutes
    maxSubscriptions: limits.maxListening, // of all callers; the HTTP route limits each one
    bus: {
      publish: () => undefined, // updates come from session events
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

/** Runs before the response starts, so that a client can request more scopes. @throws PosternError `insufficient_scope` */
function checkScopes({ tools }: Pick<McpDeps, "tools">, { body, principal }: McpRequest): void {
  for (const message of messagesOf(body)) {
    const call = callSchema.safeParse(message);
    const tool = call.success ? tools.find(({ name }) => name === call.data.params.name) : undefined;
    if (tool !== undefined) requireScope(principal, tool.scope);
    if (readingSchema.safeParse(message).success) requireScope(principal, "coding:read");
  }
}

/** The caller's subscriptions, or an error response if a session is not visible. */
async function interestOf(
  { resources, maxSubscriptions }: { readonly resources: SessionResources } & Pick<McpLimits, "maxSubscriptions">,
  { body, principal, signal }: McpRequest,
): Promise<SessionInterest | Response> {
  const filter = filterSchema.safeParse(body);
  if (!filter.success) return refusal(body, "Invalid `notifications`. See subscriptions/listen.");
  const uris = new Set(filter.data.params.notifications.resourceSubscriptions);
  if (uris.size > maxSubscriptions) return refusal(body, `A stream can have at most ${maxSubscriptions} resources.`);
  const interest = new SessionInterest();
  try {
    for (const uri of uris) interest.add(uri, await resources.idsOf(uri, principal, signal));
    return interest;
  } catch {
    return refusal(body, "A resource was not found, or you don't have access to it.");
  }
}

function refusal(body: unknown, message: string): Response {
  const id = idSchema.safeParse(body).data?.id ?? null;
  return Response.json({ jsonrpc: "2.0", error: { code: -32_602, message }, id });
}

/** Passes on only the protocol's headers, never credentials. */
function requestOf({ method, headers, signal }: McpRequest): Request {
  const known = [...headers].filter(
    ([name]) => ["accept", "content-type", "last-event-id"].includes(name) || name.startsWith("mcp-"),
  );
  return new Request("http://localhost/mcp", { method, headers: known, signal });
}

/** Sessions of clients of the 2025 specifications. */
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

  /** The session that has been idle longest; undefined if all have open streams. */
  function leftLongest(held: readonly Held[]): ClientSession | undefined {
    const idle = held.map(({ session }) => session).filter(({ openStreams }) => openStreams === 0);
    return idle.toSorted((a, b) => a.usedAt - b.usedAt)[0];
  }

  /** Clients that never end their sessions open a new one each time, so the oldest is closed. */
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
        `The maximum of ${crowd.length} MCP sessions is open. End one with DELETE.`,
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
    if (!response.ok) await opened.close(); // initialization failed
    return response;
  }

  return {
    async handle(request, body, principal) {
      const sessionId = request.headers.get("mcp-session-id");
      if (sessionId === null) {
        const begins = request.method === "POST" && messagesOf(body).some((message) => isInitializeRequest(message));
        if (begins) return open(request, body, principal);
        return refusedSession(
          400,
          -32_000,
          "The header Mcp-Session-Id is missing. Send the value returned by `initialize`.",
        );
      }
      const held = sessions.get(sessionId);
      if (held?.owner === callerOf(principal)) return held.session.handle(request, body, principal);
      return refusedSession(404, -32_001, "Session not found. Start a new one with `initialize`.");
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
