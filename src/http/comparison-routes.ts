import { z } from "zod";
import type { Comparisons } from "../comparisons/index.ts";
import {
  comparedSchema,
  compareInputSchema,
  comparisonListSchema,
  comparisonReadSchema,
  keepSessionSchema,
  keptSessionSchema,
  readComparisonInputSchema,
} from "../wire/comparisons.ts";
import type { RouteModule } from "./route-server.ts";

const tags = ["coding"];

/** `/api/coding/compare` and `/api/coding/comparisons`: one prompt for several agents. */
export function comparisonRoutes(comparisons: Comparisons): RouteModule {
  return ({ app, principalOf }) => {
    app.route({
      method: "POST",
      url: "/api/coding/compare",
      config: { access: "coding:write" },
      schema: {
        operationId: "startComparison",
        tags,
        summary: "Starts several agents on the same prompt, each in its own worktree.",
        description:
          "All worktrees start at the same commit. The response does not wait for the turns. An agent that does not start is reported " +
          "in its entry, and the others start anyway; if none starts, the request fails with the first error. Other values of " +
          "`permissionMode` than `ask` need `coding:drive`. Further errors: the same as for `coding_ask`.",
        body: compareInputSchema,
        response: { 200: comparedSchema },
      },
      handler: (request) => comparisons.compare(request.body, principalOf(request)),
    });

    app.route({
      method: "GET",
      url: "/api/coding/comparisons",
      config: { access: "coding:read" },
      schema: {
        operationId: "listComparisons",
        tags,
        summary: "Lists your comparisons.",
        description: "A comparison is deleted when all its sessions are forgotten. An account has at most 200.",
        response: { 200: comparisonListSchema },
      },
      handler: async (request) => ({ comparisons: [...(await comparisons.list(principalOf(request)))] }),
    });

    app.route({
      method: "GET",
      url: "/api/coding/comparisons/:comparisonId",
      config: { access: "coding:read" },
      schema: {
        operationId: "getComparison",
        tags,
        summary: "Returns the state, changes, time and tokens of every session in a comparison.",
        description: "Answers and errors are untrusted: they come from agents.",
        params: readComparisonInputSchema,
        response: { 200: comparisonReadSchema },
      },
      handler: (request) => comparisons.read(request.params.comparisonId, principalOf(request)),
    });

    app.route({
      method: "POST",
      url: "/api/coding/comparisons/:comparisonId/keep",
      config: { access: "coding:write" },
      schema: {
        operationId: "keepOfComparison",
        tags,
        summary: "Keeps one session, and closes the others with their worktrees.",
        description:
          "Uncommitted work of the others is saved as with `coding_close_session`, and their branches stay. A session that could not be " +
          "closed is reported in its entry; repeat the request to try again. After that, no other session can be kept.",
        params: readComparisonInputSchema,
        body: keepSessionSchema,
        response: { 200: keptSessionSchema },
      },
      handler: (request) => comparisons.keep({ ...request.params, ...request.body }, principalOf(request)),
    });

    app.route({
      method: "DELETE",
      url: "/api/coding/comparisons/:comparisonId",
      config: { access: "coding:write" },
      schema: {
        operationId: "deleteComparison",
        tags,
        summary: "Deletes a comparison. Its sessions stay.",
        params: readComparisonInputSchema,
        response: { 204: z.null() },
      },
      handler: async (request, reply) => {
        await comparisons.remove(request.params.comparisonId, principalOf(request));
        return reply.code(204).send(null);
      },
    });
  };
}
