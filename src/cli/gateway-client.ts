import { request } from "node:http";
import type { z } from "zod";
import { isErrno, PosternError } from "../core/errors.ts";
import { problemSchema } from "../wire/problem.ts";

/** More than an answer of 1,000 turns takes; a bound, not an expectation. */
const maxAnswerBytes = 64 * 1024 * 1024;
/** Beyond the gateway's own wait; then it is stuck. */
const patienceMs = 60_000;

/** Calls the coding tools of a running gateway as the owner, through its Unix socket. */
export interface GatewayClient {
  /**
   * @throws PosternError with the gateway's own code, or `gateway_not_running`
   */
  call<T>(tool: string, options: { readonly input: object; readonly output: z.ZodType<T> }): Promise<T>;
}

/** A client of the gateway that listens on `socketPath`; nothing is opened until the first call. */
export function createGatewayClient(socketPath: string): GatewayClient {
  return {
    async call(tool, { input, output }) {
      const waitMs = "waitMs" in input && typeof input.waitMs === "number" ? input.waitMs : 0;
      const answer = await post(socketPath, {
        path: `/api/coding/${tool}`,
        body: JSON.stringify(input),
        timeoutMs: waitMs + patienceMs,
      });
      if (answer.status !== 200) throw problemOf(answer);
      const parsed = output.safeParse(parseJson(answer.text));
      if (parsed.success) return parsed.data;
      throw new PosternError(
        "internal_error",
        `The gateway's answer to ${tool} does not fit this command: are both of one version?`,
        {
          cause: parsed.error,
        },
      );
    },
  };
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

function post(socketPath: string, call: { path: string; body: string; timeoutMs: number }): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(call.body),
      host: "localhost",
    };
    const outgoing = request({ socketPath, path: call.path, method: "POST", headers, agent: false }, (incoming) => {
      const chunks: Buffer[] = [];
      let sizeBytes = 0;
      incoming.on("data", (chunk: Buffer) => {
        sizeBytes += chunk.length;
        if (sizeBytes > maxAnswerBytes)
          incoming.destroy(new PosternError("too_large", "The gateway's answer is too large."));
        else chunks.push(chunk);
      });
      incoming.on("error", (error) => reject(connectionError(error, socketPath)));
      incoming.on("end", () =>
        resolve({ status: incoming.statusCode ?? 0, text: Buffer.concat(chunks).toString("utf8") }),
      );
    });
    outgoing.setTimeout(call.timeoutMs, () => {
      outgoing.destroy(
        new PosternError("internal_error", `The gateway did not answer within ${call.timeoutMs / 1000} s.`),
      );
    });
    outgoing.on("error", (error) => reject(connectionError(error, socketPath)));
    outgoing.end(call.body);
  });
}

function connectionError(error: Error, socketPath: string): Error {
  if (isErrno(error, "ENOENT", "ECONNREFUSED", "ENOTSOCK")) {
    return new PosternError(
      "gateway_not_running",
      `No gateway listens on ${socketPath}. Start it with \`postern serve\`.`,
      { cause: error },
    );
  }
  if (isErrno(error, "EACCES", "EPERM")) {
    return new PosternError(
      "unauthenticated",
      `The gateway at ${socketPath} belongs to another user. Run this as its owner.`,
      {
        cause: error,
      },
    );
  }
  if (isErrno(error, "ECONNRESET", "EPIPE")) {
    return new PosternError(
      "gateway_not_running",
      "The gateway went away before it answered. Agents live on; see `postern serve`.",
      {
        cause: error,
      },
    );
  }
  return error;
}

function problemOf(answer: Answer): PosternError {
  const parsed = problemSchema.safeParse(parseJson(answer.text));
  if (!parsed.success)
    return new PosternError("internal_error", `The gateway answered with status ${answer.status}. Its log says why.`);
  const { code, detail, errors = [], type: _type, title: _title, status, ...details } = parsed.data;
  const fields = errors.map(({ path, message }) => ` ${path}: ${message}`).join(";");
  return new PosternError(code, `${detail}${fields}`, { details: { status, ...details } });
}

function parseJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return undefined; // the schema then refuses it, with the status in the message
  }
}
