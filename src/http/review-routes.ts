import type { Reviews } from "../reviews/index.ts";
import {
  commentEditsSchema,
  commentParamsSchema,
  deletedCommentSchema,
  newCommentSchema,
  reviewCommentSchema,
  reviewCommentsSchema,
  reviewParamsSchema,
  reviewPromptSchema,
  sendReviewSchema,
  sentReviewSchema,
  viewedFilesSchema,
  viewFileInputSchema,
} from "../wire/reviews.ts";
import { bodyMayBeMissing, type RouteModule, type RouteServer } from "./route-server.ts";

const tags = ["coding"];
const url = "/api/coding/sessions/:sessionId/comments";

/** `/api/coding/sessions/{id}/comments` and `…/viewed`: the review of a session's changes. */
export function reviewRoutes(reviews: Reviews): RouteModule {
  return (server) => {
    addCommentRoutes(server, reviews);
    addSendRoutes(server, reviews);
    addViewedRoutes(server, reviews);
  };
}

function addCommentRoutes({ app, principalOf }: RouteServer, reviews: Reviews): void {
  app.route({
    method: "GET",
    url,
    config: { access: "coding:read" },
    schema: {
      operationId: "listReviewComments",
      tags,
      summary: "Lists your review comments on a session's changes.",
      description:
        "Comments belong to the account that made them. Each has the current line numbers of its lines, and is `outdated` if these lines are gone or ambiguous. If " +
        "folders are registered, the session's folder must have the scope `files`. Snippets are untrusted.",
      params: reviewParamsSchema,
      response: { 200: reviewCommentsSchema },
    },
    handler: async (request) => reviews.list(request.params.sessionId, principalOf(request)),
  });

  app.route({
    method: "POST",
    url,
    config: { access: "coding:write" },
    schema: {
      operationId: "addReviewComment",
      tags,
      summary: "Adds a comment on lines of a session's changes.",
      description:
        "With `snippet`, the comment is refused if the file has changed since you read it: `comment_text_changed`. An account can " +
        "have at most 500 comments on a session.",
      params: reviewParamsSchema,
      body: newCommentSchema,
      response: { 201: reviewCommentSchema },
    },
    handler: async (request, reply) =>
      reply.code(201).send(await reviews.add({ ...request.params, ...request.body }, principalOf(request))),
  });

  app.route({
    method: "PATCH",
    url: `${url}/:commentId`,
    config: { access: "coding:write" },
    schema: {
      operationId: "editReviewComment",
      tags,
      summary: "Changes a review comment's text, resolves it, or reopens it.",
      description: "The text of a comment that was sent cannot be changed, unless the same request reopens it.",
      params: commentParamsSchema,
      body: commentEditsSchema,
      response: { 200: reviewCommentSchema },
    },
    handler: async (request) => reviews.edit({ ...request.params, ...request.body }, principalOf(request)),
  });

  app.route({
    method: "DELETE",
    url: `${url}/:commentId`,
    config: { access: "coding:write" },
    schema: {
      operationId: "deleteReviewComment",
      tags,
      summary: "Deletes a review comment, and returns it.",
      params: commentParamsSchema,
      response: { 200: deletedCommentSchema },
    },
    handler: async (request) => reviews.remove(request.params, principalOf(request)),
  });
}

function addSendRoutes({ app, principalOf }: RouteServer, reviews: Reviews): void {
  app.route({
    method: "GET",
    url: `${url}/prompt`,
    config: { access: "coding:read" },
    schema: {
      operationId: "previewReview",
      tags,
      summary: "Returns the prompt that sending your open comments would create.",
      params: reviewParamsSchema,
      response: { 200: reviewPromptSchema },
    },
    handler: async (request) => reviews.preview(request.params, principalOf(request)),
  });

  app.route({
    method: "POST",
    url: `${url}/send`,
    config: { access: "coding:write" },
    schema: {
      operationId: "sendReview",
      tags,
      summary: "Sends your open comments to the agent as one prompt.",
      description:
        "The prompt names each path and its lines, and quotes the code and the comment. As with `coding_ask`, the prompt is queued " +
        "while a turn runs, and a stopped session is resumed. The comments become `sent`, and `answered` when the turn of the prompt " +
        "has ended. If the prompt does not reach the agent, they become open again. Where a quoted `@path` would make the agent read a file outside its directory, " +
        "`@` is written as `＠`.",
      params: reviewParamsSchema,
      body: sendReviewSchema,
      response: { 200: sentReviewSchema },
    },
    preValidation: bodyMayBeMissing,
    handler: async (request) => reviews.send({ ...request.params, ...request.body }, principalOf(request)),
  });
}

function addViewedRoutes({ app, principalOf }: RouteServer, reviews: Reviews): void {
  const viewed = "/api/coding/sessions/:sessionId/viewed";
  app.route({
    method: "GET",
    url: viewed,
    config: { access: "coding:read" },
    schema: {
      operationId: "listViewedFiles",
      tags,
      summary: "Lists the changed files that you marked as viewed.",
      params: reviewParamsSchema,
      response: { 200: viewedFilesSchema },
    },
    handler: async (request) => reviews.viewed(request.params.sessionId, principalOf(request)),
  });

  app.route({
    method: "PUT",
    url: viewed,
    config: { access: "coding:write" },
    schema: {
      operationId: "markFileViewed",
      tags,
      summary: "Marks a changed file as viewed, or as not viewed.",
      description:
        "`version` is any text that identifies what you viewed, such as a hash of the patch. The mark applies only to this version.",
      params: reviewParamsSchema,
      body: viewFileInputSchema,
      response: { 200: viewedFilesSchema },
    },
    handler: async (request) => reviews.view({ ...request.params, ...request.body }, principalOf(request)),
  });
}
