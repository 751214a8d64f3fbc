import { z } from "zod";
import type { RouteModule } from "./route-server.ts";

/** `GET /healthz`: whether the gateway answers, and nothing else about it. */
export const healthRoutes: RouteModule = ({ app }) => {
  app.route({
    method: "GET",
    url: "/healthz",
    config: { access: "public" },
    schema: {
      operationId: "health",
      tags: ["gateway"],
      summary: "Whether the gateway answers.",
      response: { 200: z.object({ status: z.literal("ok") }) },
    },
    handler: async () => ({ status: "ok" as const }),
  });
};
