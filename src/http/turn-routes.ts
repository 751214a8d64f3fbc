import { Readable } from "node:stream";
import { z } from "zod";
import type { FindTurnImage, FindTurns } from "../sessions/index.ts";
import { textSchema } from "../wire/text.ts";
import { turnImageQuerySchema } from "../wire/turn.ts";
import { nextTurnQuerySchema, nextTurnSchema, turnSearchQuerySchema, turnSearchSchema } from "../wire/turn-search.ts";
import { fileHeaders, sendFile } from "./attachment-routes.ts";
import type { RouteModule } from "./route-server.ts";

const tags = ["coding"];
const params = z.strictObject({ sessionId: textSchema(200) });
const turnParams = params.extend({ turn: z.coerce.number().int().min(0) });

/** `/api/coding/sessions/{id}/turns/…`: finds turns without reading the whole transcript, and serves the images in turns. */
export function turnRoutes(findTurns: FindTurns, findImage: FindTurnImage): RouteModule {
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
          "Searches prompts, answers, tool calls and their results for a text, ignoring case. Snippets are untrusted: they come from a transcript.",
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

    app.route({
      method: "GET",
      url: "/api/coding/sessions/:sessionId/turns/:turn/image",
      config: { access: "coding:read" },
      schema: {
        operationId: "getTurnImage",
        tags,
        summary: "Returns an image in the result of a tool call.",
        description:
          "A PNG, JPEG, GIF or WebP image of up to 20 MB; the type is detected from the content. The turn lists its images in `images` of the result.",
        params: turnParams,
        querystring: turnImageQuerySchema,
        answerType: "application/octet-stream",
        response: { 200: z.string() },
      },
      handler: async (request, reply) => {
        const { sessionId, turn } = request.params;
        const { mediaType, bytes } = await findImage(sessionId, { turn, ...request.query }, principalOf(request));
        const name = `turn-${turn}.${mediaType.slice("image/".length)}`;
        const headers = { ...fileHeaders({ name, mediaType }), "content-length": String(bytes.length) };
        await sendFile(reply, Readable.from([bytes]), headers);
      },
    });
  };
}
