import { createHash, randomBytes } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import type { FastifyReply, FastifyRequest } from "fastify";
import { isErrno, PosternError } from "../core/errors.ts";
import { isFresh } from "./answers.ts";
import type { RouteModule } from "./route-server.ts";

/** Pages, which the web application routes itself. */
const pages = [
  "/",
  "/sign-in",
  "/sessions/:sessionId",
  "/new",
  "/memory",
  "/memory/:logId",
  "/memory/entities",
  "/memory/entities/:entityId",
  "/agents",
  "/watch",
  "/agents/:name",
  "/folders",
  "/apps",
  "/tokens",
  "/accounts",
  "/audit",
  "/settings",
] as const;

/** Files with fixed names. Names in `/assets/` contain a hash. */
const namedFiles = [
  "/favicon.svg",
  "/icon-180.png",
  "/icon-192.png",
  "/icon-512.png",
  "/icon-maskable-512.png",
  "/manifest.webmanifest",
  "/theme.js",
  "/worker.js",
] as const;

const yearSeconds = 31_536_000;

/**
 * The web application's pages and files. They are public and contain no private data: pages load their data from the API. The build is
 * read once with the first page, so that a page always finds the files it was built with.
 */
export function webRoutes({ folder = webBuildFolder }: { readonly folder?: string } = {}): RouteModule {
  let reading: Promise<WebBuild | null> | undefined;

  async function currentBuild(): Promise<WebBuild | null> {
    const mine = (reading ??= readWebBuild(folder));
    const build = await mine.catch((error: unknown) => {
      reading = undefined;
      throw error;
    });
    // The web application can still be built while the gateway runs.
    if (build === null && reading === mine) reading = undefined;
    return build;
  }

  async function servePage(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const build = await currentBuild();
    const nonce = randomBytes(16).toString("base64");
    void reply
      .code(build === null ? 503 : 200)
      .type("text/html; charset=utf-8")
      .headers({
        "cache-control": "no-store",
        "content-security-policy": policy(nonce, request.headers.host),
        "cross-origin-opener-policy": "same-origin",
        "permissions-policy": "camera=(), geolocation=(), microphone=()",
      });
    return reply.send(build === null ? missingPage : build.page(nonce));
  }

  async function serveFile(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const [path = ""] = request.url.split("?", 1);
    const file = (await currentBuild())?.files.get(path);
    if (file === undefined) throw new PosternError("route_not_found", "The web application does not have this file.");
    const cache = file.immutable ? `public, max-age=${yearSeconds}, immutable` : "no-cache";
    void reply.headers({ "cache-control": cache, etag: file.etag, vary: "accept-encoding" }).type(file.type);
    // A worker has its own policy: it can call the gateway, but can load nothing.
    if (path === "/worker.js") void reply.header("content-security-policy", "default-src 'none'; connect-src 'self'");
    if (isFresh(request.headers["if-none-match"], file.etag)) return reply.code(304).send();
    const { encoding, content } = encoded(file, request.headers["accept-encoding"]);
    if (encoding !== null) void reply.header("content-encoding", encoding);
    return reply.send(content);
  }

  return ({ app }) => {
    const get = (url: string, handler: typeof servePage): void => {
      app.route({ method: "GET", url, config: { access: "public" }, schema: { hide: true }, handler });
    };
    for (const url of pages) get(url, servePage);
    for (const url of namedFiles) get(url, serveFile);
    get("/assets/:file", serveFile);
  };
}

/**
 * Allows only this gateway's own files and calls. Style elements, which the terminal and dialogs create, need the page's nonce, so that
 * injected HTML can neither run scripts nor change the page's look.
 */
function policy(nonce: string, host = ""): string {
  // Some browsers do not count WebSockets of the same host as 'self'. The host was already checked.
  const sockets = /^[\w.:[\]-]+$/.test(host) ? ` ws://${host} wss://${host}` : "";
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    `connect-src 'self'${sockets}`,
    "manifest-src 'self'",
    "worker-src 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'self'",
  ].join("; ");
}

function encoded(
  { plain, brotli, gzip }: WebFile,
  accepted = "",
): { readonly encoding: "br" | "gzip" | null; readonly content: Buffer } {
  if (brotli !== null && accepts(accepted, "br")) return { encoding: "br", content: brotli };
  if (gzip !== null && accepts(accepted, "gzip")) return { encoding: "gzip", content: gzip };
  return { encoding: null, content: plain };
}

/** @see RFC 9110 section 12.5.3; `;q=0` refuses a coding */
function accepts(accepted: string, coding: string): boolean {
  const parts = accepted.split(",").map((part) => part.replaceAll(/\s/g, "").toLowerCase());
  return parts.some((part) => part === coding || (part.startsWith(`${coding};q=`) && Number(part.split("=")[1]) > 0));
}

const missingPage = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Postern: the web application is not built</title>
  </head>
  <body>
    <h1>The web application is not built</h1>
    <p>The gateway is running, but this checkout has no built pages. Run in its folder:</p>
    <pre>npm run build:web</pre>
    <p>Then reload this page. The API works without it: <a href="/docs">/docs</a></p>
  </body>
</html>
`;

/** A file of the built web application. */
export interface WebFile {
  readonly type: string;
  readonly etag: string;
  /** Whether its name contains a hash, so that its content never changes. */
  readonly immutable: boolean;
  readonly plain: Buffer;
  /** Null if it would not be smaller. */
  readonly brotli: Buffer | null;
  readonly gzip: Buffer | null;
}

/** The built web application, in memory. */
export interface WebBuild {
  /** The page with this nonce. */
  readonly page: (nonce: string) => string;
  /** By URL path. No other files are served. */
  readonly files: ReadonlyMap<string, WebFile>;
}

const types: Readonly<Record<string, string>> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".woff2": "font/woff2",
  ".webmanifest": "application/manifest+json",
};

/** Output of `npm run build:web`: next to this folder in the package, in `dist` of a checkout. */
export const webBuildFolder = join(
  import.meta.dirname,
  import.meta.filename.endsWith(".ts") ? "../../dist/web" : "../web",
);

/** Reads the whole build, one or two megabytes. Null if there is none. */
export async function readWebBuild(folder: string): Promise<WebBuild | null> {
  try {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    const contents = new Map<string, Buffer>();
    for (const path of paths) contents.set(path.slice(folder.length + 1), await readFile(path));
    const html = contents.get("index.html")?.toString("utf8");
    if (html === undefined) return null;
    return { page: (nonce) => html.replaceAll("__NONCE__", nonce), files: filesOf(contents) };
  } catch (error) {
    if (isErrno(error, "ENOENT")) return null;
    throw error;
  }
}

function filesOf(contents: ReadonlyMap<string, Buffer>): ReadonlyMap<string, WebFile> {
  const files = new Map<string, WebFile>();
  for (const [name, plain] of contents) {
    const type = types[extname(name)];
    if (type === undefined) continue;
    files.set(`/${name}`, {
      type,
      etag: `"${createHash("sha256").update(plain).digest("base64url").slice(0, 27)}"`,
      immutable: name.startsWith("assets/"),
      plain,
      brotli: smaller(contents.get(`${name}.br`), plain),
      gzip: smaller(contents.get(`${name}.gz`), plain),
    });
  }
  return files;
}

function smaller(compressed: Buffer | undefined, plain: Buffer): Buffer | null {
  return compressed !== undefined && compressed.length < plain.length ? compressed : null;
}
