import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import fastify from "fastify";
import { serializerCompiler, validatorCompiler, type ZodTypeProvider } from "fastify-type-provider-zod";
import { hasCode, messageOf, PosternError } from "../core/errors.ts";
import { newUuid } from "../core/ids.ts";
import type { Log } from "../core/log.ts";
import type { ChallengedRequest } from "./problem-response.ts";
import { toProblem } from "./problem-response.ts";
import type { HttpApp } from "./route-server.ts";

export interface AppDeps {
  readonly bodyLimitBytes: number;
  readonly trustedProxies: readonly string[];
  readonly log: Log;
  /** @throws PosternError `origin_not_allowed` if the host is unknown */
  readonly challenged: (request: FastifyRequest) => ChallengedRequest;
}

/** Fastify with zod schemas, JSON bodies, problem documents, and an access log without paths. */
export function createFastifyApp({ bodyLimitBytes, trustedProxies, log, challenged }: AppDeps): HttpApp {
  const app = fastify({
    logger: false,
    ...(trustedProxies.length === 0 ? {} : { trustProxy: [...trustedProxies] }),
    bodyLimit: bodyLimitBytes,
    genReqId: () => newUuid(),
    return503OnClosing: false,
    routerOptions: { maxParamLength: 500 },
    schemaController: { compilersFactory: { buildValidator: neverBuilt, buildSerializer: neverBuilt } },
    // Handles invalid URLs, for which Fastify runs no hook.
    frameworkErrors: (error, request, reply) => {
      answerError(error, { request, reply, log, challenged });
      logRequest(request, { reply, log });
    },
  }).withTypeProvider<ZodTypeProvider>();
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
  acceptJsonOnly(app);
  app.setErrorHandler((error, request, reply) => answerError(error, { request, reply, log, challenged }));
  app.addHook("onResponse", async (request, reply) => logRequest(request, { reply, log }));
  return app;
}

/** Replaces Fastify's compilers. They are unused with zod, and would add 40 ms to each start. */
function neverBuilt(): never {
  throw new Error("Schemas of routes are zod schemas.");
}

interface Answering {
  readonly reply: FastifyReply;
  readonly log: Log;
}

function logRequest({ id: requestId, method, routeOptions }: FastifyRequest, { reply, log }: Answering): void {
  const durationMs = Math.round(reply.elapsedTime);
  const route = routeOptions.url ?? "(no route)"; // the pattern, because paths and queries can be private
  log.info({ requestId, method, route, status: reply.statusCode, durationMs }, "request");
}

function answerError(
  error: unknown,
  { request, reply, log, challenged }: Answering & Pick<AppDeps, "challenged"> & { readonly request: FastifyRequest },
): void {
  const refused = hasCode(error, "unauthenticated") || hasCode(error, "insufficient_scope");
  const { problem, headers } = toProblem(error, request.id, refused ? challenged(request) : undefined);
  if (problem.status >= 500 && !request.raw.socket.destroyed) {
    const cause = error instanceof Error && error.cause !== undefined ? messageOf(error.cause) : undefined;
    const stack = error instanceof Error ? error.stack : undefined;
    log.error({ requestId: request.id, code: problem.code, reason: messageOf(error), cause, stack }, "request failed");
  }
  void reply.code(problem.status).headers(headers).type("application/problem+json").send(JSON.stringify(problem));
}

/**
 * Accepts only JSON bodies, in valid UTF-8 without lone surrogates, so that an agent receives exactly what was sent. An empty body
 * counts as none.
 */
function acceptJsonOnly(app: FastifyInstance): void {
  const parseSafely = app.getDefaultJsonParser("error", "error"); // rejects `__proto__` and similar keys
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, (request, body: Buffer, done) => {
    if (body.length === 0) {
      done(null, undefined);
      return;
    }
    const text = decode(body);
    if (text === null) {
      done(new PosternError("invalid_request", "The body is not valid UTF-8."), undefined);
      return;
    }
    void parseSafely(request, text, (error, value: unknown) => {
      if (error !== null) {
        done(new PosternError("invalid_request", `The body is not valid JSON: ${messageOf(error)}`), undefined);
      } else if (text.includes("\\u") && !isWellFormed(value)) {
        done(new PosternError("invalid_request", "The body contains a lone surrogate."), undefined);
      } else {
        done(null, value);
      }
    });
  });
}

function decode(body: Buffer): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(body);
  } catch {
    return null; // a fatal decoder throws only for invalid UTF-8
  }
}

function isWellFormed(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (value === null || typeof value !== "object") return true;
  return Object.entries(value).every(([key, inner]) => key.isWellFormed() && isWellFormed(inner));
}

/** More than any legitimate form needs: request URLs are limited to 16 KiB. */
const formLimitBytes = 32 * 1024;

/**
 * Accepts only forms for the routes of this scope (`app.register`). Repeated fields become arrays.
 * @see https://url.spec.whatwg.org/#concept-urlencoded-parser
 */
export function acceptFormsOnly(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    "application/x-www-form-urlencoded",
    { parseAs: "buffer", bodyLimit: formLimitBytes },
    (_request, body: Buffer, done) => {
      const text = decode(body);
      if (text === null) done(new PosternError("invalid_request", "The form is not valid UTF-8."), undefined);
      else done(null, fieldsOf(new URLSearchParams(text)));
    },
  );
}

function fieldsOf(parameters: URLSearchParams): Readonly<Record<string, string | readonly string[]>> {
  return Object.fromEntries(
    [...new Set(parameters.keys())].map((name): [string, string | readonly string[]] => {
      const [value = "", ...more] = parameters.getAll(name);
      return [name, more.length === 0 ? value : [value, ...more]];
    }),
  );
}
