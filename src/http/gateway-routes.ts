import { once } from "node:events";
import { extname } from "node:path";
import { promisify } from "node:util";
import { Worker } from "node:worker_threads";
import { gunzip } from "node:zlib";
import { z } from "zod";
import type { Principal } from "../accounts/index.ts";
import { type Clock, systemClock } from "../core/clock.ts";
import { type ProblemCode, problemCodes, problemHelp } from "../wire/problem.ts";
import { tagOrNotModified } from "./answers.ts";
import { html } from "./page-frame.ts";
import { problemStatuses } from "./problem-response.ts";
import type { RouteModule } from "./route-server.ts";

/** The API reference can load from and call only this gateway. Its script adds inline styles. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const startOfPage = (title: string): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <link rel="icon" href="/favicon.svg" type="image/svg+xml" />
    <title>${title}</title>
  </head>
  <body>`;

const page = `${startOfPage("Postern API")}
    <noscript>This page needs JavaScript. You can also read the document: <a href="/openapi.json">/openapi.json</a></noscript>
    <div id="app"></div>
    <script src="/docs/scalar.js"></script>
    <script src="/docs/start.js"></script>
  </body>
</html>
`;

/** Vendor fonts, telemetry and the assistant are off: they would send requests to other machines. */
const start = `Scalar.createApiReference("#app", ${JSON.stringify({
  url: "/openapi.json",
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: "never",
  hideClientButton: true,
})});
`;

function problemEntry(code: ProblemCode): string {
  const { meaning, remedy } = problemHelp[code];
  // Text in backticks is code.
  const words = `Status ${problemStatuses[code]}. ${meaning} ${remedy}`.split("`").map((part, index) => {
    return index % 2 === 0 ? part : html`<code>${part}</code>`;
  });
  return html`      <dt id="${code}"><code>${code}</code></dt><dd>${words}</dd>`.markup;
}

const problemsPage = `${startOfPage("Postern API: problems")}
    <h1>Problems</h1>
    <p>Every error is a problem document (RFC 9457). Its <code>detail</code> says what happened and what to do next.</p>
    <dl>
${problemCodes.map(problemEntry).join("\n")}
    </dl>
  </body>
</html>
`;

const decompress = promisify(gunzip);

/** `GET /docs`: the API reference, rendered from `/openapi.json`. */
export const docsRoutes: RouteModule = ({ app }) => {
  const loadScript = createDocsScript();
  const serve = (url: string, type: string, content: string): void => {
    app.route({
      method: "GET",
      url,
      config: { access: "public" },
      schema: { hide: true },
      handler: async (_request, reply) =>
        reply
          .headers({ "content-security-policy": contentSecurityPolicy })
          .type(`${type}; charset=utf-8`)
          .send(content),
    });
  };
  serve("/docs", "text/html", page);
  serve("/docs/start.js", "text/javascript", start);
  serve("/docs/problems", "text/html", problemsPage);

  app.route({
    method: "GET",
    url: "/docs/scalar.js",
    config: { access: "public" },
    schema: { hide: true },
    handler: async (request, reply) => {
      const script = await loadScript();
      const acceptsGzip = /(^|[\s,])gzip\s*($|[,;])/.test(request.headers["accept-encoding"] ?? "");
      void reply.type("text/javascript; charset=utf-8").header("vary", "accept-encoding");
      if (!acceptsGzip) return reply.send(await decompress(script));
      return reply.header("content-encoding", "gzip").send(script);
    },
  });
};

const loadTimeoutMs = 60_000;

/** The gzip-compressed script of the API reference, loaded on first use in a worker thread. */
function createDocsScript(): () => Promise<Buffer> {
  let script: Promise<Buffer> | undefined;
  return () => {
    script ??= load().catch((error: unknown) => {
      script = undefined; // the next request retries
      throw error;
    });
    return script;
  };
}

async function load(): Promise<Buffer> {
  const here = import.meta.url;
  const worker = new Worker(new URL(`./docs-worker${extname(here)}`, here));
  try {
    const message: unknown = await once(worker, "message", { signal: AbortSignal.timeout(loadTimeoutMs) });
    const [script] = z.tuple([z.instanceof(Uint8Array)]).parse(message);
    return Buffer.from(script);
  } finally {
    await worker.terminate();
  }
}

