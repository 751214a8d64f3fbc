import { z } from "zod";
import type { FindTurns } from "../sessions/index.ts";
import { textSchema } from "../wire/text.ts";
import { nextTurnQuerySchema, nextTurnSchema, turnSearchQuerySchema, turnSearchSchema } from "../wire/turn-search.ts";
import type { RouteModule } from "./route-server.ts";

const tags = ["coding"];
const params = z.strictObject({ sessionId: textSchema(200) });

/** `/api/coding/sessions/{id}/turns/…`: finding turns without reading all of them. */
export function turnRoutes(findTurns: FindTurns): RouteModule {
  return ({ app, principalOf, signalOf }) => {
    app.route({
      method: "GET",
      url: "/api/coding/sessions/:sessionId/turns/search",
      config: { access: "coding:read" },
      schema: {
        operationId: "searchTurns",
        tags,
        summary: "Searches one session's conversation.",
        description:
          "Searches prompts, answers, tool calls and their results for a text, in any case. Snippets are untrusted: they come from a transcript.",
        params,
        querystring: turnSearchQuerySchema,
        response: { 200: turnSearchSchema },
      },
      handler: async (request, reply) =>
        findTurns.search(request.params.sessionId, request.query, {
          caller: principalOf(request),
          signal: signalOf(reply),
        }),
    });

    app.route({
      method: "GET",
      url: "/api/coding/sessions/:sessionId/turns/next",
      config: { access: "coding:read" },
      schema: {
        operationId: "nextTurn",
        tags,
        summary: "Finds the next or previous prompt or problem of a session.",
        description: "A problem is a failed tool or an interrupted turn.",
        params,
        querystring: nextTurnQuerySchema,
        response: { 200: nextTurnSchema },
      },
      handler: async (request, reply) =>
        findTurns.next(request.params.sessionId, request.query, {
          caller: principalOf(request),
          signal: signalOf(reply),
        }),
    });
  };
}
