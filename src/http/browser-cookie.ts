import { browserSessionLifeMs } from "../accounts/index.ts";
import { browserCookieName } from "../wire/sign-in.ts";

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
