import { z } from "zod";
import type { Webhooks } from "../events/index.ts";
import {
  addedWebhookSchema,
  addWebhookInputSchema,
  attemptResultSchema,
  deliveriesQuerySchema,
  deliverySchema,
  retryDeliveriesInputSchema,
  webhookSchema,
} from "../wire/events.ts";
import { textSchema } from "../wire/text.ts";
import { bodyMayBeMissing, type RouteModule, type RouteServer } from "./route-server.ts";

const tags = ["webhooks"];
const params = z.object({ webhookId: textSchema(200) });
const config = { access: "admin" } as const;

const about = `Each event is sent as a POST with the event as JSON until the receiver answers 2xx, with growing pauses over about twenty hours, in
order as far as the receiver allows; a repeat bears the same \`webhook-id\`. Requests are signed as https://www.standardwebhooks.com says.`;

/** `/api/webhooks`: addresses that events are sent to. */
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
      summary: "The account's webhooks, without their secrets.",
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
      summary: "Has events of sessions sent to a URL. The answer holds the secret, this one time.",
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
      summary: "Sends nothing more to it, also not what waits.",
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
      summary: "Sends a `webhook.test`, once, and says what came of it.",
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
      summary: "Events that were sent to it, wait for it, or were given up (`state=dead`), the newest first.",
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
      summary: "Sends events again that were given up; a webhook that was disabled is enabled with it.",
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
