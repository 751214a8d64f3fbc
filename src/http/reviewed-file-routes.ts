import { basename } from "node:path";
import { Readable } from "node:stream";
import { z } from "zod";
import type { Principal } from "../accounts/index.ts";
import type { ImageType } from "../core/image-types.ts";
import { type LookAtChanges, lookSchema } from "../wire/changes.ts";
import {
  type ReviewedFile,
  type ReviewedFileQuery,
  reviewedFileQuerySchema,
  reviewedFileSchema,
} from "../wire/reviewed-files.ts";
import { textSchema } from "../wire/text.ts";
import { fileHeaders, sendFile } from "./attachment-routes.ts";
import type { RouteModule } from "./route-server.ts";

const tags = ["coding"];
const params = z.strictObject({ sessionId: textSchema(200) });

interface ReviewedFileDeps {
  readonly look: (sessionId: string, principal: Principal) => Promise<LookAtChanges>;
  readonly file: (sessionId: string, principal: Principal, query: ReviewedFileQuery) => Promise<ReviewedFile>;
  readonly image: (
    sessionId: string,
    principal: Principal,
    query: ReviewedFileQuery,
  ) => Promise<{ readonly mediaType: ImageType; readonly bytes: Buffer }>;
}

/** `/api/coding/sessions/{id}/file`: the files of a session's diff, before and after. */
export function reviewedFileRoutes({ look, file, image }: ReviewedFileDeps): RouteModule {
  return ({ app, principalOf }) => {
    app.route({
      method: "POST",
      url: "/api/coding/sessions/:sessionId/look",
      config: { access: "coding:read" },
      schema: {
        operationId: "lookAtChanges",
        tags,
        summary: "Remembers the files of a session as your account sees them now.",
        description:
          "The diff with `against=seen` shows what changed since this call, once a later call finds other files. Nothing in the repository changes: " +
          "Postern keeps uncommitted files in its state folder, up to 5,000 files and 64 MB, for the 100 sessions looked at last, until the session is forgotten.",
        params,
        response: { 200: lookSchema },
      },
      handler: async (request) => look(request.params.sessionId, principalOf(request)),
    });

    app.route({
      method: "GET",
      url: "/api/coding/sessions/:sessionId/file",
      config: { access: "coding:read" },
      schema: {
        operationId: "getReviewedFile",
        tags,
        summary: "Returns the old or new version of a changed file.",
        description:
          "The same files as in the session's diff, with the same scopes: a file outside of its worktree or repository, behind a symbolic link or in `.git` " +
          "is not there. Runs no code from the repository.",
        params,
        querystring: reviewedFileQuerySchema,
        response: { 200: reviewedFileSchema },
      },
      handler: async (request) => file(request.params.sessionId, principalOf(request), request.query),
    });

    app.route({
      method: "GET",
      url: "/api/coding/sessions/:sessionId/file/image",
      config: { access: "coding:read" },
      schema: {
        operationId: "getReviewedImage",
        tags,
        summary: "Returns the old or new version of a changed image.",
        description: "A PNG, JPEG, GIF or WebP image of up to 8 MB; the type is detected from the content.",
        params,
        querystring: reviewedFileQuerySchema,
        answerType: "application/octet-stream",
        response: { 200: z.string() },
      },
      handler: async (request, reply) => {
        const { query } = request;
        const { mediaType, bytes } = await image(request.params.sessionId, principalOf(request), query);
        await sendFile(reply, Readable.from([bytes]), {
          ...fileHeaders({ name: basename(query.path), mediaType }),
          "content-length": String(bytes.length),
          "cache-control": "no-store", // the file changes
        });
      },
    });
  };
}
