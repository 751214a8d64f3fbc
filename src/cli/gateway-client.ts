import { type IncomingMessage, request } from "node:http";
import {
  createClient,
  errorOfAnswer,
  type FetchInit,
  type PosternClient,
  PosternClientError,
} from "../client/index.ts";
import { isErrno, PosternError } from "../core/errors.ts";

/**
 * Calls the gateway that listens on `socketPath`, as the owner. Nothing is opened until the first call. Methods throw a
 * {@link PosternError} with the gateway's own code, or `gateway_not_running`.
 */
export function createGatewayClient(socketPath: string): PosternClient {
  return createClient({
    baseUrl: "http://localhost",
    fetch: (url, init) => fetchThrough(socketPath, url, init),
    mapError(error) {
      if (error instanceof PosternClientError) return refusalOf(error);
      return error instanceof Error ? connectionError(error, socketPath) : error;
    },
  });
}

/** `fetch` through a Unix socket, which Node's own `fetch` does not support. */
function fetchThrough(
  socketPath: string,
  url: string,
  { method, headers, body, signal }: FetchInit,
): Promise<Response> {
  const { pathname, search } = new URL(url);
  return new Promise((resolve, reject) => {
    // Node would leave out the body of a DELETE of unknown length.
    const length = body === undefined ? {} : { "content-length": Buffer.byteLength(body) };
    const all = { ...headers, ...length };
    const options = { socketPath, path: pathname + search, method, headers: all, signal, agent: false };
    const outgoing = request(options, (incoming) => {
      const { statusCode: status = 0, headers: answered } = incoming;
      const retryAfter = answered["retry-after"];
      resolve(
        new Response(status === 204 ? null : streamOf(incoming), {
          status,
          headers: retryAfter === undefined ? {} : { "retry-after": retryAfter },
        }),
      );
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

function streamOf(incoming: IncomingMessage): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      incoming.on("data", (chunk: Buffer) => {
        controller.enqueue(chunk);
        if ((controller.desiredSize ?? 0) <= 0) incoming.pause();
      });
      incoming.on("end", () => controller.close());
      incoming.on("error", (error) => controller.error(error));
    },
    pull: () => void incoming.resume(),
    cancel: () => void incoming.destroy(),
  });
}

/** Converts a failed call to an error in the command line's words. */
function refusalOf(error: PosternClientError): PosternError {
  const { code, message, status, fields, details } = error;
  if (code === "timeout")
    return new PosternError("internal_error", `${message} Check it with \`postern doctor\`.`, { cause: error });
  if (code === "unreadable_answer") {
    const hint = status < 400 ? "" : " See its log for details.";
    return new PosternError("internal_error", `${message}${hint}`, { cause: error });
  }
  const named = fields.map((field) => `${field.path}: ${field.message}`);
  const missing = named.filter((field) => !message.includes(field)).join("; "); // the error's detail already contains the first field
  return new PosternError(code, missing === "" ? message : `${message} ${missing}`, {
    details: { status, ...details },
  });
}

/** Explains a failed connection. */
export function connectionError(error: Error, socketPath: string): Error {
  if (isErrno(error, "ENOENT", "ENOTDIR", "ECONNREFUSED", "ENOTSOCK")) {
    return new PosternError(
      "gateway_not_running",
      `No gateway is listening on ${socketPath}. Start it with \`postern serve\`.`,
      { cause: error },
    );
  }
  if (isErrno(error, "EACCES", "EPERM")) {
    return new PosternError(
      "unauthenticated",
      `The gateway at ${socketPath} belongs to another user. Run this command as that user.`,
      {
        cause: error,
      },
    );
  }
  if (isErrno(error, "ECONNRESET", "EPIPE")) {
    return new PosternError(
      "gateway_not_running",
      "The gateway stopped before it answered. Agents keep running. Restart it with `postern serve`.",
      {
        cause: error,
      },
    );
  }
  return error;
}

/** The error in an answer. */
export function problemOf({ status, text }: { readonly status: number; readonly text: string }): PosternError {
  return refusalOf(errorOfAnswer(status, parseJson(text)));
}

/** Undefined for invalid JSON, which every schema here refuses. */
export function parseJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}
