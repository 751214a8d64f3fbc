import type { Rescues } from "../sessions/index.ts";
import { emptyInputSchema } from "../wire/coding.ts";
import {
  rescueInputSchema,
  rescueListOutputSchema,
  rescueRestoreInputSchema,
  rescueRestoreOutputSchema,
  rescueSchema,
  rescueShowOutputSchema,
} from "../wire/rescue.ts";
import type { RouteModule } from "./route-server.ts";

const tags = ["coding"];

/** `/api/coding/rescue_…`: what closed worktrees left behind. For people: an LLM caller is not offered these. */
export function rescueRoutes({ rescues }: { readonly rescues: Rescues }): RouteModule {
  return ({ app, principalOf }) => {
    app.route({
      method: "POST",
      url: "/api/coding/rescue_list",
      config: { access: "coding:read" },
      schema: {
        operationId: "rescueList",
        tags,
        summary: "Lists the work that removed worktrees would have taken with them.",
        body: emptyInputSchema,
        response: { 200: rescueListOutputSchema },
      },
      preValidation: async (request) => {
        request.body ??= {};
      },
      handler: async (request) => rescues.list(principalOf(request)),
    });

    app.route({
      method: "POST",
      url: "/api/coding/rescue_show",
      config: { access: "coding:read" },
      schema: {
        operationId: "rescueShow",
        tags,
        summary: "Lists the paths in a session's rescue.",
        body: rescueInputSchema,
        response: { 200: rescueShowOutputSchema },
      },
      handler: async (request) => rescues.show(request.body, principalOf(request)),
    });

    app.route({
      method: "POST",
      url: "/api/coding/rescue_restore",
      config: { access: "coding:write" },
      schema: {
        operationId: "rescueRestore",
        tags,
        summary: "Puts a rescue into its session's worktree, which is made anew when it is gone.",
        description: "Files that were changed since are not overwritten without `force`: then nothing is restored.",
        body: rescueRestoreInputSchema,
        response: { 200: rescueRestoreOutputSchema },
      },
      handler: async (request) => rescues.restore(request.body, principalOf(request)),
    });

    app.route({
      method: "POST",
      url: "/api/coding/rescue_drop",
      config: { access: "admin" },
      schema: {
        operationId: "rescueDrop",
        tags,
        summary: "Forgets a rescue for good.",
        body: rescueInputSchema,
        response: { 200: rescueSchema },
      },
      handler: async (request) => rescues.drop(request.body, principalOf(request)),
    });
  };
}
