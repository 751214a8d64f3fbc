import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { FastifyReply } from "fastify";
import { z } from "zod";
import type { Principal } from "../accounts/index.ts";
import type { NewAttachment, StoredAttachment } from "../attachments/index.ts";
import { type Clock, systemClock } from "../core/clock.ts";
import { isErrno, PosternError } from "../core/errors.ts";
import { isImageType } from "../core/image-types.ts";
import {
  type Attachment,
  attachmentIdSchema,
  attachmentQuerySchema,
  attachmentSchema,
  maxAttachmentBytes,
} from "../wire/attachments.ts";
import { beginStream } from "./answers.ts";
import type { HttpApp, RouteModule, RouteServer } from "./route-server.ts";

export interface AttachmentRoutesDeps {
  /** @throws PosternError `session_not_found`, and the errors of `Attachments.add` */
  readonly add: (
    file: Pick<NewAttachment, "name" | "mediaType"> & { readonly sessionId: string | null },
    body: AsyncIterable<Uint8Array>,
    principal: Principal,
  ) => Promise<Attachment>;
  /** @throws PosternError `attachment_not_found` */
  readonly find: (attachmentId: string, principal: Principal) => Promise<StoredAttachment>;
  /** @throws PosternError `attachment_not_found` | `attachment_in_use` */
  readonly remove: (attachmentId: string, principal: Principal) => Promise<void>;
  readonly clock?: Clock;
}

const tags = ["coding"];
const params = z.strictObject({ attachmentId: attachmentIdSchema });
const uploadDescription = `The body is the file. It can be a PNG, JPEG, GIF or WebP image, a PDF, or UTF-8 text such as source code, of up to
20 MB; the type is detected from the content. Pass the \`attachmentId\` in \`attachments\` of \`coding_ask\`. Files that no prompt uses are
deleted after a day; used ones are deleted with the session's traces.`;

/** `/api/coding/attachments` */
export function attachmentRoutes(deps: AttachmentRoutesDeps): RouteModule {
  return (server) => {
    void server.app.register(async (app: HttpApp) => {
      // The body is a file of any type: the handler reads it as it arrives.
      app.removeAllContentTypeParsers();
      app.addContentTypeParser("*", (_request, _payload, done) => done(null));
      addUpload(app, server, deps);
    });
    addDownload(server, deps);
  };
}

function addUpload(
  app: HttpApp,
  { principalOf }: RouteServer,
  { add, clock = systemClock }: AttachmentRoutesDeps,
): void {
  app.route({
    method: "POST",
    url: "/api/coding/attachments",
    bodyLimit: maxAttachmentBytes,
    config: { access: "coding:write", slowBody: true },
    schema: {
      operationId: "addAttachment",
      tags,
      summary: "Uploads a file for a prompt.",
      description: uploadDescription,
      headers: z.looseObject({
        "x-file-name": z
          .string()
          .max(1_000)
          .optional()
          .describe("The file's name, percent-encoded as by `encodeURIComponent`. Defaults to `file`."),
      }),
      querystring: attachmentQuerySchema,
      bodyType: "application/octet-stream",
      response: { 201: attachmentSchema },
    },
    handler: async (request, reply) => {
      const { headers, query, raw } = request;
      stopReading(reply, clock);
      if (Number(headers["content-length"] ?? 0) > maxAttachmentBytes) {
        throw new PosternError("attachment_too_large", "The file is larger than 20 MB. Send a smaller one.");
      }
      const [mediaType = ""] = (headers["content-type"] ?? "").split(";", 1);
      const file = {
        name: fileNameOf(headers["x-file-name"]),
        mediaType: mediaType.trim() === "" ? null : mediaType.trim(),
        sessionId: query.sessionId ?? null,
      };
      // Does not destroy the request, because the response is sent on the same connection.
      const body = raw.iterator({ destroyOnReturn: false });
      return reply.code(201).send(await add(file, body, principalOf(request)));
    },
  });
}

function addDownload({ app, principalOf }: RouteServer, { find, remove }: AttachmentRoutesDeps): void {
  app.route({
    method: "GET",
    url: "/api/coding/attachments/:attachmentId",
    config: { access: "coding:read" },
    schema: {
      operationId: "getAttachment",
      tags,
      summary: "Returns an attachment.",
      description: "PNG, JPEG, GIF and WebP images are sent for display, other files as a download.",
      params,
      answerType: "application/octet-stream",
      response: { 200: z.string() },
    },
    handler: async (request, reply) => {
      const { attachmentId } = request.params;
      const attachment = await find(attachmentId, principalOf(request));
      const isThere = await stat(attachment.path).catch((error: unknown) => {
        if (isErrno(error, "ENOENT")) return null;
        throw error;
      });
      if (isThere === null)
        throw new PosternError("attachment_not_found", `The file of attachment ${attachmentId} is gone.`);
      await sendFile(reply, createReadStream(attachment.path), {
        ...fileHeaders(attachment),
        "content-length": String(isThere.size),
      });
    },
  });

  app.route({
    method: "DELETE",
    url: "/api/coding/attachments/:attachmentId",
    config: { access: "coding:write" },
    schema: {
      operationId: "removeAttachment",
      tags,
      summary: "Deletes an attachment.",
      params,
      response: { 204: z.undefined().describe("Deleted.") },
    },
    handler: async (request, reply) => {
      await remove(request.params.attachmentId, principalOf(request));
      return reply.code(204).send();
    },
  });
}

/** Sends a file as it is read. */
export async function sendFile(
  reply: FastifyReply,
  file: Readable,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  await pipeline(
    file,
    beginStream(reply.headers(headers), headers["content-type"] ?? "application/octet-stream"),
  ).catch(
    () => reply.raw.destroy(), // the client left, or now notices that the file is incomplete
  );
}

// Time for a client that is still sending to read why its file was refused.
const drainMs = 10_000;

function stopReading({ raw }: FastifyReply, clock: Clock): void {
  raw.once("finish", () => {
    if (!raw.req.complete) clock.after(drainMs, () => raw.req.complete || raw.req.socket.destroy());
  });
}

/** @throws PosternError `invalid_request` */
function fileNameOf(header: string | undefined): string {
  try {
    return decodeURIComponent(header ?? "file");
  } catch {
    throw new PosternError("invalid_request", "`X-File-Name` is not percent-encoded UTF-8.");
  }
}

/** Prevents browsers from running a file: the media type is fixed and not guessed, and a page made from the file has no rights. */
export function fileHeaders({
  name,
  mediaType,
}: Pick<Attachment, "name" | "mediaType">): Readonly<Record<string, string>> {
  const kind = isImageType(mediaType) ? "inline" : "attachment";
  return {
    "content-type": mediaType === "text/plain" ? "text/plain; charset=utf-8" : mediaType,
    "content-disposition": `${kind}; filename*=UTF-8''${encodeURIComponent(name).replaceAll(/['()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`)}`,
    "content-security-policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    // Its content never changes.
    "cache-control": "private, max-age=3600",
  };
}
