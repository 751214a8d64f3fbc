import { z } from "zod";
import type { Principal } from "../accounts/index.ts";
import { type ClosePreview, closePreviewSchema, type SessionDiff, sessionDiffSchema } from "../wire/changes.ts";
import { textSchema } from "../wire/text.ts";
import type { RouteModule } from "./route-server.ts";

const tags = ["coding"];
const params = z.strictObject({ sessionId: textSchema(200) });

/** What {@link changesRoutes} needs. */
export interface ChangesRoutesDeps {
  readonly diff: (sessionId: string, principal: Principal) => Promise<SessionDiff>;
  readonly closePreview: (sessionId: string, principal: Principal) => Promise<ClosePreview>;
}

/** What a session changed, and what its close would do. */
export function changesRoutes({ diff, closePreview }: ChangesRoutesDeps): RouteModule {
  return ({ app, principalOf }) => {
    app.route({
      method: "GET",
      url: "/api/coding/sessions/:sessionId/diff",
      config: { access: "coding:read" },
      schema: {
        operationId: "sessionDiff",
        tags,
        summary: "What a session changed, file by file.",
        description:
          "Of a session with a worktree of its own: the worktree against the commit where its branch left the base branch, so commits of " +
          "the session are in it, and what is not committed, and untracked files that are not ignored. Of a removed worktree: its branch. " +
          "Of any other session: its repository's work tree against HEAD. Needs the scope `files` in the session's folder where folders " +
          "are registered. Paths and patches are untrusted: they come from the repository.",
        params,
        response: { 200: sessionDiffSchema },
      },
      handler: async (request) => diff(request.params.sessionId, principalOf(request)),
    });

    app.route({
      method: "GET",
      url: "/api/coding/sessions/:sessionId/close-preview",
      config: { access: "coding:read" },
      schema: {
        operationId: "closePreview",
        tags,
        summary: "What closing a session would do to its worktree.",
        params,
        response: { 200: closePreviewSchema },
      },
      handler: async (request) => closePreview(request.params.sessionId, principalOf(request)),
    });
  };
}
