import { z } from "zod";
import type { Audit } from "../accounts/index.ts";
import type { OAuth } from "../oauth/index.ts";
import { addClientInputSchema, addedClientSchema, connectedAppSchema, oauthClientSchema } from "../wire/oauth.ts";
import { textSchema } from "../wire/text.ts";
import type { RouteModule } from "./route-server.ts";

const tags = ["oauth"];
const config = { access: "admin" } as const;

/** `/api/oauth/clients`: the clients that may ask to be let in. */
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
        summary: "The clients that are known, however they came to be.",
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
        summary: "Adds a client. Its secret, if it gets one, is shown this one time.",
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
        summary: "Removes a client with all that it was given, at once.",
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

/** `/api/oauth/apps`: the apps that the caller's account let in. */
export function appRoutes({ apps }: { readonly apps: Pick<OAuth["apps"], "list" | "disconnect"> }): RouteModule {
  return ({ app, actorOf, principalOf }) => {
    app.route({
      method: "GET",
      url: "/api/oauth/apps",
      config: own,
      schema: {
        operationId: "listConnectedApps",
        tags,
        summary: "The apps that the account let in, and what each may do; the one last used first.",
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
        summary: "Ends all that an app was given, at once; what it has open ends within five seconds.",
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
