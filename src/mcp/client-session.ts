import { AsyncLocalStorage } from "node:async_hooks";
import {
  type EventStore,
  type JSONRPCMessage,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import type { Principal } from "../accounts/index.ts";
import { hasCode, messageOf, PosternError } from "../core/errors.ts";
import { newUuid } from "../core/ids.ts";
import type { McpLimits } from "./ports.ts";
import type { ReplayBuffer } from "./replay-buffer.ts";
import { createServer, type ServerDeps } from "./server.ts";
import { SessionInterest } from "./session-interest.ts";
import type { SessionUpdates } from "./session-updates.ts";

/** A session of a client of the 2025 specifications, as far as its keeper needs to know it. */
export interface ClientSession {
  readonly sessionId: string;
  /** Epoch milliseconds. */
  readonly usedAt: number;
  readonly openStreams: number;
  handle(request: Request, body: unknown, principal: Principal): Promise<Response>;
  /** Ends its streams and its calls. Idempotent. */
  close(): Promise<void>;
}

/** What a {@link ClientSession} needs. */
export interface ClientSessionDeps extends ServerDeps, Pick<McpLimits, "abandonMs" | "maxSubscriptions"> {
  readonly replay: ReplayBuffer;
  readonly updates: SessionUpdates;
}

/** How soon a client comes back after a stream ended. */
const retryMs = 1_000;
/** What is told on the stream that belongs to no request. */
const ownMessageSchema = z.looseObject({ method: z.literal("notifications/resources/updated") });
const requestIdSchema = z.union([z.string(), z.number()]);
type RequestId = z.infer<typeof requestIdSchema>;
const requestSchema = z.looseObject({ id: requestIdSchema, method: z.string() });
const cancelledSchema = z.looseObject({
  method: z.literal("notifications/cancelled"),
  params: z.looseObject({ requestId: requestIdSchema }),
});

/** The messages of a body: one, or a batch of the oldest specification. */
export function messagesOf(body: unknown): readonly unknown[] {
  return Array.isArray(body) ? body : body === undefined ? [] : [body];
}

/** @param onEnd called once, when it has ended for whatever reason */
export async function openClientSession(deps: ClientSessionDeps, onEnd: () => void): Promise<ClientSession> {
  const { clock, log } = deps;
  const sessionId = newUuid();
  const streams = createStreams(deps.replay.storeOf(sessionId));
  const subscriptions = createSubscriptions(
    deps,
    (uri) => void mcp.server.sendResourceUpdated({ uri }).catch(logTrouble),
  );
  const mcp = createServer(deps, subscriptions);
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: () => sessionId,
    eventStore: streams.store,
    retryInterval: retryMs,
  });
  /** Calls whose stream broke, each with what stops its end. */
  const abandoned = new Map<RequestId, () => void>();
  let usedAt = clock.now();
  let openStreams = 0;
  let ended = false;

  function logTrouble(error: unknown): void {
    log.debug({ reason: messageOf(error) }, "an MCP session");
  }

  function end(): void {
    if (ended) return;
    ended = true;
    for (const keep of abandoned.values()) keep();
    subscriptions.clear();
    deps.replay.forget(sessionId);
    onEnd();
  }

  async function close(): Promise<void> {
    end();
    await mcp.close();
  }

  /** As if the client had cancelled it; and its stream gets an end, which the protocol leaves open. */
  async function cancel(requestId: RequestId, reason: string): Promise<void> {
    transport.onmessage?.({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId, reason } });
    await endStreamOf(requestId);
    streams.end([requestId]);
  }

  async function endStreamOf(id: RequestId): Promise<void> {
    const answer: JSONRPCMessage = { jsonrpc: "2.0", id, error: { code: -32_800, message: "The call was cancelled." } };
    await transport.send(answer).catch(() => undefined); // it was answered before
  }

  function abandon(ids: readonly RequestId[]): void {
    for (const id of ids) {
      if (ended) return;
      abandoned.get(id)?.();
      abandoned.set(
        id,
        clock.after(deps.abandonMs, () => {
          abandoned.delete(id);
          void cancel(id, "The connection broke and nobody came back for the answer.");
        }),
      );
    }
  }

  function comeBack(ids: readonly RequestId[]): void {
    for (const id of ids) {
      abandoned.get(id)?.();
      abandoned.delete(id);
    }
  }

  /** It belongs to who opened it; when they may not come in any more, nothing of it goes on. */
  async function endWithRight(principal: Principal, reason: unknown): Promise<void> {
    const gone = hasCode(reason, "unauthenticated");
    if (!gone && !hasCode(reason, "insufficient_scope")) return;
    if (gone && (await mayRenew(deps, principal))) return;
    await close();
  }

  /** The requests whose answers the stream carries: those of the body, or those of the stream that is resumed. */
  async function requestsOf(request: Request, body: unknown): Promise<readonly RequestId[]> {
    if (request.method === "POST") return requestIdsOf(body);
    const lastEventId = request.headers.get("last-event-id");
    return lastEventId === null ? [] : streams.requestsOf(lastEventId);
  }

  async function handle(request: Request, body: unknown, principal: Principal): Promise<Response> {
    usedAt = clock.now();
    const { signal } = request;
    signal.addEventListener("abort", () => void endWithRight(principal, signal.reason).catch(close));
    const ids = await requestsOf(request, body);
    const parsed = body === undefined ? {} : { parsedBody: body };
    const response = await streams.begin(ids, () => transport.handleRequest(request, parsed));
    for (const message of messagesOf(body)) {
      const cancelled = cancelledSchema.safeParse(message);
      if (cancelled.success) await endStreamOf(cancelled.data.params.requestId);
    }
    if (request.method === "DELETE" && response.ok) end();
    if (response.body === null || !isEventStream(response)) return response;
    if (request.method === "GET") comeBack(ids);
    openStreams += 1;
    const stream = watched(response.body, (whole) => {
      openStreams -= 1;
      usedAt = clock.now();
      if (whole) streams.end(ids);
      else abandon(ids);
    });
    return new Response(stream, { status: response.status, headers: response.headers });
  }

  Object.assign(mcp.server, { onerror: logTrouble, onclose: end });
  await mcp.connect(transport);
  return {
    sessionId,
    get usedAt() {
      return usedAt;
    },
    get openStreams() {
      return openStreams;
    },
    handle,
    close,
  };
}

