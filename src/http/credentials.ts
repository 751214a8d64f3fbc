import type { IncomingMessage } from "node:http";
import type { Credentials } from "../accounts/index.ts";
import { browserKeyHeader } from "../wire/sign-in.ts";
import { browserCookies } from "./browser-cookie.ts";
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
