import { z } from "zod";
import type { Principal } from "../accounts/index.ts";
import { tagOrNotModified } from "./etag.ts";
import type { RouteModule } from "./route-server.ts";

const manifestSchema = z.looseObject({}).meta({ id: "Manifest" });

/** `GET /manifest`: what a caller (mostly an LLM's host) can use here. */
export function manifestRoutes(deps: {
  /** Makes the manifest for this caller. */
  readonly manifest: (principal: Principal) => Promise<z.infer<typeof manifestSchema>>;
}): RouteModule {
  return ({ app, principalOf }) => {
    app.route({
      method: "GET",
      url: "/manifest",
      config: { access: "coding:read" },
      schema: {
        operationId: "manifest",
        tags: ["gateway"],
        summary: "The tools, folders and agents that a caller can use.",
        description: "Carries an `ETag`; with `If-None-Match` an unchanged manifest is answered with 304.",
        response: { 200: manifestSchema },
      },
      onSend: tagOrNotModified,
      handler: async (request) => deps.manifest(principalOf(request)),
    });
  };
}
