import { z } from "zod";
import type { Principal } from "../accounts/index.ts";
import type { Logs, Recorded } from "../logs/index.ts";
import {
  listLogsInputSchema,
  logDetailSchema,
  logEntrySchema,
  logIdSchema,
  logPageSchema,
  logSessionIdSchema,
  sessionRecordedSchema,
  submitLogInputSchema,
} from "../wire/logs.ts";
import { addLogDeletionRoutes } from "./log-deletion-routes.ts";
import { addLogQueryRoutes, limitInQuery } from "./log-query-routes.ts";
import { requireAll } from "./route-access.ts";
import type { RouteModule } from "./route-server.ts";

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

/** What {@link logRoutes} needs. */
export interface LogRoutesDeps {
  readonly logs: Logs;
  /** Remembers a session because somebody asked for it. @throws PosternError `session_not_found` */
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

function addSubmitRoute({ app, principalOf }: Parameters<RouteModule>[0], logs: Logs): void {
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

function addReadRoutes({ app, principalOf }: Parameters<RouteModule>[0], logs: Logs): void {
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

function addRecordRoute(
  { app, principalOf, signalOf }: Parameters<RouteModule>[0],
  record: LogRoutesDeps["record"],
): void {
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
