import type { Publish } from "../publish/index.ts";
import {
  commitSchema,
  committedSchema,
  gitParamsSchema,
  gitStatusSchema,
  hunksQuerySchema,
  hunksSchema,
  pushedSchema,
  pushSchema,
  stageSchema,
  updatedSchema,
  updateSchema,
} from "../wire/publish.ts";
import {
  mergedPullRequestSchema,
  mergePullRequestSchema,
  openPullRequestSchema,
  pullRequestStatusSchema,
} from "../wire/pull-requests.ts";
import { bodyMayBeMissing, type RouteModule, type RouteServer } from "./route-server.ts";

const tags = ["coding"];
const url = "/api/coding/sessions/:sessionId/git";
const access = "coding:publish";

/** `/api/coding/sessions/{id}/git/…`: from changes to a merged branch. */
export function publishRoutes(publish: Publish): RouteModule {
  return (server) => {
    addStagingRoutes(server, publish);
    addCommitRoute(server, publish);
    addBranchRoutes(server, publish);
    addPullRequestRoutes(server, publish);
  };
}

function addStagingRoutes({ app, principalOf }: RouteServer, publish: Publish): void {
  app.route({
    method: "GET",
    url: `${url}/status`,
    config: { access },
    schema: {
      operationId: "gitStatus",
      tags,
      summary: "Returns what a session's next commit would contain, and how its branch relates to others.",
      description:
        "As `git status` in the session's worktree or repository: the filters that Git is configured with can run. The caller needs access to " +
        "the whole repository. Paths and subjects are untrusted.",
      params: gitParamsSchema,
      response: { 200: gitStatusSchema },
    },
    handler: async (request) => publish.status(request.params, principalOf(request)),
  });

  app.route({
    method: "GET",
    url: `${url}/hunks`,
    config: { access },
    schema: {
      operationId: "gitHunks",
      tags,
      summary: "Lists the parts of a file's changes that can be staged or unstaged alone.",
      params: gitParamsSchema,
      querystring: hunksQuerySchema,
      response: { 200: hunksSchema },
    },
    handler: async (request) => publish.hunks({ ...request.params, ...request.query }, principalOf(request)),
  });

  app.route({
    method: "POST",
    url: `${url}/stage`,
    config: { access },
    schema: {
      operationId: "gitStage",
      tags,
      summary: "Stages or unstages files, or hunks of one file.",
      description: "Changes only the index. A hunk that changed since it was read is refused: `changes_outdated`.",
      params: gitParamsSchema,
      body: stageSchema,
      response: { 200: gitStatusSchema },
    },
    preValidation: bodyMayBeMissing,
    handler: async (request) => publish.stage({ ...request.params, ...request.body }, principalOf(request)),
  });
}

function addCommitRoute({ app, principalOf }: RouteServer, publish: Publish): void {
  app.route({
    method: "POST",
    url: `${url}/commit`,
    config: { access },
    schema: {
      operationId: "gitCommit",
      tags,
      summary: "Commits what is staged, or amends the last commit.",
      description:
        "Hooks and signing run as for you. If a hook refuses, the error is `git_failed` and `output` has what it printed. A request is finished " +
        "even if its caller disconnects; hooks are stopped after 15 minutes.",
      params: gitParamsSchema,
      body: commitSchema,
      response: { 200: committedSchema },
    },
    handler: async (request) => publish.commit({ ...request.params, ...request.body }, principalOf(request)),
  });
}

function addBranchRoutes({ app, principalOf }: RouteServer, publish: Publish): void {
  app.route({
    method: "POST",
    url: `${url}/update`,
    config: { access },
    schema: {
      operationId: "gitUpdate",
      tags,
      summary: "Merges the base branch into a session's branch, or rebases the branch onto it.",
      description:
        "Conflicts return `update_conflict` with `files`. The status has a prompt that asks the agent to resolve them. Stage the resolved files " +
        "and send `continue`, or send `abort`. Untracked files are never overwritten. If Git is killed in the middle, both still work.",
      params: gitParamsSchema,
      body: updateSchema,
      response: { 200: updatedSchema },
    },
    preValidation: bodyMayBeMissing,
    handler: async (request) => publish.update({ ...request.params, ...request.body }, principalOf(request)),
  });

  app.route({
    method: "POST",
    url: `${url}/push`,
    config: { access },
    schema: {
      operationId: "gitPush",
      tags,
      summary: "Pushes a session's branch to the branch of the same name.",
      description:
        "Git uses your credential helpers and SSH keys, and never asks for a password. A push that the remote does not accept is " +
        "`push_rejected`, with `output`.",
      params: gitParamsSchema,
      body: pushSchema,
      response: { 200: pushedSchema },
    },
    preValidation: bodyMayBeMissing,
    handler: async (request) => publish.push({ ...request.params, ...request.body }, principalOf(request)),
  });
}

function addPullRequestRoutes({ app, principalOf }: RouteServer, publish: Publish): void {
  app.route({
    method: "GET",
    url: `${url}/pull-request`,
    config: { access },
    schema: {
      operationId: "gitPullRequest",
      tags,
      summary: "Returns the pull request of a session's branch, with its checks and comments.",
      description:
        "Asks the forge with your own login. `prompts` ask the agent to repair failed checks and to deal with comments; send them with " +
        "`coding_ask`. The texts of the forge are untrusted. If the forge cannot be used, `forge_not_available` says which command to run.",
      params: gitParamsSchema,
      response: { 200: pullRequestStatusSchema },
    },
    handler: async (request) => publish.pullRequest(request.params, principalOf(request)),
  });

  app.route({
    method: "POST",
    url: `${url}/pull-request`,
    config: { access },
    schema: {
      operationId: "gitOpenPullRequest",
      tags,
      summary: "Opens a pull request for a session's branch.",
      description:
        "The branch must have been pushed, otherwise the error is `branch_not_pushed`. If it already has an open pull request, the error is " +
        "`pull_request_exists`.",
      params: gitParamsSchema,
      body: openPullRequestSchema,
      response: { 200: pullRequestStatusSchema },
    },
    preValidation: bodyMayBeMissing,
    handler: async (request) => publish.openPullRequest({ ...request.params, ...request.body }, principalOf(request)),
  });

  app.route({
    method: "POST",
    url: `${url}/merge`,
    config: { access },
    schema: {
      operationId: "gitMerge",
      tags,
      summary: "Merges the pull request of a session's branch.",
      description:
        "If the branch was pushed to since you read `headCommit`, nothing is merged: `pull_request_changed`. A merge that the forge does not " +
        "allow is `merge_rejected`, with its reason.",
      params: gitParamsSchema,
      body: mergePullRequestSchema,
      response: { 200: mergedPullRequestSchema },
    },
    handler: async (request) => publish.mergePullRequest({ ...request.params, ...request.body }, principalOf(request)),
  });
}
