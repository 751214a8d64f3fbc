import { z } from "zod";
import type { Principal } from "../accounts/index.ts";
import type { FolderScripts } from "../sessions/index.ts";
import { type ScriptRun, scriptRunSchema, scriptRunsQuerySchema, scriptRunsSchema } from "../wire/folder-scripts.ts";
import { textSchema } from "../wire/text.ts";
import type { RouteModule } from "./route-server.ts";

interface FolderScriptRoutesDeps {
  readonly scripts: Pick<FolderScripts, "list" | "stop">;
  readonly rerun: (sessionId: string, principal: Principal) => Promise<ScriptRun>;
}

const tags = ["coding"];

/** Lists and repeats runs of setup and teardown scripts. */
export function folderScriptRoutes({ scripts, rerun }: FolderScriptRoutesDeps): RouteModule {
  return ({ app, principalOf }) => {
    app.route({
      method: "GET",
      url: "/api/coding/scripts",
      config: { access: "coding:read" },
      schema: {
        operationId: "listScripts",
        tags,
        summary: "Lists runs of setup and teardown scripts, latest first.",
        description:
          "Attach to the terminal of a run with its `scriptId`, even after it has ended. The last 50 runs since the start of the gateway are kept.",
        querystring: scriptRunsQuerySchema,
        response: { 200: scriptRunsSchema },
      },
      handler: async (request) => ({
        scripts: [...(await scripts.list(principalOf(request), request.query.sessionId))],
      }),
    });

    app.route({
      method: "POST",
      url: "/api/coding/sessions/:sessionId/setup",
      config: { access: "coding:write" },
      schema: {
        operationId: "runSetup",
        tags,
        summary: "Runs the folder's setup script again in a session's worktree.",
        params: z.strictObject({ sessionId: textSchema(200) }),
        response: { 202: scriptRunSchema },
      },
      handler: async (request, reply) =>
        reply.code(202).send(await rerun(request.params.sessionId, principalOf(request))),
    });

    app.route({
      method: "DELETE",
      url: "/api/coding/scripts/:scriptId",
      config: { access: "coding:write" },
      schema: {
        operationId: "stopScript",
        tags,
        summary: "Ends a running setup or teardown script and everything that it started.",
        params: z.strictObject({ scriptId: textSchema(200) }),
        response: { 200: scriptRunSchema },
      },
      handler: async (request) => scripts.stop(request.params.scriptId, principalOf(request)),
    });
  };
}
