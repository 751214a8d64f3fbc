import type { IncomingMessage } from "node:http";
import { PosternError } from "../core/errors.ts";

/** Which `Host` a request may name and from which `Origin` it may come. */
export interface KnownHosts {
  /**
   * Refuses a name that is not the gateway's own: a page whose name was re-bound to a loopback address sends its own name.
   * @returns the origin that belongs to the request's host
   * @throws PosternError `origin_not_allowed`
   */
  checkHost(request: IncomingMessage): string;
}

/** Names by which the loopback addresses are reached. */
const loopbackNames = ["localhost", "127.0.0.1", "[::1]"];
const wildcards: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);

/**
 * @param options `hosts` as bound, `port` as it came out of listening, `baseUrl` the address that a proxy in front has
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
      "This gateway is not known by that name. Use the address that `postern serve` prints, or set the base URL.",
    );
  }

  return {
    checkHost(request) {
      const [host = "", another] = request.headersDistinct["host"] ?? [];
      const { url = "" } = request;
      // A whole URL in the request line names a host too (RFC 9112 section 3.2.2): then both count.
      if (!url.startsWith("/")) originOf(URL.canParse(url) ? new URL(url).host : "");
      return originOf(another === undefined ? host.toLowerCase() : "");
    },
  };
}

/** @throws PosternError `origin_not_allowed` when a page of another origin makes a request that changes state */
export function checkOrigin(request: {
  readonly method: string;
  readonly origin: string | undefined;
  /** Null when no page can have this origin, as on a Unix socket. */
  readonly ownOrigin: string | null;
}): void {
  if (readsOnly(request.method)) return;
  if (request.origin === undefined || request.origin === request.ownOrigin) return;
  throw foreignPage();
}

/**
 * For a WebSocket: a browser sends its page's origin with it and lets that page read what comes, whatever its origin. For MCP too, which wants
 * every request refused that names an origin which may not come in.
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#security-warning
 * @throws PosternError `origin_not_allowed` when it comes from a page of another origin
 */
export function checkEveryOrigin(request: Pick<Parameters<typeof checkOrigin>[0], "origin" | "ownOrigin">): void {
  checkOrigin({ ...request, method: "CONNECT" });
}

/**
 * For a request that only a page of our own may make: signing in, and everything with a browser's sign-in. What changes state must
 * name its origin, which a browser always does; what it says of itself in `Sec-Fetch-Site` must agree.
 *
 * @throws PosternError `origin_not_allowed`
 * @see https://w3c.github.io/webappsec-fetch-metadata/
 */
export function checkOwnPage({ method = "", headers }: IncomingMessage, ownOrigin: string | null): asserts ownOrigin {
  const { origin, "sec-fetch-site": site = "same-origin" } = headers;
  const own = origin === undefined ? readsOnly(method) : origin === ownOrigin;
  if (ownOrigin === null || !own || site !== "same-origin") throw foreignPage();
}

/** Whether a browser says that a page sends this which is not of the gateway: of another site, or another port of this host. */
export function isForeignPage({ headers }: IncomingMessage, ownOrigin: string | null): boolean {
  const { origin = ownOrigin, "sec-fetch-site": site } = headers;
  return origin !== ownOrigin || site === "cross-site" || site === "same-site";
}

function readsOnly(method: string): boolean {
  return method === "GET" || method === "HEAD";
}

function foreignPage(): PosternError {
  return new PosternError("origin_not_allowed", "A page of another origin may not do this.");
}

/** Whether `host` reaches this machine only. */
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
