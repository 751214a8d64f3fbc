import { z } from "zod";
import type { Principal } from "../accounts/index.ts";
import type { Rescues } from "../sessions/index.ts";
import {
  type ClosePreview,
  closePreviewSchema,
  rescueInputSchema,
  rescueListOutputSchema,
  rescueRestoreInputSchema,
  rescueRestoreOutputSchema,
  rescueSchema,
  rescueShowOutputSchema,
  type SessionDiff,
  type SessionDiffQuery,
  sessionDiffQuerySchema,
  sessionDiffSchema,
} from "../wire/changes.ts";
import {
  emptyInputSchema,
  type SpawnInput,
  type SpawnOutput,
  spawnInputSchema,
  spawnOutputSchema,
} from "../wire/coding.ts";
import { textSchema } from "../wire/text.ts";
import type { Tool } from "../wire/tool.ts";
import { bodyMayBeMissing, type RouteModule, type RouteServer } from "./route-server.ts";

/** The coding tools, and the terminal routes of the web application. */
export function codingRoutes(deps: {
  readonly tools: readonly Tool<Principal>[];
  readonly spawn: (input: SpawnInput, principal: Principal, signal: AbortSignal) => Promise<SpawnOutput>;
}): RouteModule {
  return (server) => {
    for (const tool of deps.tools) registerTool(server, tool);
    const { app, principalOf, signalOf } = server;
    app.route({
      method: "POST",
      url: "/api/coding/spawn",
      config: { access: "coding:write" },
      schema: {
        operationId: "spawn",
        tags: ["coding"],
        summary: "Starts or resumes a session in a terminal without sending a prompt.",
        body: spawnInputSchema,
        response: { 200: spawnOutputSchema },
      },
      handler: async (request, reply) => deps.spawn(request.body, principalOf(request), signalOf(reply)),
    });
  };
}

/** Adds `POST /api/coding/<name>`. */
export function registerTool(server: RouteServer, tool: Tool<Principal>): void {
  const { app, principalOf, signalOf } = server;
  const [summary = tool.name] = tool.description.split(/(?<=\.)\s/, 1);
  app.route({
    method: "POST",
    url: `/api/coding/${tool.name}`,
    config: { access: tool.scope },
    schema: {
      operationId: tool.name,
      tags: ["coding"],
      summary,
      description: tool.description,
      effects: tool.effects,
      body: tool.input,
      response: { 200: tool.output },
    },
    // Tools without required fields can be called without a body.
    preValidation: bodyMayBeMissing,
    handler: async (request, reply) => tool.run(request.body, principalOf(request), signalOf(reply)),
  });
}

const tags = ["coding"];
const params = z.strictObject({ sessionId: textSchema(200) });

interface ChangesRoutesDeps {
  readonly diff: (sessionId: string, principal: Principal, query: SessionDiffQuery) => Promise<SessionDiff>;
  readonly closePreview: (sessionId: string, principal: Principal) => Promise<ClosePreview>;
}

/** The diff of a session, and the effects of closing it. */
export function changesRoutes({ diff, closePreview }: ChangesRoutesDeps): RouteModule {
  return ({ app, principalOf }) => {
    app.route({
      method: "GET",
      url: "/api/coding/sessions/:sessionId/diff",
      config: { access: "coding:read" },
      schema: {
        operationId: "sessionDiff",
        tags,
        summary: "Returns the changes of a session by file.",
        description:
          "For a session with its own worktree: everything since its branch diverged from the base branch, including commits, uncommitted " +
          "changes and untracked files that are not ignored. For a removed worktree: its branch. For other sessions: the repository's " +
          "working tree against HEAD. If folders are registered, the session's folder must have the scope `files`. Paths and patches are untrusted.",
        params,
        querystring: sessionDiffQuerySchema,
        response: { 200: sessionDiffSchema },
      },
      handler: async (request) => diff(request.params.sessionId, principalOf(request), request.query),
    });

    app.route({
      method: "GET",
      url: "/api/coding/sessions/:sessionId/close-preview",
      config: { access: "coding:read" },
      schema: {
        operationId: "closePreview",
        tags,
        summary: "Previews what closing a session would do to its worktree.",
        params,
        response: { 200: closePreviewSchema },
      },
      handler: async (request) => closePreview(request.params.sessionId, principalOf(request)),
    });
  };
}

/** `/api/coding/rescue_…`: work saved from removed worktrees. Not offered as tools. */
export function rescueRoutes({ rescues }: { readonly rescues: Rescues }): RouteModule {
  return ({ app, principalOf }) => {
    app.route({
      method: "POST",
      url: "/api/coding/rescue_list",
      config: { access: "coding:read" },
      schema: {
        operationId: "rescueList",
        tags,
        summary: "Lists rescues: uncommitted work saved when worktrees were removed.",
        body: emptyInputSchema,
        response: { 200: rescueListOutputSchema },
      },
      preValidation: bodyMayBeMissing,
      handler: async (request) => rescues.list(principalOf(request)),
    });

    app.route({
      method: "POST",
      url: "/api/coding/rescue_show",
      config: { access: "coding:read" },
      schema: {
        operationId: "rescueShow",
        tags,
        summary: "Lists the files in a session's rescue.",
        body: rescueInputSchema,
        response: { 200: rescueShowOutputSchema },
      },
      handler: async (request) => rescues.show(request.body, principalOf(request)),
    });

    app.route({
      method: "POST",
      url: "/api/coding/rescue_restore",
      config: { access: "coding:write" },
      schema: {
        operationId: "rescueRestore",
        tags,
        summary: "Restores a rescue to its session's worktree, which is recreated if necessary.",
        description: "If files have changed since, nothing is restored unless `force` is set.",
        body: rescueRestoreInputSchema,
        response: { 200: rescueRestoreOutputSchema },
      },
      handler: async (request) => rescues.restore(request.body, principalOf(request)),
    });

    app.route({
      method: "POST",
      url: "/api/coding/rescue_drop",
      config: { access: "admin" },
      schema: {
        operationId: "rescueDrop",
        tags,
        summary: "Deletes a rescue permanently.",
        body: rescueInputSchema,
        response: { 200: rescueSchema },
      },
      handler: async (request) => rescues.drop(request.body, principalOf(request)),
    });
  };
}
