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

const about = `Deletes the entry and everything that only this entry states, in one transaction, and returns the number of deleted rows. Facts that
other entries also state are kept. With SQLite, the data is also erased from the database file; if a reader blocks this, \`message\` says that
it is pending. Of several concurrent calls, only one returns 200. Errors: \`unauthenticated\`, \`insufficient_scope\`, \`unsupported_media_type\`,
\`invalid_request\`, \`id_mismatch\` if the ids in body and path differ, \`log_not_found\` if the entry does not exist or belongs to another account.`;

/** Deletion of memory entries. */
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
      summary: "Returns what deleting an entry would remove, and what stays because other entries share it.",
      description: "Errors: `log_not_found`.",
      params,
      response: { 200: deletionPreviewSchema },
    },
    handler: async (request) => logs.preview(principalOf(request), request.params.logId),
  });
}

/** DELETE, and a POST route for clients behind a proxy that strips the body of DELETE requests. */
function addDeleteRoutes({ app, originOf, principalOf }: RouteServer, logs: Logs): void {
  const ways = [
    { method: "DELETE", url: "/api/v1/logs/:logId", operationId: "deleteLog", more: "" },
    {
      method: "POST",
      url: "/api/v1/logs/:logId/delete",
      operationId: "deleteLogByPost",
      more: " Use it behind proxies that strip the body of DELETE requests.",
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
        summary: `Permanently deletes a memory entry and everything extracted from it.${more}`,
        description: about,
        params,
        body: deleteLogInputSchema,
        response: { 200: logDeletionSchema },
      },
      preValidation: async ({ body }) => {
        if (body !== undefined) return;
        throw new PosternError(
          "invalid_request",
          'The body is missing. Send {"id": "<entry id>"}. If a proxy strips it, use POST /api/v1/logs/<id>/delete.',
        );
      },
      handler: async (request) => {
        const { logId } = request.params;
        if (request.body.id !== logId) {
          throw new PosternError("id_mismatch", "The ids in the body and the path differ. Nothing was deleted.");
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
      summary: "Permanently deletes all memory entries of a session in one transaction.",
      description:
        "The agent's transcript is kept. Its turns are recorded again only on request. Errors: `invalid_request` without " +
        "`confirm=true`, `log_not_found` if the session has no entries.",
      querystring: z.strictObject({
        sessionId: logSessionIdSchema,
        confirm: z.literal("true", { error: "This cannot be undone. Send `confirm=true`." }),
      }),
      response: { 200: sessionLogDeletionSchema },
    },
    handler: async (request) => {
      const principal = principalOf(request);
      return logs.deleteSession(principal, request.query.sessionId, deletionOrigin(principal, originOf(request)));
    },
  });
}

/** The caller, as recorded in the audit log. */
function deletionOrigin(principal: Principal, from: AuditOrigin): DeletionOrigin {
  const { app, browserSessionId, kind, tokenId } = principal;
  const credential = app?.appId ?? (kind === "jwt" ? null : (tokenId ?? browserSessionId));
  return { actor: credential === null ? kind : `${kind} ${credential}`, ...from };
}
