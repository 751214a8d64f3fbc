import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import type { Audit } from "../accounts/index.ts";
import type { OAuth } from "../oauth/index.ts";
import {
  addClientInputSchema,
  addedClientSchema,
  connectedAppSchema,
  oauthClientSchema,
  oauthPaths,
} from "../wire/oauth.ts";
import { textSchema } from "../wire/text.ts";
import type { LimitName } from "./route-limits.ts";
import type { HttpApp, RouteModule, RouteServer } from "./route-server.ts";

export interface OAuthRoutesDeps {
  readonly oauth: Pick<OAuth, "handle" | "keySet" | "metadata" | "protectedResource">;
  /** The gateway's base URL. */
  readonly baseUrl: () => string;
}

/** Far more than any request of the protocol; the library's own limit is slightly lower. */
const maxBodyBytes = 64 * 1024;

/** Clients can be pages of any origin: these routes ignore cookies. */
const openToPages = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers": "www-authenticate, retry-after",
  "cross-origin-resource-policy": "cross-origin",
} as const;

const preflightSeconds = 3_600;

/** POST routes of the protocol with their rate limits. */
const posted: readonly (readonly [path: string, limit: LimitName])[] = [
  [oauthPaths.token, "token"],
  [oauthPaths.revocation, "revocation"],
  [oauthPaths.introspection, "introspection"],
  [oauthPaths.registration, "registration"],
  [oauthPaths.deviceAuthorization, "deviceAuthorization"],
];

/** The authorization server's routes for clients. The library reads their bodies, and errors follow RFC 6749. */
export function oauthRoutes(deps: OAuthRoutesDeps): RouteModule {
  return (server) => {
    void server.app.register(async (app: HttpApp) => {
      app.removeAllContentTypeParsers();
      app.addContentTypeParser("*", { bodyLimit: maxBodyBytes }, (_request, _payload, done) => done(null));
      for (const [path, limit] of posted) addProtocolRoute(app, { ...deps, server, path, limit });
      addDocument(app, { path: oauthPaths.jwks, describe: () => deps.oauth.keySet() });
      addMetadata(app, deps);
      addProtectedResources(app, { ...deps, server });
    });
  };
}

function addProtocolRoute(
  app: HttpApp,
  route: OAuthRoutesDeps & {
    readonly server: RouteServer;
    readonly path: string;
    readonly limit: LimitName;
  },
): void {
  const { oauth, server, path, limit } = route;
  addPreflight(app, { method: "POST", path });
  app.route({
    method: "POST",
    url: path,
    config: { access: "public", crossOrigin: true, limit },
    schema: { hide: true },
    onRequest: async (_request, reply) => void reply.headers(openToPages),
    handler: async (request, reply) => {
      if (saysTooLong(request)) return reply.code(413).send(tooLong);
      void reply.hijack();
      reply.raw.setHeaders(new Map(Object.entries(textHeaders(reply))));
      await oauth.handle(request.raw, reply.raw, server.originOf(request));
    },
  });
}

/** RFC 6749 section 5.2. */
const tooLong = {
  error: "invalid_request",
  error_description: `The body is larger than ${maxBodyBytes / 1024} KB.`,
} as const;

/** Whether the declared length is too long. A body without a declared length is cut off while it is read. */
function saysTooLong({ headers }: FastifyRequest): boolean {
  return Number(headers["content-length"] ?? 0) > maxBodyBytes;
}

function textHeaders(reply: FastifyReply): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(reply.getHeaders()).map(([name, value]) => [name, String(value)]));
}

/** @see https://fetch.spec.whatwg.org/#cors-preflight-fetch */
function addPreflight(app: HttpApp, { method, path }: { readonly method: string; readonly path: string }): void {
  app.route({
    method: "OPTIONS",
    url: path,
    config: { access: "public", crossOrigin: true },
    schema: { hide: true },
    handler: async (_request, reply) =>
      reply
        .code(204)
        .headers({
          ...openToPages,
          "access-control-allow-methods": method,
          "access-control-allow-headers": "authorization, content-type, mcp-protocol-version",
          "access-control-max-age": preflightSeconds,
        })
        .send(),
  });
}

/** RFC 8414 metadata; if the base URL has a path, also at the path that section 3.1 defines. */
function addMetadata(app: HttpApp, { oauth, baseUrl }: OAuthRoutesDeps): void {
  const basePath = new URL(baseUrl()).pathname.replace(/\/+$/, "");
  const paths = [oauthPaths.metadata, ...(basePath === "" ? [] : [`${oauthPaths.metadata}${basePath}`])];
  for (const path of paths) addDocument(app, { path, describe: () => oauth.metadata() });
}

