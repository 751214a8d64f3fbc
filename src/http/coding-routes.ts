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
        summary: "Allocates or resumes a terminal without sending a prompt.",
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
    // A tool without required fields may be called without a body.
    preValidation: bodyMayBeMissing,
    handler: async (request, reply) => tool.run(request.body, principalOf(request), signalOf(reply)),
  });
}

const tags = ["coding"];
const params = z.strictObject({ sessionId: textSchema(200) });

interface ChangesRoutesDeps {
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

/** `/api/coding/rescue_…`: what closed worktrees left behind. For people: an LLM caller is not offered these. */
export function rescueRoutes({ rescues }: { readonly rescues: Rescues }): RouteModule {
  return ({ app, principalOf }) => {
    app.route({
      method: "POST",
      url: "/api/coding/rescue_list",
      config: { access: "coding:read" },
      schema: {
        operationId: "rescueList",
        tags,
        summary: "Lists the work that removed worktrees would have taken with them.",
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
        summary: "Lists the paths in a session's rescue.",
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
        summary: "Puts a rescue into its session's worktree, which is made anew when it is gone.",
        description: "Files that were changed since are not overwritten without `force`: then nothing is restored.",
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
        summary: "Forgets a rescue for good.",
        body: rescueInputSchema,
        response: { 200: rescueSchema },
      },
      handler: async (request) => rescues.drop(request.body, principalOf(request)),
    });
  };
}
