import { z } from "zod";
import { tagOrNotModified } from "./etag.ts";
import type { RouteModule } from "./route-server.ts";

/** `GET /openapi.json`: the whole HTTP face as an OpenAPI 3.1 document, made when it is first asked for. */
export function openApiRoutes(options: { readonly version: string }): RouteModule {
  return ({ app, routes }) => {
    let document: Promise<Record<string, unknown>> | undefined;

    async function build(): Promise<Record<string, unknown>> {
      const { buildOpenApi } = await import("./openapi-document.ts");
      return { ...buildOpenApi({ version: options.version, routes: routes() }) };
    }

    app.route({
      method: "GET",
      url: "/openapi.json",
      config: { access: "public" },
      schema: {
        operationId: "openApi",
        tags: ["gateway"],
        summary: "This document.",
        response: { 200: z.looseObject({}) },
      },
      onSend: tagOrNotModified,
      handler: async () => (document ??= build()),
    });
  };
}
