import { AsyncLocalStorage } from "node:async_hooks";
import {
  type EventStore,
  type JSONRPCMessage,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import type { Principal } from "../accounts/index.ts";
import { hasCode, messageOf } from "../core/errors.ts";
import { newUuid } from "../core/ids.ts";
import type { McpLimits } from "./ports.ts";
import type { ReplayBuffer } from "./replay-buffer.ts";
import { createServer, type ServerDeps } from "./server.ts";
import { createSubscriptions, type SessionUpdates } from "./session-updates.ts";

/** A session of a client of the 2025 specifications. */
export interface ClientSession {
  readonly sessionId: string;
  /** Epoch milliseconds. */
  readonly usedAt: number;
  readonly openStreams: number;
  handle(request: Request, body: unknown, principal: Principal): Promise<Response>;
  /** Ends its streams and its calls. Idempotent. */
  close(): Promise<void>;
}

export interface ClientSessionDeps
  extends ServerDeps,
    Pick<McpLimits, "abandonMs" | "maxSubscriptions" | "maxKeptMessages"> {
  readonly replay: ReplayBuffer;
  readonly updates: SessionUpdates;
}

/** Reconnect delay for clients after a stream ends. */
const retryMs = 1_000;
/** Messages on the stream that belongs to no request. */
const ownMessageSchema = z.looseObject({ method: z.literal("notifications/resources/updated") });
const requestIdSchema = z.union([z.string(), z.number()]);
type RequestId = z.infer<typeof requestIdSchema>;
const requestSchema = z.looseObject({ id: requestIdSchema, method: z.string() });
const cancelledSchema = z.looseObject({
  method: z.literal("notifications/cancelled"),
  params: z.looseObject({ requestId: requestIdSchema }),
});

/** The messages in a body: one, or a batch, which is allowed only in the oldest specification. */
export function messagesOf(body: unknown): readonly unknown[] {
  return Array.isArray(body) ? body : body === undefined ? [] : [body];
}

/** @param onEnd called once when the session ends */
export async function openClientSession(deps: ClientSessionDeps, onEnd: () => void): Promise<ClientSession> {
  const { clock, log } = deps;
  const sessionId = newUuid();
  const streams = createStreams(deps.replay.storeOf(sessionId), deps.maxKeptMessages);
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
  /** Calls whose stream broke, each with a function that cancels its timeout. */
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

  /** Cancels the call as the client would, and ends its stream, which the protocol would leave open. */
  async function cancel(requestId: RequestId, reason: string): Promise<void> {
    transport.onmessage?.({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId, reason } });
    await endStreamOf(requestId);
    streams.end([requestId]);
  }

  async function endStreamOf(id: RequestId): Promise<void> {
    const answer: JSONRPCMessage = { jsonrpc: "2.0", id, error: { code: -32_800, message: "The call was cancelled." } };
    await transport.send(answer).catch(() => undefined); // already answered
  }

  function abandon(ids: readonly RequestId[]): void {
    for (const id of ids) {
      if (ended) return;
      abandoned.get(id)?.();
      abandoned.set(
        id,
        clock.after(deps.abandonMs, () => {
          abandoned.delete(id);
          void cancel(id, "The client disconnected and did not return for the result.");
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

  /**
   * A session ends when the caller that opened it loses access. A call ends when the caller loses access to its folder.
   */
  async function endWithRight(
    { ids, principal }: { readonly ids: readonly RequestId[]; readonly principal: Principal },
    reason: unknown,
  ): Promise<void> {
    if (hasCode(reason, "dir_not_allowed")) {
      for (const id of ids) await cancel(id, reason.message);
      return;
    }
    const gone = hasCode(reason, "unauthenticated");
    if (!gone && !hasCode(reason, "insufficient_scope")) return;
    if (gone && (await mayRenew(deps, principal))) return;
    await close();
  }

  /** The requests answered on the stream: those in the body, or those of the resumed stream. */
  async function requestsOf(request: Request, body: unknown): Promise<readonly RequestId[]> {
    if (request.method === "POST") return requestIdsOf(body);
    const lastEventId = request.headers.get("last-event-id");
    return lastEventId === null ? [] : streams.requestsOf(lastEventId);
  }

  /** A resumed stream also depends on the folders of the original request. */
  async function includeFolders(request: Request, { allowed }: Principal): Promise<void> {
    const lastEventId = request.headers.get("last-event-id");
    const begun = lastEventId === null ? undefined : await streams.principalOf(lastEventId);
    if (begun?.allowed !== undefined) allowed?.include(begun.allowed);
  }

  async function handle(request: Request, body: unknown, principal: Principal): Promise<Response> {
    usedAt = clock.now();
    const { signal } = request;
    const ids = await requestsOf(request, body);
    const owner = { ids, principal };
    if (request.method === "GET") await includeFolders(request, principal);
    signal.addEventListener("abort", () => void endWithRight(owner, signal.reason).catch(close));
    subscriptions.setPrincipal(principal);
    const parsed = body === undefined ? {} : { parsedBody: body };
    const response = await streams.begin(owner, () => transport.handleRequest(request, parsed));
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

/** An authorized app returns with a new access token after the old one expires. */
async function mayRenew(
  { clock, isConnected }: Pick<ClientSessionDeps, "clock" | "isConnected">,
  { accountId, kind, app, expiresAt }: Principal,
): Promise<boolean> {
  if (app !== null) return isConnected(accountId, app.appId);
  return kind === "jwt" && expiresAt !== null && expiresAt <= clock.now();
}

/** Maps streams to the requests that they answer, recorded when the streams start. */
function createStreams(store: EventStore, maxStreams: number) {
  const beginning = new AsyncLocalStorage<{ readonly ids: readonly RequestId[]; readonly principal: Principal }>();
  const requests = new Map<string, readonly RequestId[]>();
  /** Callers of all resumable streams, newest last. */
  const principals = new Map<string, Principal>();
  const observed: EventStore = {
    ...store,
    storeEvent(streamId, message) {
      const begun = beginning.getStore();
      if (begun !== undefined && begun.ids.length > 0 && !ownMessageSchema.safeParse(message).success) {
        requests.set(streamId, begun.ids);
        principals.set(streamId, begun.principal);
        const [oldest] = principals.keys();
        if (principals.size > maxStreams && oldest !== undefined) principals.delete(oldest);
      }
      return store.storeEvent(streamId, message);
    },
  };
  return {
    store: observed,
    begin: <T>(
      of: { readonly ids: readonly RequestId[]; readonly principal: Principal },
      work: () => Promise<T>,
    ): Promise<T> => beginning.run(of, work),
    /** The caller whose request started the stream. */
    async principalOf(eventId: string): Promise<Principal | undefined> {
      return principals.get((await store.getStreamIdForEventId?.(eventId)) ?? "");
    },
    async requestsOf(eventId: string): Promise<readonly RequestId[]> {
      return requests.get((await store.getStreamIdForEventId?.(eventId)) ?? "") ?? [];
    },
    /** Called when everything was sent. */
    end(ids: readonly RequestId[]): void {
      for (const [streamId, its] of requests) if (its.some((id) => ids.includes(id))) requests.delete(streamId);
    },
  };
}

function isEventStream(response: Response): boolean {
  return response.headers.get("content-type")?.startsWith("text/event-stream") === true;
}

/** Wraps the stream and reports its end: complete, or cancelled by the reader. */
function watched(body: ReadableStream<Uint8Array>, onOver: (whole: boolean) => void): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let over = false;
  const report = (whole: boolean): void => {
    if (!over) onOver(whole);
    over = true;
  };
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        report(false);
        throw error;
      });
      if (value !== undefined) controller.enqueue(value);
      if (!done) return;
      report(true);
      controller.close();
    },
    async cancel(reason) {
      report(false);
      await reader.cancel(reason);
    },
  });
}
