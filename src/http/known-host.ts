import type { IncomingMessage } from "node:http";
import { PosternError } from "../core/errors.ts";

/** The host names of the gateway. */
export interface KnownHosts {
  /**
   * Rejects foreign host names, which a DNS rebinding attack sends.
   * @returns the origin of the request's host
   * @throws PosternError `origin_not_allowed`
   */
  checkHost(request: IncomingMessage): string;
}

const loopbackNames = ["localhost", "127.0.0.1", "[::1]"];
const wildcards: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);

/**
 * @param options `hosts`: the bound addresses; `port`: known once the gateway listens; `baseUrl`: the address of a proxy
 */
export function createKnownHosts(options: {
  readonly hosts: readonly string[];
  readonly baseUrl: string | null;
  readonly port: () => number;
}): KnownHosts {
  const bound = options.hosts.filter((host) => !wildcards.has(host)).map(bracketed);
  const names: ReadonlySet<string> = new Set([...loopbackNames, ...bound]);
  const base = options.baseUrl === null ? null : new URL(options.baseUrl);

  function originOf(named: string): string {
    if (base !== null && (named === base.host || named === `${base.hostname}:${defaultPort(base)}`)) {
      return base.origin;
    }
    const port = options.port();
    const name = named.endsWith(`:${port}`) ? named.slice(0, -`:${port}`.length) : port === 80 ? named : "";
    if (names.has(name)) return port === 80 ? `http://${name}` : `http://${name}:${port}`;
    throw new PosternError(
      "origin_not_allowed",
      "Unknown host name. Use the address that `postern serve` prints, or set --base-url.",
    );
  }

  return {
    checkHost(request) {
      const [host = "", another] = request.headersDistinct["host"] ?? [];
      const { url = "" } = request;
      // An absolute URL in the request line also contains a host (RFC 9112 section 3.2.2); both hosts are checked.
      if (!url.startsWith("/")) originOf(URL.canParse(url) ? new URL(url).host : "");
      return originOf(another === undefined ? host.toLowerCase() : "");
    },
  };
}

/** @throws PosternError `origin_not_allowed` if a page of another origin sends a request that changes state */
export function checkOrigin(request: {
  readonly method: string;
  readonly origin: string | undefined;
  /** Null on the Unix socket, which pages cannot reach. */
  readonly ownOrigin: string | null;
}): void {
  if (readsOnly(request.method)) return;
  if (request.origin === undefined || request.origin === request.ownOrigin) return;
  throw foreignPage();
}

/**
 * Like {@link checkOrigin}, for every method: any page can open a WebSocket, and MCP requires that foreign origins are rejected for every
 * request.
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#security-warning
 * @throws PosternError `origin_not_allowed` if a page of another origin sends it
 */
export function checkEveryOrigin(request: Pick<Parameters<typeof checkOrigin>[0], "origin" | "ownOrigin">): void {
  checkOrigin({ ...request, method: "CONNECT" });
}

/**
 * For requests that only our own pages can send: signing in, and everything with a browser's credentials. A request that changes state
 * must have our origin, and `Sec-Fetch-Site` must agree.
 *
 * @throws PosternError `origin_not_allowed`
 * @see https://w3c.github.io/webappsec-fetch-metadata/
 */
export function checkOwnPage({ method = "", headers }: IncomingMessage, ownOrigin: string | null): asserts ownOrigin {
  const { origin, "sec-fetch-site": site = "same-origin" } = headers;
  const own = origin === undefined ? readsOnly(method) : origin === ownOrigin;
  if (ownOrigin === null || !own || site !== "same-origin") throw foreignPage();
}

/** Whether a page of another site, or of another port of this host, sends the request. */
export function isForeignPage({ headers }: IncomingMessage, ownOrigin: string | null): boolean {
  const { origin = ownOrigin, "sec-fetch-site": site } = headers;
  return origin !== ownOrigin || site === "cross-site" || site === "same-site";
}

function readsOnly(method: string): boolean {
  return method === "GET" || method === "HEAD";
}

function foreignPage(): PosternError {
  return new PosternError("origin_not_allowed", "Requests from pages of other origins are not allowed.");
}

/** Whether `host` is a loopback name or address. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host === "[::1]" || /^127(\.\d{1,3}){3}$/.test(host);
}

function bracketed(host: string): string {
  return host.includes(":") ? `[${host.toLowerCase()}]` : host.toLowerCase();
}

function defaultPort(url: URL): string {
  if (url.port !== "") return url.port;
  return url.protocol === "https:" ? "443" : "80";
}
