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
import { isGraveScope, type Scope } from "../wire/access.ts";
import { browserCookieName, browserKeyHeader } from "../wire/sign-in.ts";
import { checkOwnPage } from "./known-host.ts";
import type { RouteServer } from "./route-server.ts";

export interface DecidingDeps {
  readonly accounts: Pick<Accounts, "accountOf" | "authenticate" | "browserOf">;
  readonly auth: "on" | "none";
}

/** The viewer of a page and the caller that decides. They differ: a cookie alone can view, but not decide. */
export interface Deciding {
  /** The account signed in to the browser; null if none is. */
  viewer(request: FastifyRequest): Promise<Principal | null>;
  /**
   * The caller that decides: a signed-in browser that sends our page's form with its key; a personal token with `admin`; the owner on
   * the Unix socket. Over https, the key is optional, but `coding:drive` requires it: other ports of the host get the cookie and can
   * send it with any `Origin`.
   * @param key from the form, if there is no header
   * @throws PosternError `unauthenticated` | `origin_not_allowed` | `insufficient_scope`
   */
  decider(request: FastifyRequest, key: string | undefined): Promise<Principal>;
  /** The caller in the authorization server's form. */
  asDecider(principal: Principal, request: FastifyRequest): Decider;
  /** The decisions for which a form requires the browser's key. */
  keyNeededFor(request: FastifyRequest): KeyNeed;
}

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
    if (seen === null) throw new PosternError("unauthenticated", "This browser is not signed in. Sign in again.");
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

/** Apps cannot authorize other apps. */
function byPerson(principal: Principal): Principal {
  if (principal.kind !== "token") {
    throw new PosternError("insufficient_scope", "Only a personal token can authorize apps, not an app's token.", {
      details: { scope: "admin" },
    });
  }
  requireScope(principal, "admin");
  return principal;
}

function undriven(scopes: ReadonlySet<Scope>): ReadonlySet<Scope> {
  return new Set([...scopes].filter((scope) => !isGraveScope(scope)));
}

/** Whether only the browser's key was wrong, which signing in again fixes. */
export function isWrongKey(error: unknown): boolean {
  return hasCode(error, "origin_not_allowed") && error instanceof Error && hasCode(error.cause, "unauthenticated");
}

function wrongKey(cause: unknown): PosternError {
  const message = "This browser’s key is missing or wrong. Sign in again.";
  return new PosternError("origin_not_allowed", message, { cause });
}

/**
 * The credentials of a request. A header takes precedence over the socket and cookies, so that a caller can limit itself to a token.
 *
 * @param way `ownOrigin` is null on the owner's socket
 * @throws PosternError `origin_not_allowed` if a browser's credentials come from a foreign page
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
  if (key !== undefined) checkOwnPage(request, way.ownOrigin); // without a key, the cookie is not accepted anyway
  return { kind: "browser", cookies, key: typeof key === "string" ? key : undefined };
}

/**
 * The `Set-Cookie` header of a sign-in; null signs out.
 *
 * @param ownOrigin the gateway's address as the browser sees it: behind a proxy it is https although the gateway speaks http
 * @see https://httpwg.org/http-extensions/draft-ietf-httpbis-rfc6265bis.html section 4.1.3.2 for `__Host-`
 */
export function browserCookie(ownOrigin: string, value: string | null): string {
  const maxAgeS = value === null ? 0 : browserSessionLifeMs / 1_000;
  const secure = isHttps(ownOrigin) ? "; Secure" : "";
  return `${nameAt(ownOrigin)}=${value ?? ""}; Path=/; Max-Age=${maxAgeS}; HttpOnly; SameSite=Strict${secure}`;
}

/** Every session cookie in a `Cookie` header: other ports of the host can set more for longer paths. */
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