/** RFC 9728 metadata: of the API at the root, and of `/mcp` at the path that section 3.1 defines. */
function addProtectedResources(
  app: HttpApp,
  { oauth, baseUrl, server }: OAuthRoutesDeps & { readonly server: RouteServer },
): void {
  for (const suffix of ["", oauthPaths.mcp]) {
    addDocument(app, {
      path: `${oauthPaths.protectedResource}${suffix}`,
      // Clients compare the resource with the address that they were configured with.
      describe: (request) => oauth.protectedResource(`${server.ownOriginOf(request) ?? baseUrl()}${suffix}`),
    });
  }
}

function addDocument(
  app: HttpApp,
  document: {
    readonly path: string;
    readonly describe: (request: FastifyRequest) => Promise<Readonly<Record<string, unknown>>>;
  },
): void {
  const { path, describe } = document;
  addPreflight(app, { method: "GET", path });
  app.route({
    method: "GET",
    url: path,
    config: { access: "public", crossOrigin: true },
    schema: { hide: true },
    handler: async (request, reply) =>
      reply
        .headers({ ...openToPages, "cache-control": "no-cache" })
        .type("application/json; charset=utf-8")
        .send(JSON.stringify(await describe(request))),
  });
}

const tags = ["oauth"];
const config = { access: "admin" } as const;

/** `/api/oauth/clients`: clients that can request authorization. */
export function clientRoutes(deps: { readonly clients: OAuth["clients"]; readonly audit: Audit }): RouteModule {
  const { clients, audit } = deps;
  return ({ app, actorOf }) => {
    app.route({
      method: "GET",
      url: "/api/oauth/clients",
      config,
      schema: {
        operationId: "listOAuthClients",
        tags,
        summary: "Lists OAuth clients: self-registered, added by you, or identified by a metadata document.",
        response: { 200: z.object({ clients: z.array(oauthClientSchema) }) },
      },
      handler: async () => ({ clients: [...(await clients.list())] }),
    });

    app.route({
      method: "POST",
      url: "/api/oauth/clients",
      config,
      schema: {
        operationId: "addOAuthClient",
        tags,
        summary: "Adds an OAuth client. Its secret, if any, is returned only once.",
        body: addClientInputSchema,
        response: { 201: addedClientSchema },
      },
      handler: async (request, reply) => {
        const added = await clients.add(request.body);
        const { clientId: subject, name, redirectUris, confidential } = added;
        const details = { name, redirectUris, confidential };
        await audit.note({ ...actorOf(request), action: "client_added", subject, details });
        return reply.code(201).send(added);
      },
    });

    app.route({
      method: "DELETE",
      url: "/api/oauth/clients/:clientId",
      config,
      schema: {
        operationId: "removeOAuthClient",
        tags,
        summary: "Removes a client and immediately revokes everything it was granted.",
        params: z.strictObject({ clientId: textSchema(2_000) }),
        response: { 204: z.undefined().describe("Removed") },
      },
      handler: async (request, reply) => {
        const { clientId } = request.params;
        const removed = (await clients.list()).find((client) => client.clientId === clientId);
        await clients.remove(clientId);
        const details = { name: removed?.name };
        await audit.note({ ...actorOf(request), action: "client_removed", subject: clientId, details });
        return reply.code(204).send();
      },
    });
  };
}

const own = { access: "own" } as const;

/** `/api/oauth/apps`: apps authorized by the caller's account. */
export function appRoutes({ apps }: { readonly apps: Pick<OAuth["apps"], "list" | "disconnect"> }): RouteModule {
  return ({ app, actorOf, principalOf }) => {
    app.route({
      method: "GET",
      url: "/api/oauth/apps",
      config: own,
      schema: {
        operationId: "listConnectedApps",
        tags,
        summary: "Lists authorized apps and their scopes, most recently used first.",
        response: { 200: z.object({ apps: z.array(connectedAppSchema) }) },
      },
      handler: async (request) => ({ apps: [...(await apps.list(principalOf(request).accountId))] }),
    });

    app.route({
      method: "DELETE",
      url: "/api/oauth/apps/:appId",
      config: own,
      schema: {
        operationId: "disconnectApp",
        tags,
        summary: "Revokes an app's access immediately. Its open connections close within five seconds.",
        params: z.strictObject({ appId: textSchema(200) }),
        response: { 204: z.undefined().describe("Disconnected") },
      },
      handler: async (request, reply) => {
        const { scopes } = principalOf(request);
        await apps.disconnect(request.params.appId, { ...actorOf(request), scopes });
        return reply.code(204).send();
      },
    });
  };
}
