import { open } from "node:fs/promises";
import { request } from "node:http";
import { basename } from "node:path";
import { isErrno, PosternError } from "../core/errors.ts";
import { type Attachment, attachmentSchema, maxAttachmentBytes } from "../wire/attachments.ts";
import { connectionError, parseJson, problemOf } from "./gateway-client.ts";

/**
 * Uploads a file for a prompt while reading it.
 * @param path absolute
 * @throws PosternError `usage` if there is no such file, and the errors of the gateway
 */
export async function uploadFile(
  path: string,
  { socketPath, sessionId }: { readonly socketPath: string; readonly sessionId: string | undefined },
): Promise<Attachment> {
  const file = await open(path).catch((error: unknown) => {
    if (isErrno(error, "ENOENT", "ENOTDIR")) throw new PosternError("usage", `There is no file at ${path}.`);
    if (isErrno(error, "EACCES")) throw new PosternError("usage", `You cannot read ${path}.`);
    throw error;
  });
  try {
    const { size } = await requireFile(path, file.stat());
    const { status, text } = await send(file.createReadStream({ autoClose: false }), {
      socketPath,
      path: `/api/coding/attachments${sessionId === undefined ? "" : `?${new URLSearchParams({ sessionId }).toString()}`}`,
      headers: { "x-file-name": encodeURIComponent(basename(path)), "content-length": String(size) },
    });
    if (status !== 201) throw problemOf({ status, text });
    return attachmentSchema.parse(parseJson(text));
  } finally {
    await file.close();
  }
}

async function requireFile<T extends { readonly size: number; isFile(): boolean }>(
  path: string,
  found: Promise<T>,
): Promise<T> {
  const stats = await found;
  if (!stats.isFile()) throw new PosternError("usage", `${path} is not a file.`);
  if (stats.size > maxAttachmentBytes) {
    throw new PosternError(
      "attachment_too_large",
      `${path} is larger than ${maxAttachmentBytes / 1024 / 1024} MB. Attach a smaller file, or mention its path in the prompt.`,
    );
  }
  return stats;
}

function send(
  body: NodeJS.ReadableStream,
  to: { readonly socketPath: string; readonly path: string; readonly headers: Readonly<Record<string, string>> },
): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ ...to, method: "POST", agent: false }, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
      incoming.on("error", reject);
      incoming.on("end", () =>
        resolve({ status: incoming.statusCode ?? 0, text: Buffer.concat(chunks).toString("utf8") }),
      );
    });
    outgoing.on("error", (error) => reject(connectionError(error, to.socketPath)));
    body.on("error", reject);
    body.pipe(outgoing);
  });
}
