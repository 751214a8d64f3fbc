import type { IncomingMessage } from "node:http";
import type { FastifyRequest } from "fastify";
import {
  type Accounts,
  browserSessionLifeMs,
  type Credentials,
  type Principal,
  requireScope,
} from "../accounts/index.ts";
import { hasCode, PosternError } from "../core/errors.ts";
import type { Decider } from "../oauth/index.ts";
import type { Scope } from "../wire/access.ts";
import { browserCookieName, browserKeyHeader } from "../wire/sign-in.ts";
import { checkOwnPage } from "./known-host.ts";
import type { RouteServer } from "./route-server.ts";

export interface DecidingDeps {
  readonly accounts: Pick<Accounts, "accountOf" | "authenticate" | "browserOf">;
  readonly auth: "on" | "none";
}

/** Who looks at a page and who decides on it: not one question, because a cookie alone renders and does not decide. */
export interface Deciding {
  /** Whose browser asks for a page; null when it is signed in nowhere. */
  viewer(request: FastifyRequest): Promise<Principal | null>;
  /**
   * Who decides: a signed-in browser by a form of our own page, with the key of its origin's storage, or over https without it, but then
   * without `coding:drive`, because other ports of the host get the cookie and can send it with any `Origin`; the bearer of a
   * personal token with `admin`; the owner on the Unix socket.
   * @param key of the form, where no header carries it
   * @throws PosternError `unauthenticated` | `origin_not_allowed` | `insufficient_scope`
   */
  decider(request: FastifyRequest, key: string | undefined): Promise<Principal>;
  /** As the authorization server takes them. */
  asDecider(principal: Principal, request: FastifyRequest): Decider;
  /** What a form of a page for this request needs the key for. */
  keyNeededFor(request: FastifyRequest): KeyNeed;
}

/** To decide at all, to allow `coding:drive`, or nothing. */
export type KeyNeed = "decision" | "drive" | "nothing";

export function createDeciding(
  server: Pick<RouteServer, "originOf" | "ownOriginOf">,
  { accounts, auth }: DecidingDeps,
): Deciding {
  function cookiesOf(request: FastifyRequest): readonly string[] {
    const ownOrigin = server.ownOriginOf(request);
    return ownOrigin === null ? [] : browserCookies(request.headers.cookie, ownOrigin);
  }

  async function byBrowser(request: FastifyRequest, formKey: string | undefined): Promise<Principal> {
    const ownOrigin = server.ownOriginOf(request);
    const cookies = cookiesOf(request);
    const seen = await accounts.browserOf(cookies);
    if (seen === null) throw new PosternError("unauthenticated", "This browser is not signed in, or not any more.");
    checkOwnPage(request.raw, ownOrigin);
    const header = request.headers[browserKeyHeader];
    const key = typeof header === "string" ? header : (formKey ?? "");
    if (key === "" && isHttps(ownOrigin)) return { ...seen, scopes: undriven(seen.scopes) };
    return accounts.authenticate({ kind: "browser", cookies, key }).catch((error: unknown) => {
      throw hasCode(error, "unauthenticated") ? wrongKey(error) : error;
    });
  }

  return {
    async viewer(request) {
      if (server.ownOriginOf(request) === null) return accounts.authenticate({ kind: "socket" });
      if (auth === "none") return accounts.authenticate({ kind: "open" });
      return accounts.browserOf(cookiesOf(request));
    },

    async decider(request, key) {
      const { authorization } = request.headers;
      const ownOrigin = server.ownOriginOf(request);
      if (ownOrigin === null && authorization === undefined) return accounts.authenticate({ kind: "socket" });
      if (auth === "none") {
        checkOwnPage(request.raw, ownOrigin);
        return accounts.authenticate({ kind: "open" });
      }
      if (authorization === undefined) return byBrowser(request, key);
      return byPerson(await accounts.authenticate({ kind: "header", authorization }));
    },

    asDecider: ({ accountId, scopes }, request) => ({ accountId, scopes, from: server.originOf(request) }),

    keyNeededFor(request) {
      if (auth === "none") return "nothing";
      return isHttps(server.ownOriginOf(request)) ? "drive" : "decision";
    },
  };
}

/** No app lets another in, whatever it was given. */
function byPerson(principal: Principal): Principal {
  if (principal.kind !== "token") {
    throw new PosternError("insufficient_scope", "Only a personal token decides who is let in, never that of an app.", {
      details: { scope: "admin" },
    });
  }
  requireScope(principal, "admin");
  return principal;
}

function undriven(scopes: ReadonlySet<Scope>): ReadonlySet<Scope> {
  return new Set([...scopes].filter((scope) => scope !== "coding:drive"));
}

/** Whether a browser was refused for its key alone, which another sign-in fixes. */
export function isWrongKey(error: unknown): boolean {
  return hasCode(error, "origin_not_allowed") && error instanceof Error && hasCode(error.cause, "unauthenticated");
}

function wrongKey(cause: unknown): PosternError {
  const message = "The key of this browser’s sign-in is missing or not the right one. Sign in again.";
  return new PosternError("origin_not_allowed", message, { cause });
}

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

function isHttps(origin: string | null): boolean {
  return origin?.startsWith("https:") === true;
}
