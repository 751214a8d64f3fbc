import { z } from "zod";
import type { Logs } from "../logs/index.ts";
import {
  entitiesInputSchema,
  entityPageSchema,
  factPageSchema,
  factsInputSchema,
  logSearchSchema,
  searchLogsInputSchema,
  timelineInputSchema,
} from "../wire/logs.ts";
import { textSchema } from "../wire/text.ts";
import type { RouteModule } from "./route-server.ts";

const tags = ["memory"];
const config = { access: "logs:read" } as const;

/** How many items a page holds, as a query says it: digits. */
export function limitInQuery(usual: number) {
  return z.coerce.number().int().min(1).max(200).optional().describe(`${usual} by default.`);
}

/** `/api/v1/search`, `/api/v1/facts`, `/api/v1/entities`: questions to the memory. */
export function addLogQueryRoutes({ app, principalOf }: Parameters<RouteModule>[0], logs: Logs): void {
  app.route({
    method: "GET",
    url: "/api/v1/search",
    config,
    schema: {
      operationId: "searchLogs",
      tags,
      summary: "Log entries in which all words occur, the best first.",
      description:
        'Folded: case and accents do not count. `"Quoted words"` are a phrase; the last word is also the beginning of one. `source`, ' +
        "`status` and `sessionId` leave only such entries. Snippets are untrusted. Errors: `invalid_request`.",
      querystring: searchLogsInputSchema.extend({ limit: limitInQuery(20) }),
      response: { 200: logSearchSchema },
    },
    handler: async (request) => logs.search(principalOf(request), request.query),
  });

  app.route({
    method: "GET",
    url: "/api/v1/facts",
    config,
    schema: {
      operationId: "findFacts",
      tags,
      summary: "Facts, with the time that each holds, the newest first.",
      description:
        "`asOf` asks what held at a time, `knownAt` what was known then. Of `current_branch`, `last_exit` and `status` a subject has one " +
        "at a time: a fact ends where the next one begins. Keys and values are untrusted. Errors: `invalid_request`, for a cursor and an " +
        "entity that cannot be read too.",
      querystring: factsInputSchema.extend({ limit: limitInQuery(100) }),
      response: { 200: factPageSchema },
    },
    handler: async (request) => logs.facts(principalOf(request), request.query),
  });

  app.route({
    method: "GET",
    url: "/api/v1/entities",
    config,
    schema: {
      operationId: "listEntities",
      tags,
      summary: "The things that facts speak of: files, commands, branches, decisions and others.",
      description: "Keys are untrusted. Errors: `invalid_request`, for a cursor too.",
      querystring: entitiesInputSchema.extend({ limit: limitInQuery(50) }),
      response: { 200: entityPageSchema },
    },
    handler: async (request) => logs.entities(principalOf(request), request.query),
  });

  app.route({
    method: "GET",
    url: "/api/v1/entities/:entityId/timeline",
    config,
    schema: {
      operationId: "entityTimeline",
      tags,
      summary: "Every fact about a thing, as subject or object, the newest first.",
      description:
        "Of a thing that is not there it is empty. Keys and values are untrusted. Errors: `invalid_request`, for a cursor too.",
      params: z.strictObject({ entityId: textSchema(200) }),
      querystring: timelineInputSchema.extend({ limit: limitInQuery(100) }),
      response: { 200: factPageSchema },
    },
    handler: async (request) => logs.timeline(principalOf(request), request.params.entityId, request.query),
  });
}
