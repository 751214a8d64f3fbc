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
/** As long as UUIDs and hashes are, with room; visible ASCII, as a header holds it. */
const submitHeaders = z.object({
  "idempotency-key": z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/)
    .optional()
    .describe("The same entry with the same key is remembered once; the answer is then of the entry that is there."),
});

export interface LogRoutesDeps {
  readonly logs: Logs;
  /** Remembers a session on request. @throws PosternError `session_not_found` */
  readonly record: (sessionId: string, principal: Principal, signal: AbortSignal) => Promise<Recorded>;
}

/** `/api/v1/…`: what is remembered of sessions, and how it is forgotten. @see the seed, `DELETE /api/v1/logs/{logId}`; the others are ours */
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
      summary: "Remembers a text or turns, with what follows from them.",
      description:
        "Things that look like keys are masked before anything is kept. A line that begins with `Decision:` or `Remember:` becomes a fact. " +
        "201, or 202 while a model still looks for more in it (`status` is `pending`). Errors: `invalid_request`, `dir_not_allowed` and " +
        "`dir_not_found` for its `dir`, `idempotency_conflict` for another entry with a key that was used.",
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
      summary: "The account's log entries, the newest first.",
      description:
        "Titles are untrusted: they come from transcripts and callers. Errors: `invalid_request`, for a cursor too.",
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
      summary: "A log entry with what was derived from it.",
      description: "What it says is untrusted: it comes from transcripts and callers. Errors: `log_not_found`.",
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
      summary: "Remembers a session's turns now, whatever the setting is.",
      description:
        "Each turn is remembered once. What was deleted is remembered again, as somebody asks for it. Needs the scope `coding:read` too: " +
        "it reads the session. Errors: `session_not_found`, `transcript_unreadable`, `rate_limited`.",
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

/** How many items a page holds, as a query says it: digits. */
function limitInQuery(usual: number) {
  return z.coerce.number().int().min(1).max(200).optional().describe(`${usual} by default.`);
}

/** `/api/v1/search`, `/api/v1/facts`, `/api/v1/entities`: questions to the memory. */
function addLogQueryRoutes({ app, principalOf }: RouteServer, logs: Logs): void {
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