/** `GET /openapi.json`: the OpenAPI 3.1 document, built on first use. */
export function openApiRoutes(options: { readonly version: string }): RouteModule {
  return ({ app, routes }) => {
    let document: Promise<Record<string, unknown>> | undefined;

    async function build(): Promise<Record<string, unknown>> {
      const { buildOpenApi } = await import("./openapi-document.ts");
      return { ...buildOpenApi({ version: options.version, routes: routes() }) };
    }

    app.route({
      method: "GET",
      url: "/openapi.json",
      config: { access: "public" },
      schema: {
        operationId: "openApi",
        tags: ["gateway"],
        summary: "Returns this document.",
        response: { 200: z.looseObject({}) },
      },
      onSend: tagOrNotModified,
      handler: async () => (document ??= build()),
    });
  };
}

const manifestSchema = z.looseObject({}).meta({ id: "Manifest" });

/** `GET /manifest`: the tools, folders and agents that a caller (usually an LLM host) can use. */
export function manifestRoutes(deps: {
  readonly manifest: (principal: Principal) => Promise<z.infer<typeof manifestSchema>>;
}): RouteModule {
  return ({ app, principalOf }) => {
    app.route({
      method: "GET",
      url: "/manifest",
      config: { access: "coding:read" },
      schema: {
        operationId: "manifest",
        tags: ["gateway"],
        summary: "Returns the tools, folders and agents that you can use.",
        description: "Supports `ETag` and `If-None-Match`.",
        response: { 200: manifestSchema },
      },
      onSend: tagOrNotModified,
      handler: async (request) => deps.manifest(principalOf(request)),
    });
  };
}

/** The gateway's dependencies. Each call rejects if the dependency is unavailable. */
export interface ReadyParts {
  readonly store: () => Promise<unknown>;
  readonly terminalHost: () => Promise<unknown>;
}

/** A dependency that takes longer is unavailable. */
const deadlineMs = 2_000;
/** Results are cached this long, because the route is public. */
const freshMs = 1_000;

const partSchema = z.enum(["ok", "unavailable"]);
const readySchema = z.object({
  status: z.enum(["ready", "unavailable"]),
  store: partSchema,
  terminalHost: partSchema,
});

type Part = z.infer<typeof partSchema>;
type Readiness = z.infer<typeof readySchema>;

/** `GET /healthz`: liveness. */
export const healthRoutes: RouteModule = ({ app }) => {
  app.route({
    method: "GET",
    url: "/healthz",
    config: { access: "public" },
    schema: {
      operationId: "health",
      tags: ["gateway"],
      summary: "Liveness check.",
      description: "Returns 200 while the gateway's process responds. For the store and the terminals, see `/readyz`.",
      response: { 200: z.object({ status: z.literal("ok") }) },
    },
    handler: async () => ({ status: "ok" as const }),
  });
};

/** `GET /readyz`: readiness. */
export const readyRoutes =
  (parts: ReadyParts, clock: Clock = systemClock): RouteModule =>
  ({ app }) => {
    let latest: { readonly at: number; readonly look: Promise<Readiness> } | undefined;

    async function partOf(ask: () => Promise<unknown>): Promise<Part> {
      const late = Promise.withResolvers<Part>();
      const cancel = clock.after(deadlineMs, () => late.resolve("unavailable"));
      const asked = ask().then(
        (): Part => "ok",
        (): Part => "unavailable", // the dependency logs the reason
      );
      return Promise.race([asked, late.promise]).finally(cancel);
    }

    async function look(): Promise<Readiness> {
      const [store, terminalHost] = await Promise.all([partOf(parts.store), partOf(parts.terminalHost)]);
      const status = store === "ok" && terminalHost === "ok" ? "ready" : "unavailable";
      return { status, store, terminalHost };
    }

    app.route({
      method: "GET",
      url: "/readyz",
      config: { access: "public" },
      schema: {
        operationId: "ready",
        tags: ["gateway"],
        summary: "Readiness check of the store and the terminal host.",
        description:
          "The store and the terminal host each have two seconds to respond. The result can be up to one second old.",
        response: { 200: readySchema, 503: readySchema },
      },
      handler: async (_request, reply) => {
        if (latest === undefined || clock.now() - latest.at >= freshMs) latest = { at: clock.now(), look: look() };
        const readiness = await latest.look;
        return reply.code(readiness.status === "ready" ? 200 : 503).send(readiness);
      },
    });
  };
