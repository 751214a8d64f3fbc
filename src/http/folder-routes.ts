import { z } from "zod";
import type { Folders } from "../folders/index.ts";
import { addFolderInputSchema, folderSchema } from "../wire/access.ts";
import type { RouteModule } from "./route-server.ts";

const tags = ["folders"];

/** `/api/folders`: which directories agents may work in. */
export function folderRoutes(deps: { readonly folders: Folders }): RouteModule {
  const { folders } = deps;
  return ({ app }) => {
    app.route({
      method: "GET",
      url: "/api/folders",
      config: { access: "admin" },
      schema: {
        operationId: "listFolders",
        tags,
        summary: "The registered folders. With none, agents may work in any directory.",
        response: { 200: z.object({ folders: z.array(folderSchema) }) },
      },
      handler: async () => ({ folders: [...(await folders.list())] }),
    });

    app.route({
      method: "POST",
      url: "/api/folders",
      config: { access: "admin" },
      schema: {
        operationId: "addFolder",
        tags,
        summary: "Registers a folder, or gives a registered one other scopes.",
        description: "With the scope `coding` it is trusted: agents start in it without asking, and its own hooks run.",
        body: addFolderInputSchema,
        response: { 201: folderSchema },
      },
      handler: async (request, reply) =>
        reply.code(201).send(await folders.add(request.body.path, request.body.scopes)),
    });

    app.route({
      method: "DELETE",
      url: "/api/folders",
      config: { access: "admin" },
      schema: {
        operationId: "removeFolder",
        tags,
        summary: "Takes a folder off the list. The directory itself stays.",
        querystring: z.strictObject({ path: z.string().min(1).max(4096) }),
        response: { 200: folderSchema },
      },
      handler: async (request) => folders.remove(request.query.path),
    });
  };
}
