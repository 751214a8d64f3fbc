import { z } from "zod";
import type { Principal } from "../accounts/index.ts";
import { type Clock, systemClock } from "../core/clock.ts";
import { messageOf, PosternError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { StreamMessage, StreamOptions, Webhooks } from "../events/index.ts";
import {
  addedWebhookSchema,
  addWebhookInputSchema,
  attemptResultSchema,
  deliveriesQuerySchema,
  deliverySchema,
  eventsQuerySchema,
  retryDeliveriesInputSchema,
  sessionEventSchema,
  webhookSchema,
} from "../wire/events.ts";
import { textSchema } from "../wire/text.ts";
import { beginStream, writePiece } from "./answers.ts";
import { bodyMayBeMissing, type RouteModule, type RouteServer } from "./route-server.ts";

export interface EventRoutesDeps {
  readonly stream: (options: StreamOptions) => AsyncGenerator<StreamMessage, void>;
  /** All ids of a visible session. @throws PosternError `session_not_found` */
  readonly sessionIdsOf: (sessionId: string, principal: Principal, signal: AbortSignal) => Promise<readonly string[]>;
  readonly log: Log;
  readonly clock?: Clock;
  readonly maxStreams?: number;
}

// A client that reads nothing for this long is disconnected; it can continue from its last event.
const stuckMs = 30_000;
// Far more streams than one user's tools open, but few enough to limit memory.
const defaultMaxStreams = 100;
const retryMs = 1_000;

const description = `Server-sent events: \`event\` is the kind, \`id\` the event's id, \`data\` the event as JSON. Send the last id as \`Last-Event-ID\` to
continue without gaps or duplicates. If that event is no longer stored, \`event: reset\` comes first; read the state again. An \`id\`
without data only marks a position. Lines that start with a colon keep the connection alive.`;

/** `GET /api/coding/events`: the event stream. */
export function eventRoutes(deps: EventRoutesDeps): RouteModule {
  const { clock = systemClock, maxStreams = defaultMaxStreams } = deps;
  let open = 0;
  return ({ app, principalOf, signalOf }) => {
    app.route({
      method: "GET",
      url: "/api/coding/events",
      exposeHeadRoute: false, // the response would never end
      config: { access: "coding:read" },
      schema: {
        operationId: "streamEvents",
        tags: ["events"],
        summary: "Streams session events as server-sent events.",
        description,
        querystring: eventsQuerySchema,
        answerType: "text/event-stream",
        response: { 200: sessionEventSchema },
      },
      handler: async (request, reply) => {
        const principal = principalOf(request);
        const { sessionId, lastEventId } = request.query;
        const header = request.headers["last-event-id"];
        const after = (typeof header === "string" && header !== "" ? header : lastEventId) ?? null;
        const signal = signalOf(reply);
        const sessionIds = sessionId === undefined ? null : await deps.sessionIdsOf(sessionId, principal, signal);
        if (open >= maxStreams) {
          throw new PosternError("rate_limited", `The maximum of ${maxStreams} event streams is open. Close one.`);
        }
        open += 1;
        try {
          const raw = beginStream(reply, "text/event-stream; charset=utf-8");
          raw.write(`retry: ${retryMs}\n\n`);
          const messages = deps.stream({ after, sessionIds, within: principal.folders, signal });
          for await (const message of messages) {
            if (!(await writePiece(raw, textOf(message), { signal, clock, stuckMs }))) break;
          }
          raw.end();
        } catch (error) {
          // The response has started, so it can only be cut off. The client reconnects with its last event.
          deps.log.warn({ requestId: request.id, reason: messageOf(error) }, "event stream failed");
          reply.raw.destroy();
        } finally {
          open -= 1;
        }
      },
    });
  };
}

/** @see https://html.spec.whatwg.org/multipage/server-sent-events.html section 9.2.6: an `id` without data is remembered, and dispatches no event */
function textOf(message: StreamMessage): string {
  if (message.kind === "position") return `: still here\nid: ${message.id}\n\n`;
  const sent = message.kind === "event" ? message.event : message.reset;
  return `id: ${sent.id}\nevent: ${sent.kind}\ndata: ${JSON.stringify(sent)}\n\n`;
}

const tags = ["webhooks"];
const params = z.object({ webhookId: textSchema(200) });
const config = { access: "admin" } as const;

const about = `Each event is sent as a JSON POST request and retried with increasing delays for about twenty hours until the receiver returns 2xx.
Retries keep their order where possible and use the same \`webhook-id\`. Requests are signed according to https://www.standardwebhooks.com.`;

/** `/api/webhooks`: URLs that receive events. */
export function webhookRoutes({ webhooks }: { readonly webhooks: Webhooks }): RouteModule {
  return (server) => {
    addWebhookRoutes(server, webhooks);
    addDeliveryRoutes(server, webhooks);
  };
}

function addWebhookRoutes({ app, principalOf }: RouteServer, webhooks: Webhooks): void {
  app.route({
    method: "GET",
    url: "/api/webhooks",
    config,
    schema: {
      operationId: "listWebhooks",
      tags,
      summary: "Lists the account's webhooks, without their secrets.",
      response: { 200: z.object({ webhooks: z.array(webhookSchema) }) },
    },
    handler: async (request) => ({ webhooks: [...(await webhooks.list(principalOf(request)))] }),
  });

  app.route({
    method: "POST",
    url: "/api/webhooks",
    config,
    schema: {
      operationId: "addWebhook",
      tags,
      summary: "Adds a webhook that receives session events. The secret is returned only once.",
      description: about,
      body: addWebhookInputSchema,
      response: { 201: addedWebhookSchema },
    },
    handler: async (request, reply) => reply.code(201).send(await webhooks.add(principalOf(request), request.body)),
  });

  app.route({
    method: "DELETE",
    url: "/api/webhooks/:webhookId",
    config,
    schema: {
      operationId: "removeWebhook",
      tags,
      summary: "Removes a webhook. Queued events are discarded.",
      params,
      response: { 204: z.undefined().describe("Removed") },
    },
    async handler(request, reply) {
      await webhooks.remove(principalOf(request), request.params.webhookId);
      return reply.code(204).send();
    },
  });

  app.route({
    method: "POST",
    url: "/api/webhooks/:webhookId/test",
    config,
    schema: {
      operationId: "testWebhook",
      tags,
      summary: "Sends a `webhook.test` event once and returns the result.",
      params,
      response: { 200: attemptResultSchema },
    },
    handler: async (request) => webhooks.test(principalOf(request), request.params.webhookId),
  });
}

function addDeliveryRoutes({ app, principalOf }: RouteServer, webhooks: Webhooks): void {
  app.route({
    method: "GET",
    url: "/api/webhooks/:webhookId/deliveries",
    config,
    schema: {
      operationId: "listDeliveries",
      tags,
      summary: "Lists delivered, waiting and undeliverable (`state=dead`) events, newest first.",
      params,
      querystring: deliveriesQuerySchema,
      response: { 200: z.object({ deliveries: z.array(deliverySchema) }) },
    },
    handler: async (request) => ({
      deliveries: [...(await webhooks.deliveries(principalOf(request), request.params.webhookId, request.query))],
    }),
  });

  app.route({
    method: "POST",
    url: "/api/webhooks/:webhookId/deliveries/retry",
    config,
    schema: {
      operationId: "retryDeliveries",
      tags,
      summary: "Retries undeliverable events and enables the webhook if it was disabled.",
      params,
      body: retryDeliveriesInputSchema,
      response: { 200: z.object({ retried: z.int() }) },
    },
    preValidation: bodyMayBeMissing,
    async handler(request) {
      const { eventIds = null } = request.body;
      return { retried: await webhooks.retry(principalOf(request), request.params.webhookId, eventIds) };
    },
  });
}
