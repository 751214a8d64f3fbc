import { z } from "zod";
import type { Principal } from "../accounts/index.ts";
import type { Folders } from "../folders/index.ts";
import { addFolderInputSchema, folderSchema } from "../wire/access.ts";
import {
  type Branches,
  branchesQuerySchema,
  branchesSchema,
  type CompletedPaths,
  completedPathsSchema,
  completePathQuerySchema,
  type SessionDirs,
  sessionDirsSchema,
} from "../wire/changes.ts";
import {
  type Completions,
  type CompletionsQuery,
  completionsQuerySchema,
  completionsSchema,
} from "../wire/completion.ts";
import type { RouteModule } from "./route-server.ts";

const tags = ["folders"];

/** `/api/folders`: directories where agents can work. */
export function folderRoutes(deps: { readonly folders: Folders }): RouteModule {
  const { folders } = deps;
  return ({ app }) => {
    app.route({
      method: "GET",
      url: "/api/folders",
      config: { access: "admin" },
      schema: {
        operationId: "listFolders",
        tags,
        summary: "Lists registered folders. If there are none, agents can work in any directory.",
        response: { 200: z.object({ folders: z.array(folderSchema) }) },
      },
      handler: async () => ({ folders: [...(await folders.list())] }),
    });

    app.route({
      method: "POST",
      url: "/api/folders",
      config: { access: "admin" },
      schema: {
        operationId: "addFolder",
        tags,
        summary: "Registers a folder, or changes the settings of a registered one.",
        description:
          "The scope `coding` marks the folder as trusted: agents start in it without a trust prompt, and its hooks run.",
        body: addFolderInputSchema,
        response: { 201: folderSchema },
      },
      handler: async (request, reply) =>
        reply.code(201).send(await folders.add(request.body.path, request.body.scopes, request.body)),
    });

    app.route({
      method: "DELETE",
      url: "/api/folders",
      config: { access: "admin" },
      schema: {
        operationId: "removeFolder",
        tags,
        summary: "Unregisters a folder. The directory itself is kept.",
        querystring: z.strictObject({ path: z.string().min(1).max(4096) }),
        response: { 200: folderSchema },
      },
      handler: async (request) => folders.remove(request.query.path),
    });
  };
}

interface PlaceRoutesDeps {
  readonly complete: (path: string, principal: Principal) => Promise<CompletedPaths>;
  readonly branches: (dir: string, principal: Principal) => Promise<Branches>;
  readonly dirs: (principal: Principal) => Promise<SessionDirs>;
  readonly completions: (query: CompletionsQuery, principal: Principal) => Promise<Completions>;
}

/** Directories and branches for sessions, and completion of their prompts. */
export function placeRoutes({ complete, branches, dirs, completions }: PlaceRoutesDeps): RouteModule {
  return ({ app, principalOf }) => {
    app.route({
      method: "GET",
      url: "/api/folders/complete",
      config: { access: "coding:read" },
      schema: {
        operationId: "completePath",
        tags: ["folders"],
        summary: "Completes a partial directory path.",
        description:
          "Returns up to 100 directories in registered folders with the scope `files` or `coding`, sorted. If no folders are registered, " +
          "the owner can complete any directory. Hidden directories are listed only if the name you typed starts with a dot. For the owner, `~` is the home directory.",
        querystring: completePathQuerySchema,
        response: { 200: completedPathsSchema },
      },
      handler: async (request) => complete(request.query.path, principalOf(request)),
    });

    app.route({
      method: "GET",
      url: "/api/coding/branches",
      config: { access: "coding:read" },
      schema: {
        operationId: "listBranches",
        tags: ["coding"],
        summary: "Lists the branches of a directory's repository, for new worktrees.",
        querystring: branchesQuerySchema,
        response: { 200: branchesSchema },
      },
      handler: async (request) => branches(request.query.dir, principalOf(request)),
    });

    app.route({
      method: "GET",
      url: "/api/coding/dirs",
      config: { access: "coding:read" },
      schema: {
        operationId: "listDirs",
        tags: ["coding"],
        summary: "Lists the directories of all sessions, most recently used first.",
        response: { 200: sessionDirsSchema },
      },
      handler: async (request) => dirs(principalOf(request)),
    });

    app.route({
      method: "GET",
      url: "/api/coding/completions",
      config: { access: "coding:write" },
      schema: {
        operationId: "completePrompt",
        tags: ["coding"],
        summary: "Completes a file or a command in a prompt.",
        description:
          "Files and folders are from the directory of the session or the request, without the ones that Git ignores. Commands " +
          "include the agent's own, and the custom commands and skills of the user and the repository. Names and descriptions are untrusted.",
        querystring: completionsQuerySchema,
        response: { 200: completionsSchema },
      },
      handler: async (request) => completions(request.query, principalOf(request)),
    });
  };
}
