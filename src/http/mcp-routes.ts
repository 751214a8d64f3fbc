import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { callerOf, type Principal } from "../accounts/index.ts";
import { type Clock, systemClock } from "../core/clock.ts";
import { isPosternError, messageOf, PosternError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { beginStream, writePiece } from "./answers.ts";
import type { RouteModule } from "./route-server.ts";

export interface McpRoutesDeps {
  readonly handle: (request: {
    readonly method: "GET" | "POST" | "DELETE";
    readonly headers: Headers;
    readonly body: unknown;
    readonly principal: Principal;
    readonly signal: AbortSignal;
  }) => Promise<Response>;
  readonly log: Log;
  readonly clock?: Clock;
  readonly maxOpen?: number;
  readonly maxOpenOfCaller?: number;
}

// A client that reads nothing for this long is disconnected; it can continue from its last message.
const stuckMs = 30_000;
// Maximum open calls and streams, in total and per caller.
const defaultMaxOpen = 400;
const defaultMaxOpenOfCaller = 100;

/** The protocol's response headers. */
const passedOn = ["mcp-session-id", "x-accel-buffering", "allow"];

/** `/mcp`: the Model Context Protocol over Streamable HTTP. Not part of the OpenAPI document. */
export function mcpRoutes(deps: McpRoutesDeps): RouteModule {
  const { clock = systemClock, maxOpen = defaultMaxOpen, maxOpenOfCaller = defaultMaxOpenOfCaller } = deps;
  const open = new Map<string, number>();

  function enter(principal: Principal): () => void {
    const caller = callerOf(principal);
    const mine = open.get(caller) ?? 0;
    const all = [...open.values()].reduce((sum, count) => sum + count, 0);
    if (mine >= maxOpenOfCaller || all >= maxOpen) {
      throw new PosternError("rate_limited", "Too many MCP calls and streams are open. Close some, then retry.");
    }
    open.set(caller, mine + 1);
    return () => {
      const left = (open.get(caller) ?? 1) - 1;
      if (left === 0) open.delete(caller);
      else open.set(caller, left);
    };
  }

  return ({ app, principalOf, recheck, signalOf }) => {
    async function answer(
      method: "GET" | "POST" | "DELETE",
      request: FastifyRequest,
      reply: FastifyReply,
    ): Promise<void> {
      const principal = principalOf(request);
      const leave = enter(principal);
      const signal = signalOf(reply);
      try {
        const headers = headersOf(request);
        const response = await deps.handle({ method, headers, body: request.body, principal, signal });
        // A resumed stream carries the response to an earlier request.
        if (method === "GET") await recheck(request).catch(() => undefined); // the signal has the reason
        if (signal.aborted) {
          await response.body?.cancel(); // releases its resources
          throw signal.reason;
        }
        for (const name of passedOn) {
          const value = response.headers.get(name);
          if (value !== null) void reply.header(name, value);
        }
        const type = response.headers.get("content-type");
        if (type?.startsWith("text/event-stream") === true && response.body !== null) {
          await stream(response.body, { request, reply, signal });
          return;
        }
        const text = await response.text();
        void reply.code(response.status);
        if (type === null || text === "") await reply.send();
        else await reply.type(type).send(text);
      } finally {
        leave();
      }
    }

    async function stream(
      body: ReadableStream<Uint8Array>,
      {
        request,
        reply,
        signal,
      }: { readonly request: FastifyRequest; readonly reply: FastifyReply; readonly signal: AbortSignal },
    ): Promise<void> {
      // Compressing or buffering proxies would delay messages.
      void reply.header("cache-control", "no-store, no-transform");
      const raw = beginStream(reply, "text/event-stream; charset=utf-8");
      raw.flushHeaders();
      const reader = body.getReader();
      const onAbort = (): void => void reader.cancel(signal.reason).catch(() => undefined);
      signal.addEventListener("abort", onAbort, { once: true });
      const decoder = new TextDecoder();
      try {
        for (let next = await reader.read(); !next.done; next = await reader.read()) {
          const text = decoder.decode(next.value, { stream: true });
          if (!(await writePiece(raw, text, { signal, clock, stuckMs }))) break;
        }
        // The connection is not reused after the gateway stops or the caller loses access.
        raw.end(signal.aborted ? finalError(request, signal.reason) : "", () => {
          if (signal.aborted) raw.socket?.end();
        });
      } catch (error) {
        // The response has started, so it can only be cut off.
        deps.log.warn({ reason: messageOf(error) }, "MCP stream failed");
        raw.destroy();
      } finally {
        signal.removeEventListener("abort", onAbort);
        await reader.cancel().catch(() => undefined);
      }
    }

    for (const method of ["GET", "POST", "DELETE"] as const) {
      app.route({
        method,
        url: "/mcp",
        exposeHeadRoute: false,
        config: { access: "signed-in", resource: "mcp" },
        schema: { hide: true },
        handler: async (request, reply) => answer(method, request, reply),
      });
    }
  };
}

const requestSchema = z.looseObject({ id: z.union([z.string(), z.number()]), method: z.string() });

/** Final error for a client without a session, which cannot fetch the result later: some clients do not treat a stream's end as an error. */
function finalError({ headers, body }: FastifyRequest, reason: unknown): string {
  const request = requestSchema.safeParse(body);
  if (!request.success || headers["mcp-session-id"] !== undefined) return "";
  const code = isPosternError(reason) ? reason.code : "internal_error";
  const error = { code: -32_000, message: `${code}: ${messageOf(reason)}` };
  return `event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", id: request.data.id, error })}\n\n`;
}

function headersOf({ headers }: FastifyRequest): Headers {
  return new Headers(
    Object.entries(headers).flatMap(([name, value]): [string, string][] =>
      typeof value === "string" ? [[name, value]] : [],
    ),
  );
}
