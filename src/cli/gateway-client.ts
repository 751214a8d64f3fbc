import { request } from "node:http";
import type { z } from "zod";
import { isErrno, PosternError } from "../core/errors.ts";
import { problemSchema } from "../wire/problem.ts";

/** More than a response with 1,000 turns needs. */
const maxAnswerBytes = 64 * 1024 * 1024;
/** On top of the wait that was asked for. */
const patienceMs = 60_000;

/** Calls the coding tools of a running gateway as the owner, through its Unix socket. */
export interface GatewayClient {
  /**
   * @throws PosternError with the gateway's own code, or `gateway_not_running`
   */
  call<T>(tool: string, options: { readonly input: object; readonly output: z.ZodType<T> }): Promise<T>;
  /**
   * Any other route.
   * @throws PosternError with the gateway's own code, or `gateway_not_running`
   */
  send<T>(
    route: { readonly method: "GET" | "POST" | "DELETE"; readonly path: string; readonly body?: object },
    output: z.ZodType<T>,
  ): Promise<T>;
}

/** A client of the gateway that listens on `socketPath`; nothing is opened until the first call. */
export function createGatewayClient(socketPath: string): GatewayClient {
  return {
    async call(tool, { input, output }) {
      const waitMs = "waitMs" in input && typeof input.waitMs === "number" ? input.waitMs : 0;
      const answer = await exchange(socketPath, {
        method: "POST",
        path: `/api/coding/${tool}`,
        body: JSON.stringify(input),
        timeoutMs: waitMs + patienceMs,
      });
      return read(answer, { of: tool, output });
    },
    async send({ method, path, body }, output) {
      const text = body === undefined ? "" : JSON.stringify(body);
      const answer = await exchange(socketPath, { method, path, body: text, timeoutMs: patienceMs });
      return read(answer, { of: path, output });
    },
  };
}

function read<T>(answer: Answer, { of, output }: { readonly of: string; readonly output: z.ZodType<T> }): T {
  if (answer.status < 200 || answer.status > 299) throw problemOf(answer);
  const parsed = output.safeParse(parseJson(answer.text));
  if (parsed.success) return parsed.data;
  throw new PosternError(
    "internal_error",
    `The gateway's answer to ${of} does not match this command. Do both have the same version?`,
    { cause: parsed.error },
  );
}

/** A whole answer. */
export interface Answer {
  readonly status: number;
  readonly text: string;
}

function exchange(
  socketPath: string,
  call: { method: string; path: string; body: string; timeoutMs: number },
): Promise<Answer> {
  const { method, path, body } = call;
  return new Promise((resolve, reject) => {
    const content = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    const headers = { ...(body === "" ? {} : content), host: "localhost" };
    const outgoing = request({ socketPath, path, method, headers, agent: false }, (incoming) => {
      const chunks: Buffer[] = [];
      let sizeBytes = 0;
      incoming.on("data", (chunk: Buffer) => {
        sizeBytes += chunk.length;
        if (sizeBytes > maxAnswerBytes)
          incoming.destroy(new PosternError("too_large", "The gateway's response is too large."));
        else chunks.push(chunk);
      });
      incoming.on("error", (error) => reject(connectionError(error, socketPath)));
      incoming.on("end", () =>
        resolve({ status: incoming.statusCode ?? 0, text: Buffer.concat(chunks).toString("utf8") }),
      );
    });
    outgoing.setTimeout(call.timeoutMs, () => {
      outgoing.destroy(
        new PosternError(
          "internal_error",
          `The gateway did not respond within ${call.timeoutMs / 1000} s. Check it with \`postern doctor\`.`,
        ),
      );
    });
    outgoing.on("error", (error) => reject(connectionError(error, socketPath)));
    outgoing.end(call.body);
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
      "The gateway stopped before it answered. Agents keep running. Start it with `postern serve`.",
      {
        cause: error,
      },
    );
  }
  return error;
}

/** The error in a response. */
export function problemOf(answer: Answer): PosternError {
  const parsed = problemSchema.safeParse(parseJson(answer.text));
  if (!parsed.success)
    return new PosternError(
      "internal_error",
      `The gateway answered with status ${answer.status}. See its log for details.`,
    );
  const { code, detail, errors = [], type: _type, title: _title, status, ...details } = parsed.data;
  const fields = errors.map(({ path, message }) => `${path}: ${message}`);
  const missing = fields.filter((field) => !detail.includes(field)).join("; "); // the detail has the first
  return new PosternError(code, missing === "" ? detail : `${detail} ${missing}`, { details: { status, ...details } });
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

/** A path with the query parameters that are set. */
export function withQuery(path: string, query: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`;
}
