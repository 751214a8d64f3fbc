import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { FastifyBaseLogger, FastifyContextConfig, FastifyInstance, FastifyRequest, FastifySchema } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import { type Audience, type AuditOrigin, type Principal, requireScope } from "../accounts/index.ts";
import type { Scope } from "../wire/access.ts";
import type { ToolEffects } from "../wire/tool.ts";
import type { AttackedThing, LimitName } from "./route-limits.ts";
import type { UpgradeHandler } from "./upgrades.ts";

/**
 * Access to a route: everyone, every authenticated caller, or callers with the scope. `own` is for an account's own objects, such as its
 * passkeys: signed-in browsers and tokens with `admin`, but not apps.
 */
export type Access = "public" | "signed-in" | "own" | Scope;

declare module "fastify" {
  interface FastifyContextConfig {
    /** Required for every route; checked at startup. */
    access?: Access;
    /** For `/mcp`, whose tokens are valid only there. */
    resource?: "mcp";
    /** Allows pages of other origins (CORS). The route ignores cookies. */
    crossOrigin?: boolean;
    /** The rate limit per address, if any. */
    limit?: LimitName;
    /** The body is a file, which may take long on a slow connection. */
    slowBody?: true;
  }
  interface FastifySchema {
    /** For the OpenAPI document. */
    operationId?: string;
    summary?: string;
    description?: string;
    tags?: readonly string[];
    /** Effects of a tool. */
    effects?: ToolEffects;
    /** Media type of a response that is not JSON. The schema then describes one item. */
    answerType?: string;
    /** Media type of a body that is not JSON. */
    bodyType?: string;
    /** Omits the route from the OpenAPI document. */
    hide?: boolean;
  }
}

/** Fastify with zod schemas. */
export type HttpApp = FastifyInstance<Server, IncomingMessage, ServerResponse, FastifyBaseLogger, ZodTypeProvider>;

/** A registered route. */
export interface KnownRoute {
  readonly methods: readonly string[];
  /** With `:name` for a parameter. */
  readonly url: string;
  readonly access: Access;
  readonly audience: Audience;
  readonly schema: FastifySchema;
}

export interface RouteServer {
  readonly app: HttpApp;
  /** All routes. Complete once the server listens. */
  readonly routes: () => readonly KnownRoute[];
  /** The caller. `public` routes have none. */
  readonly principalOf: (request: { readonly raw: IncomingMessage }) => Principal;
  /**
   * Checks now whether the caller can still receive the response. @throws PosternError `unauthenticated` | `insufficient_scope` |
   * `dir_not_allowed` if not
   */
  readonly recheck: (request: { readonly raw: IncomingMessage }) => Promise<void>;
  /**
   * The gateway's origin, for requests that only its own pages can send.
   * @throws PosternError `origin_not_allowed` if the request does not come from such a page
   */
  readonly ownPageOf: (request: { readonly raw: IncomingMessage }) => string;
  /** The gateway's origin; null on the owner's socket, which pages cannot reach. */
  readonly ownOriginOf: (request: { readonly raw: IncomingMessage }) => string | null;
  /** The client's address, also behind a trusted proxy; `local` on the owner's Unix socket. */
  readonly addressOf: (request: FastifyRequest) => string;
  /** Origin of a request for the audit log. */
  readonly originOf: (request: FastifyRequest) => AuditOrigin;
  /** Caller and origin for the audit log. */
  readonly actorOf: (request: FastifyRequest) => { readonly accountId: string; readonly from: AuditOrigin };
  /**
   * Call before answering or logging a failed sign-in.
   * @throws PosternError `rate_limited` after too many failures from this address
   */
  readonly checkFailures: (request: FastifyRequest) => void;
  /**
   * Counts a failure (4xx) of this request against the target, from any address.
   * @throws PosternError `rate_limited` after too many failures
   */
  readonly attacks: (request: FastifyRequest, thing: AttackedThing, id: string) => void;
  /**
   * Aborted when the client disconnects, the gateway stops (with a PosternError `gateway_stopping`), or the caller loses its credentials, a
   * scope or a folder. A waiting call then returns its partial result, or throws the reason.
   */
  readonly signalOf: (reply: { readonly raw: ServerResponse }) => AbortSignal;
  /** Handles authenticated WebSockets of a path. */
  readonly onUpgrade: (path: string, handler: UpgradeHandler) => void;
}

/** Adds the routes of one capability. */
export type RouteModule = (server: RouteServer) => void;

/** The `preValidation` of a route whose body has no required field. */
export async function bodyMayBeMissing(request: FastifyRequest): Promise<void> {
  request.body ??= {};
}

/** Finds the methods of an existing path, and the error message for an unknown route or method. */
export function findRoutes(
  routes: readonly KnownRoute[],
  request: { readonly method: string; readonly url: string },
): { readonly methods: readonly string[]; readonly detail: string } {
  const [path = ""] = request.url.split("?", 1);
  const methods = [
    ...new Set(routes.filter(({ url }) => fits(url, path)).flatMap((route) => route.methods)),
  ].toSorted();
  if (methods.length === 0) return { methods, detail: "Unknown route. See /openapi.json for all routes." };
  return { methods, detail: `This route does not support ${request.method}. Use ${methods.join(" or ")}.` };
}

function fits(url: string, path: string): boolean {
  const wanted = url.split("/");
  const given = path.split("/");
  return (
    wanted.length === given.length &&
    wanted.every((part, at) => (part.startsWith(":") ? given[at] !== "" : part === given[at]))
  );
}

/** Callers who are people at the machine or in a browser; `open` is any caller if authentication is off. */
const inPerson: ReadonlySet<Principal["kind"]> = new Set(["browser", "socket", "open"]);

/** @throws PosternError `insufficient_scope` if the caller does not have this access */
export function requireAccess(principal: Principal, access: Access | undefined): void {
  const scope = scopeNeeded(access);
  if (scope === null || (access === "own" && inPerson.has(principal.kind))) return;
  requireScope(principal, scope);
}

/**
 * Checks that callers grant only scopes that they hold.
 * @throws PosternError `insufficient_scope` for the first missing scope
 */
export function requireAll(principal: Principal, scopes: readonly Scope[]): void {
  for (const scope of scopes) requireScope(principal, scope);
}

/** The scope that a token needs for this access; null if any token is enough. */
export function scopeNeeded(access: Access | undefined): Exclude<Access, "public" | "signed-in" | "own"> | null {
  if (access === undefined || access === "public" || access === "signed-in") return null;
  return access === "own" ? "admin" : access;
}

/** Whether a call can change access rights. Only these kinds of routes change them. */
export function changesRights(method: string, { access, resource }: FastifyContextConfig): boolean {
  if (method === "GET" || method === "HEAD" || method === "OPTIONS" || resource !== undefined) return false;
  return access === "admin" || access === "own" || access === "signed-in";
}
