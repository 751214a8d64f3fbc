import type { IncomingMessage } from "node:http";
import { browserSessionLifeMs, type Credentials } from "../accounts/index.ts";
import { browserCookieName, browserKeyHeader } from "../wire/sign-in.ts";
import { checkOwnPage } from "./known-host.ts";

/**
 * What a request shows to say who is calling. A header wins over the socket, so that a caller can give up what its token does not
 * hold; over a browser's cookie too.
 *
 * @param way `ownOrigin` is null on the owner's socket
 * @throws PosternError `origin_not_allowed` when a browser's sign-in comes with a request that is not of a page of our own
 */
export function credentialsOf(
  request: IncomingMessage,
  way: { readonly ownOrigin: string | null; readonly auth: "on" | "none" },
): Credentials {
  const { authorization, [browserKeyHeader]: key, cookie } = request.headers;
  if (way.ownOrigin === null && authorization === undefined) return { kind: "socket" };
  if (way.auth === "none") return { kind: "open" };
  if (authorization !== undefined || way.ownOrigin === null) return { kind: "header", authorization };
  const cookies = browserCookies(cookie, way.ownOrigin);
  if (cookies.length === 0 && key === undefined) return { kind: "header", authorization };
  if (key !== undefined) checkOwnPage(request, way.ownOrigin); // without the key it counts for nothing anyway
  return { kind: "browser", cookies, key: typeof key === "string" ? key : undefined };
}

/**
 * The `Set-Cookie` of a browser that signs in; null signs it out.
 *
 * @param ownOrigin the gateway's address as the browser sees it: behind a proxy it is https although the gateway speaks http
 * @see https://httpwg.org/http-extensions/draft-ietf-httpbis-rfc6265bis.html section 4.1.3.2 for `__Host-`
 */
export function browserCookie(ownOrigin: string, value: string | null): string {
  const maxAgeS = value === null ? 0 : browserSessionLifeMs / 1_000;
  const secure = isHttps(ownOrigin) ? "; Secure" : "";
  return `${nameAt(ownOrigin)}=${value ?? ""}; Path=/; Max-Age=${maxAgeS}; HttpOnly; SameSite=Strict${secure}`;
}

/** Every value that a `Cookie` header has under the session's name: other ports of the host can set some for a longer path. */
export function browserCookies(header: string | undefined, ownOrigin: string): readonly string[] {
  const begin = `${nameAt(ownOrigin)}=`;
  const pairs = (header ?? "").split(";").map((pair) => pair.trim());
  return pairs.filter((pair) => pair.startsWith(begin)).map((pair) => pair.slice(begin.length));
}

function nameAt(ownOrigin: string): string {
  const { port } = new URL(ownOrigin);
  return `${isHttps(ownOrigin) ? "__Host-" : ""}${browserCookieName}${port === "" ? "" : `_${port}`}`;
}

function isHttps(origin: string): boolean {
  return origin.startsWith("https:");
}
