import { z } from "zod";
import type { Audit } from "../accounts/index.ts";
import type { OAuth } from "../oauth/index.ts";
import { addClientInputSchema, addedClientSchema, oauthClientSchema } from "../wire/oauth.ts";
import { textSchema } from "../wire/text.ts";
import type { RouteModule } from "./route-server.ts";

const tags = ["oauth"];
const config = { access: "admin" } as const;

/** `/api/oauth/clients`: the clients that may ask to be let in. */
export function clientRoutes(deps: { readonly clients: OAuth["clients"]; readonly audit: Audit }): RouteModule {
  const { clients, audit } = deps;
  return ({ app, originOf, principalOf }) => {
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
        await audit.note({
          action: "client_added",
          accountId: principalOf(request).accountId,
          subject: added.clientId,
          details: { name: added.name, redirectUris: added.redirectUris, confidential: added.confidential },
          from: originOf(request),
        });
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
        const { accountId } = principalOf(request);
        await audit.note({
          action: "client_removed",
          accountId,
          subject: clientId,
          details: { name: removed?.name },
          from: originOf(request),
        });
        return reply.code(204).send();
      },
    });
  };
}
