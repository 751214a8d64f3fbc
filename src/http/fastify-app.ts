import fastify, { type FastifyReply, type FastifyRequest } from "fastify";
import { serializerCompiler, validatorCompiler, type ZodTypeProvider } from "fastify-type-provider-zod";
import { hasCode, messageOf } from "../core/errors.ts";
import { newUuid } from "../core/ids.ts";
import type { Log } from "../core/log.ts";
import type { ChallengedRequest } from "./challenge.ts";
import { acceptJsonOnly } from "./json-body.ts";
import { toProblem } from "./problem-response.ts";
import type { HttpApp } from "./route-server.ts";

/** What {@link createFastifyApp} needs. */
export interface AppDeps {
  readonly bodyLimitBytes: number;
  readonly trustedProxies: readonly string[];
  readonly log: Log;
  /** @throws PosternError `origin_not_allowed` when the request names no host of ours */
  readonly challenged: (request: FastifyRequest) => ChallengedRequest;
}

/** Fastify as this house uses it: zod schemas, JSON bodies, problem documents, and an access log without paths. */
export function createFastifyApp({ bodyLimitBytes, trustedProxies, log, challenged }: AppDeps): HttpApp {
  const app = fastify({
    logger: false,
    ...(trustedProxies.length === 0 ? {} : { trustProxy: [...trustedProxies] }),
    bodyLimit: bodyLimitBytes,
    genReqId: () => newUuid(),
    return503OnClosing: false,
    routerOptions: { maxParamLength: 500 },
    schemaController: { compilersFactory: { buildValidator: neverBuilt, buildSerializer: neverBuilt } },
    // A URL that cannot be read: no hook runs for it.
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

/** In the place of Fastify's own compilers, which nobody needs beside zod's and which would take 40 ms of each start to load. */
function neverBuilt(): never {
  throw new Error("Schemas of routes are zod schemas.");
}

interface Answering {
  readonly reply: FastifyReply;
  readonly log: Log;
}

function logRequest({ id: requestId, method, routeOptions }: FastifyRequest, { reply, log }: Answering): void {
  const durationMs = Math.round(reply.elapsedTime);
  const route = routeOptions.url ?? "(no route)"; // the pattern: paths and queries may hold what is private
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
