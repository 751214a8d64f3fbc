import type { Accounts } from "../accounts/index.ts";
import { auditPageSchema, auditQuerySchema } from "../wire/accounts.ts";
import type { RouteModule } from "./route-server.ts";

/** `GET /api/audit`: what was decided and made, by whom and from where. */
export function auditRoutes({ audit }: Pick<Accounts, "audit">): RouteModule {
  return ({ app }) => {
    app.route({
      method: "GET",
      url: "/api/audit",
      config: { access: "admin" },
      schema: {
        operationId: "listAudit",
        tags: ["accounts"],
        summary: "Who did what, when and from where: sign-ins, tokens, apps, accounts, deletions. The newest first.",
        description: "Of all accounts. The newest 20,000 are kept, and 5,000 more of whom nobody knew.",
        querystring: auditQuerySchema,
        response: { 200: auditPageSchema },
      },
      handler: async (request) => audit.page(request.query),
    });
  };
}
