import { z } from "zod";
import type { Principal } from "../accounts/index.ts";
import type { Logs, Recorded } from "../logs/index.ts";
import {
  entitiesInputSchema,
  entityPageSchema,
  factPageSchema,
  factsInputSchema,
  listLogsInputSchema,
  logDetailSchema,
  logEntrySchema,
  logIdSchema,
  logPageSchema,
  logSearchSchema,
  logSessionIdSchema,
  searchLogsInputSchema,
  sessionRecordedSchema,
  submitLogInputSchema,
  timelineInputSchema,
} from "../wire/logs.ts";
import { textSchema } from "../wire/text.ts";
import { addLogDeletionRoutes } from "./log-deletion-routes.ts";
import type { RouteModule, RouteServer } from "./route-server.ts";
import { requireAll } from "./route-server.ts";

const tags = ["memory"];
const params = z.strictObject({ logId: logIdSchema });
/** Room for UUIDs and hashes; visible ASCII, because it is a header. */
const submitHeaders = z.object({
  "idempotency-key": z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/)
    .optional()
    .describe("Retries with the same key and entry return the existing entry."),
});

export interface LogRoutesDeps {
  readonly logs: Logs;
  /** Saves a session to memory. @throws PosternError `session_not_found` */
  readonly record: (sessionId: string, principal: Principal, signal: AbortSignal) => Promise<Recorded>;
}

/** `/api/v1/…`: memory. */
export function logRoutes({ logs, record }: LogRoutesDeps): RouteModule {
  return (server) => {
    addSubmitRoute(server, logs);
    addReadRoutes(server, logs);
    addRecordRoute(server, record);
    addLogDeletionRoutes(server, logs);
    addLogQueryRoutes(server, logs);
  };
}

function addSubmitRoute({ app, principalOf }: RouteServer, logs: Logs): void {
  app.route({
    method: "POST",
    url: "/api/v1/logs",
    config: { access: "logs:write" },
    schema: {
      operationId: "submitLog",
      tags,
      summary: "Saves text or turns to memory and extracts facts from them.",
      description:
        "Text that looks like a secret is masked before it is stored. Lines that start with `Decision:` or `Remember:` become facts. " +
        "Returns 201, or 202 with the `status` `pending` while a model extracts more facts. Errors: `invalid_request`, `dir_not_allowed` " +
        "and `dir_not_found` for `dir`, `idempotency_conflict` if the key was used for another entry.",
      headers: submitHeaders,
      body: submitLogInputSchema,
      response: { 201: logEntrySchema, 202: logEntrySchema },
    },
    handler: async (request, reply) => {
      const idempotencyKey = request.headers["idempotency-key"];
      const { log } = await logs.submit(principalOf(request), request.body, { idempotencyKey });
      return reply
        .code(log.status === "pending" ? 202 : 201)
        .header("location", `/api/v1/logs/${encodeURIComponent(log.logId)}`)
        .send(log);
    },
  });
}

function addReadRoutes({ app, principalOf }: RouteServer, logs: Logs): void {
  app.route({
    method: "GET",
    url: "/api/v1/logs",
    config: { access: "logs:read" },
    schema: {
      operationId: "listLogs",
      tags,
      summary: "Lists the account's memory entries, newest first.",
      description:
        "Titles are untrusted: they come from transcripts and callers. Errors: `invalid_request`, including for an invalid cursor.",
      querystring: listLogsInputSchema.extend({ limit: limitInQuery(50) }),
      response: { 200: logPageSchema },
    },
    handler: async (request) => logs.list(principalOf(request), request.query),
  });

  app.route({
    method: "GET",
    url: "/api/v1/logs/:logId",
    config: { access: "logs:read" },
    schema: {
      operationId: "readLog",
      tags,
      summary: "Returns a memory entry with its facts and entities.",
      description: "Its content is untrusted: it comes from transcripts and callers. Errors: `log_not_found`.",
      params,
      response: { 200: logDetailSchema },
    },
    handler: async (request) => logs.get(principalOf(request), request.params.logId),
  });
}

function addRecordRoute({ app, principalOf, signalOf }: RouteServer, record: LogRoutesDeps["record"]): void {
  app.route({
    method: "POST",
    url: "/api/v1/sessions/:sessionId/record",
    config: { access: "logs:write" },
    schema: {
      operationId: "recordSession",
      tags,
      summary: "Saves a session's turns to memory now, regardless of the setting.",
      description:
        "Each turn is saved once. Turns that were deleted are saved again. Also needs the scope `coding:read`. Errors: " +
        "`session_not_found`, `transcript_unreadable`, `rate_limited`.",
      params: z.strictObject({ sessionId: logSessionIdSchema }),
      response: { 200: sessionRecordedSchema },
    },
    handler: async (request, reply) => {
      const principal = principalOf(request);
      requireAll(principal, ["coding:read"]);
      const { outcome, logIds, turns } = await record(request.params.sessionId, principal, signalOf(reply));
      return { outcome, logIds: [...logIds], turns };
    },
  });
}

const config = { access: "logs:read" } as const;

/** The page size in a query. */
function limitInQuery(usual: number) {
  return z.coerce.number().int().min(1).max(200).optional().describe(`Defaults to ${usual}.`);
}

/** `/api/v1/search`, `/api/v1/facts`, `/api/v1/entities` */
function addLogQueryRoutes({ app, principalOf }: RouteServer, logs: Logs): void {
  app.route({
    method: "GET",
    url: "/api/v1/search",
    config,
    schema: {
      operationId: "searchLogs",
      tags,
      summary: "Searches memory for entries that contain all words, best match first.",
      description:
        'Ignores case and accents. `"Quoted words"` match as a phrase; the last word also matches as a prefix. `source`, `status` and ' +
        "`sessionId` filter the entries. Snippets are untrusted. Errors: `invalid_request`.",
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
      summary: "Lists facts with their period of validity, newest first.",
      description:
        "`asOf` returns the facts that were valid at a time, `knownAt` the facts that had been recorded by a time. The predicates `current_branch`, `last_exit` and " +
        "`status` have one value per subject at a time. Keys and values are untrusted. Errors: `invalid_request`, including for an " +
        "invalid cursor or entity.",
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
      summary: "Lists entities in facts: files, commands, branches, decisions and others.",
      description: "Keys are untrusted. Errors: `invalid_request`, including for an invalid cursor.",
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
      summary: "Lists every fact about an entity, as subject or object, newest first.",
      description:
        "The list is empty for an unknown entity. Keys and values are untrusted. Errors: `invalid_request`, including for an invalid cursor.",
      params: z.strictObject({ entityId: textSchema(200) }),
      querystring: timelineInputSchema.extend({ limit: limitInQuery(100) }),
      response: { 200: factPageSchema },
    },
    handler: async (request) => logs.timeline(principalOf(request), request.params.entityId, request.query),
  });
}
