import { z } from "zod";
import type { AuditOrigin, Principal } from "../accounts/index.ts";
import { PosternError } from "../core/errors.ts";
import type { DeletionOrigin, Logs } from "../logs/index.ts";
import {
  deleteLogInputSchema,
  deletionPreviewSchema,
  logDeletionSchema,
  logIdSchema,
  logSessionIdSchema,
  sessionLogDeletionSchema,
} from "../wire/logs.ts";
import type { RouteServer } from "./route-server.ts";

const tags = ["memory"];
const config = { access: "logs:write" } as const;
const params = z.strictObject({ logId: logIdSchema });

const about = `Deletes the entry with everything that only it said, in one transaction, and counts the rows that went; what another entry says too
stays. On SQLite nothing of it is in the store's file afterwards; while a reader is in the way, \`message\` says that this is pending. Of calls at the
same time one is answered with 200. Errors: \`unauthenticated\`, \`insufficient_scope\`, \`unsupported_media_type\`, \`invalid_request\`, \`id_mismatch\`
when the body names another entry than the path, \`log_not_found\` for what is not there and what is not yours.`;

/** How log entries are forgotten. */
export function addLogDeletionRoutes(server: RouteServer, logs: Logs): void {
  addPreviewRoute(server, logs);
  addDeleteRoutes(server, logs);
  addDeleteSessionRoute(server, logs);
}

function addPreviewRoute({ app, principalOf }: RouteServer, logs: Logs): void {
  app.route({
    method: "GET",
    url: "/api/v1/logs/:logId/deletion-preview",
    config: { access: "logs:read" },
    schema: {
      operationId: "previewLogDeletion",
      tags,
      summary: "What deleting an entry would remove now, and what would stay because others say it too.",
      description: "Errors: `log_not_found`.",
      params,
      response: { 200: deletionPreviewSchema },
    },
    handler: async (request) => logs.preview(principalOf(request), request.params.logId),
  });
}

/** The seed's route, and the same for who is behind a proxy that takes the body of a DELETE away. */
function addDeleteRoutes({ app, originOf, principalOf }: RouteServer, logs: Logs): void {
  const ways = [
    { method: "DELETE", url: "/api/v1/logs/:logId", operationId: "deleteLog", more: "" },
    {
      method: "POST",
      url: "/api/v1/logs/:logId/delete",
      operationId: "deleteLogByPost",
      more: " For callers behind a proxy that takes the body of a DELETE away.",
    },
  ] as const;
  for (const { method, url, operationId, more } of ways) {
    app.route({
      method,
      url,
      config,
      schema: {
        operationId,
        tags,
        summary: `Deletes a log entry with the records derived from it, for good.${more}`,
        description: about,
        params,
        body: deleteLogInputSchema,
        response: { 200: logDeletionSchema },
      },
      preValidation: async ({ body }) => {
        if (body !== undefined) return;
        throw new PosternError(
          "invalid_request",
          'The body is missing: {"id": "<the entry\'s id>"}. Where something on the way takes it away, use POST /api/v1/logs/<id>/delete.',
        );
      },
      handler: async (request) => {
        const { logId } = request.params;
        if (request.body.id !== logId) {
          throw new PosternError("id_mismatch", "The body names another log entry than the path. Nothing was deleted.");
        }
        const principal = principalOf(request);
        return logs.delete(principal, logId, deletionOrigin(principal, originOf(request)));
      },
    });
  }
}

function addDeleteSessionRoute({ app, originOf, principalOf }: RouteServer, logs: Logs): void {
  app.route({
    method: "DELETE",
    url: "/api/v1/logs",
    config,
    schema: {
      operationId: "deleteSessionLogs",
      tags,
      summary: "Deletes all log entries of a session, for good, in one transaction.",
      description:
        "The agent's transcript stays; its turns are not recorded again until somebody asks for it. Errors: `invalid_request` without " +
        "`confirm=true`, `log_not_found` when there is no entry of it.",
      querystring: z.strictObject({
        sessionId: logSessionIdSchema,
        confirm: z.literal("true", { error: "This cannot be undone. Say `confirm=true`." }),
      }),
      response: { 200: sessionLogDeletionSchema },
    },
    handler: async (request) => {
      const principal = principalOf(request);
      return logs.deleteSession(principal, request.query.sessionId, deletionOrigin(principal, originOf(request)));
    },
  });
}

/** What the audit keeps of who deleted. */
function deletionOrigin(principal: Principal, from: AuditOrigin): DeletionOrigin {
  const { app, browserSessionId, kind, tokenId } = principal;
  const credential = app?.appId ?? (kind === "jwt" ? null : (tokenId ?? browserSessionId));
  return { actor: credential === null ? kind : `${kind} ${credential}`, ...from };
}
