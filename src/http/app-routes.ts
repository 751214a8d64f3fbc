import { z } from "zod";
import type { OAuth } from "../oauth/index.ts";
import { connectedAppSchema } from "../wire/oauth.ts";
import { textSchema } from "../wire/text.ts";
import type { RouteModule } from "./route-server.ts";

const tags = ["oauth"];
const config = { access: "own" } as const;

/** `/api/oauth/apps`: the apps that the caller's account let in. */
export function appRoutes({ apps }: { readonly apps: Pick<OAuth["apps"], "list" | "disconnect"> }): RouteModule {
  return ({ app, originOf, principalOf }) => {
    app.route({
      method: "GET",
      url: "/api/oauth/apps",
      config,
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
      config,
      schema: {
        operationId: "disconnectApp",
        tags,
        summary: "Ends all that an app was given, at once; what it has open ends within five seconds.",
        params: z.strictObject({ appId: textSchema(200) }),
        response: { 204: z.undefined().describe("Disconnected") },
      },
      handler: async (request, reply) => {
        const { accountId, scopes } = principalOf(request);
        await apps.disconnect(request.params.appId, { accountId, scopes, from: originOf(request) });
        return reply.code(204).send();
      },
    });
  };
}
