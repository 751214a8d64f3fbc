import { z } from "zod";
import type { Accounts } from "../accounts/index.ts";
import type { Clones } from "../folders/index.ts";
import { cloneInputSchema, cloneSchema, clonesSchema } from "../wire/clones.ts";
import type { RouteModule } from "./route-server.ts";

const tags = ["folders"];
const config = { access: "admin" } as const;
const params = z.strictObject({ cloneId: z.uuid() });

/** `/api/folders/clones`: folders that are made from a repository's address. */
export function cloneRoutes({
  clones,
  audit,
}: {
  readonly clones: Clones;
  readonly audit: Accounts["audit"];
}): RouteModule {
  return ({ app, actorOf }) => {
    app.route({
      method: "GET",
      url: "/api/folders/clones",
      config,
      schema: {
        operationId: "listClones",
        tags,
        summary: "Lists clones since the start of the gateway, latest first.",
        response: { 200: clonesSchema },
      },
      handler: async () => ({ clones: [...clones.list()] }),
    });

    app.route({
      method: "POST",
      url: "/api/folders/clones",
      config,
      schema: {
        operationId: "beginClone",
        tags,
        summary: "Clones a repository into a registered folder, and registers it.",
        description:
          "Returns immediately; follow the progress at `/api/folders/clones/{cloneId}`. Git uses the credentials of the gateway's " +
          "user and never prompts. No hooks, templates or submodules are used. If the clone fails or is cancelled, everything that it wrote is removed.",
        body: cloneInputSchema,
        response: { 202: cloneSchema },
      },
      async handler(request, reply) {
        const begun = await clones.begin(request.body);
        const details = { address: begun.address };
        await audit.note({ ...actorOf(request), action: "folder_cloned", subject: begun.path, details });
        return reply.code(202).send(begun);
      },
    });

    app.route({
      method: "GET",
      url: "/api/folders/clones/:cloneId",
      config,
      schema: {
        operationId: "getClone",
        tags,
        summary: "Returns the progress of a clone.",
        params,
        response: { 200: cloneSchema },
      },
      handler: async (request) => clones.find(request.params.cloneId),
    });

    app.route({
      method: "DELETE",
      url: "/api/folders/clones/:cloneId",
      config,
      schema: {
        operationId: "cancelClone",
        tags,
        summary: "Cancels a clone and removes what it wrote. A finished clone is kept.",
        params,
        response: { 200: cloneSchema },
      },
      handler: async (request) => clones.cancel(request.params.cloneId),
    });
  };
}