function requestIdsOf(body: unknown): readonly RequestId[] {
  return messagesOf(body).flatMap((message) => {
    const request = requestSchema.safeParse(message);
    return request.success ? [request.data.id] : [];
  });
}

/** Access tokens are short-lived, and what they were given for goes on: an app comes back with the next one while it is let in. */
async function mayRenew(
  { clock, isConnected }: Pick<ClientSessionDeps, "clock" | "isConnected">,
  { accountId, kind, app, expiresAt }: Principal,
): Promise<boolean> {
  if (app !== null) return isConnected(accountId, app.appId);
  return kind === "jwt" && expiresAt !== null && expiresAt <= clock.now();
}

/** Which requests the streams of a session answer, known by what was stored while they were begun. */
function createStreams(store: EventStore) {
  const beginning = new AsyncLocalStorage<readonly RequestId[]>();
  const requests = new Map<string, readonly RequestId[]>();
  const told: EventStore = {
    ...store,
    storeEvent(streamId, message) {
      const ids = beginning.getStore() ?? [];
      if (ids.length > 0 && !ownMessageSchema.safeParse(message).success) requests.set(streamId, ids);
      return store.storeEvent(streamId, message);
    },
  };
  return {
    store: told,
    begin: <T>(ids: readonly RequestId[], work: () => Promise<T>): Promise<T> => beginning.run(ids, work),
    async requestsOf(eventId: string): Promise<readonly RequestId[]> {
      return requests.get((await store.getStreamIdForEventId?.(eventId)) ?? "") ?? [];
    },
    /** Everything was told. */
    end(ids: readonly RequestId[]): void {
      for (const [streamId, its] of requests) if (its.some((id) => ids.includes(id))) requests.delete(streamId);
    },
  };
}

function isEventStream(response: Response): boolean {
  return response.headers.get("content-type")?.startsWith("text/event-stream") === true;
}

/** The same stream, and a word when it is over: whole, or because its reader went. */
function watched(body: ReadableStream<Uint8Array>, onOver: (whole: boolean) => void): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let over = false;
  const tell = (whole: boolean): void => {
    if (!over) onOver(whole);
    over = true;
  };
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        tell(false);
        throw error;
      });
      if (value !== undefined) controller.enqueue(value);
      if (!done) return;
      tell(true);
      controller.close();
    },
    async cancel(reason) {
      tell(false);
      await reader.cancel(reason);
    },
  });
}

/** What one session subscribed to. */
function createSubscriptions(
  { updates, maxSubscriptions }: Pick<ClientSessionDeps, "updates" | "maxSubscriptions">,
  onUpdate: (uri: string) => void,
) {
  const wanted = new SessionInterest();
  let stop: (() => void) | undefined;
  return {
    add(uri: string, sessionIds: readonly string[]): void {
      if (wanted.size >= maxSubscriptions && !wanted.has(uri)) {
        throw new PosternError(
          "rate_limited",
          `${maxSubscriptions} sessions are subscribed to, the most allowed. Leave one.`,
        );
      }
      wanted.add(uri, sessionIds);
      stop ??= updates.subscribe((update) => {
        for (const subscribed of wanted.urisOf(update)) onUpdate(subscribed);
      });
    },
    remove(uri: string): void {
      wanted.remove(uri);
      if (wanted.size > 0) return;
      stop?.();
      stop = undefined;
    },
    clear(): void {
      wanted.clear();
      stop?.();
      stop = undefined;
    },
  };
}
