import { z } from "zod";
import type { Accounts, Principal } from "../accounts/index.ts";
import { PosternError } from "../core/errors.ts";
import type { Push, Subscriber, SubscriptionOwner } from "../push/index.ts";
import {
  addPushSubscriptionInputSchema,
  pushActionInputSchema,
  pushActionOutputSchema,
  pushPreferencesSchema,
  pushSubscriptionSchema,
  pushSubscriptionsSchema,
  pushTestOutputSchema,
  setPushPreferencesInputSchema,
} from "../wire/push.ts";
import { textSchema } from "../wire/text.ts";
import type { RouteModule, RouteServer } from "./route-server.ts";

export interface PushRoutesDeps {
  readonly push: Push;
  readonly audit: Accounts["audit"];
}

const tags = ["notifications"];
const params = z.strictObject({ subscriptionId: textSchema(200) });
const about = `Notifications go to each subscribed browser of an account that can read the session. They contain only ids and the kind, unless the preferences add more. A browser's notifications end when it is signed out, or when the token that subscribed it is revoked.`;

/** `/api/push`: notifications in browsers. */
export function pushRoutes(deps: PushRoutesDeps): RouteModule {
  return (server) => {
    addSubscriptions(server, deps);
    addTest(server, deps);
    addPreferences(server, deps);
    addPresence(server, deps);
    addActions(server, deps);
  };
}

function addSubscriptions({ app, principalOf, actorOf }: RouteServer, { push, audit }: PushRoutesDeps): void {
  app.route({
    method: "GET",
    url: "/api/push/subscriptions",
    config: { access: "coding:read" },
    schema: {
      operationId: "listPushSubscriptions",
      tags,
      summary: "Lists the account's browsers that receive notifications, and the gateway's public key.",
      response: { 200: pushSubscriptionsSchema },
    },
    handler: async (request) => ({
      publicKey: await push.publicKey(),
      subscriptions: [...(await push.list(ownerOf(principalOf(request))))],
    }),
  });

  app.route({
    method: "POST",
    url: "/api/push/subscriptions",
    config: { access: "coding:read" },
    schema: {
      operationId: "addPushSubscription",
      tags,
      summary: "Subscribes a browser to notifications. Repeating it for the same browser updates its subscription.",
      description: about,
      body: addPushSubscriptionInputSchema,
      response: { 201: pushSubscriptionSchema },
    },
    handler: async (request, reply) => {
      const added = await push.subscribe(subscriberOf(principalOf(request)), request.body);
      const { subscriptionId: subject, name, service } = added;
      await audit.note({ ...actorOf(request), action: "notifications_on", subject, details: { name, service } });
      return reply.code(201).send(added);
    },
  });

  app.route({
    method: "DELETE",
    url: "/api/push/subscriptions/:subscriptionId",
    config: { access: "coding:read" },
    schema: {
      operationId: "removePushSubscription",
      tags,
      summary: "Ends the notifications of a browser.",
      params,
      response: { 204: z.undefined().describe("Removed") },
    },
    handler: async (request, reply) => {
      const { subscriptionId: subject } = request.params;
      await push.remove(ownerOf(principalOf(request)), subject);
      await audit.note({ ...actorOf(request), action: "notifications_off", subject, details: {} });
      return reply.code(204).send();
    },
  });
}

function addTest({ app, principalOf }: RouteServer, { push }: PushRoutesDeps): void {
  app.route({
    method: "POST",
    url: "/api/push/subscriptions/:subscriptionId/test",
    config: { access: "coding:read" },
    schema: {
      operationId: "testPushSubscription",
      tags,
      summary: "Sends a test notification to a browser, and returns the response of its push service.",
      params,
      response: { 200: pushTestOutputSchema },
    },
    handler: async (request) => push.test(ownerOf(principalOf(request)), request.params.subscriptionId),
  });
}

function addPreferences({ app, principalOf }: RouteServer, { push }: PushRoutesDeps): void {
  app.route({
    method: "GET",
    url: "/api/push/preferences",
    config: { access: "own" },
    schema: {
      operationId: "getPushPreferences",
      tags,
      summary: "Returns the account's notification preferences.",
      response: { 200: pushPreferencesSchema },
    },
    handler: async (request) => push.preferences(principalOf(request).accountId),
  });

  app.route({
    method: "PUT",
    url: "/api/push/preferences",
    config: { access: "own" },
    schema: {
      operationId: "setPushPreferences",
      tags,
      summary: "Sets the account's notification preferences.",
      body: setPushPreferencesInputSchema,
      response: { 200: pushPreferencesSchema },
    },
    handler: async (request) => {
      const { accountId } = principalOf(request);
      await push.setPreferences(accountId, request.body);
      return push.preferences(accountId);
    },
  });
}

function addPresence({ app, principalOf }: RouteServer, { push }: PushRoutesDeps): void {
  app.route({
    method: "POST",
    url: "/api/push/presence",
    config: { access: "coding:read" },
    schema: {
      operationId: "notePushPresence",
      tags,
      summary:
        "Reports that a page is visible on a desktop browser. For the next 90 seconds, notifications are delayed by `desktopDelaySeconds`.",
      response: { 204: z.undefined().describe("Noted") },
    },
    handler: async (request, reply) => {
      const principal = principalOf(request);
      refuseApps(principal);
      push.notePresence(principal.accountId);
      return reply.code(204).send();
    },
  });
}

function addActions({ app, ownPageOf, originOf, checkFailures }: RouteServer, { push, audit }: PushRoutesDeps): void {
  app.route({
    method: "POST",
    url: "/api/push/actions",
    // The token is the credential, because the browser's service worker has no other.
    config: { access: "public", limit: "pushAction" },
    schema: {
      operationId: "takePushAction",
      tags,
      summary: "Allows or denies a permission request from a notification, with its single-use token.",
      description:
        "Only for the gateway's own service worker; other origins are refused. The account needs the scope `coding:drive` at that time.",
      body: pushActionInputSchema,
      response: { 200: pushActionOutputSchema },
    },
    handler: async (request) => {
      ownPageOf(request);
      const taken = await push.act(request.body.token).catch((error: unknown) => {
        checkFailures(request);
        throw error;
      });
      const { accountId, sessionId, permissionId: subject, decision, subscriptionId } = taken;
      const details = { sessionId, decision, subscriptionId };
      await audit.note({ action: "notification_answered", accountId, subject, details, from: originOf(request) });
      return { sessionId, decision };
    },
  });
}

/** A token without `admin` sees only the browsers that it subscribed. */
function ownerOf(principal: Principal): SubscriptionOwner {
  refuseApps(principal);
  const { accountId, kind, tokenId, scopes } = principal;
  return { accountId, tokenId: kind === "token" && !scopes.has("admin") ? tokenId : null };
}

function subscriberOf(principal: Principal): Subscriber {
  refuseApps(principal);
  const { accountId, kind, browserSessionId, tokenId } = principal;
  if (kind === "browser" || kind === "token" || kind === "open") {
    return { accountId, kind, browserSessionId, tokenId };
  }
  throw new PosternError("invalid_request", "Only a browser can subscribe. Open the settings in a browser.");
}

/** Refuses apps, because their tokens are replaced too often. */
function refuseApps({ kind }: Principal): void {
  if (kind !== "app" && kind !== "jwt") return;
  throw new PosternError("invalid_request", "Apps have no notifications. Use `GET /api/coding/events` or webhooks.");
}
