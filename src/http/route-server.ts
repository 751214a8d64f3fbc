import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { FastifyBaseLogger, FastifyContextConfig, FastifyInstance, FastifyRequest, FastifySchema } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import { type Audience, type AuditOrigin, type Principal, requireScope } from "../accounts/index.ts";
import type { Scope } from "../wire/access.ts";
import type { ToolEffects } from "../wire/tool.ts";
import type { AttackedThing, LimitName } from "./route-limits.ts";
import type { UpgradeHandler } from "./upgrades.ts";

/**
 * Who may call a route: everyone, everyone who is signed in, or callers that hold the scope. `own` is for what belongs to an account, such
 * as its passkeys: a signed-in browser of it, and a token with `admin`; no app.
 */
export type Access = "public" | "signed-in" | "own" | Scope;

declare module "fastify" {
  interface FastifyContextConfig {
    /** Every route says so; one that does not is refused at start. */
    access?: Access;
    /** `/mcp` alone: tokens that were given for it are good there and nowhere else. */
    resource?: "mcp";
    /** Pages of other origins may call it: it trusts no cookie, and says so to browsers (CORS). */
    crossOrigin?: boolean;
    /** Which limit its calls count against, each address for itself; none when left out. */
    limit?: LimitName;
  }
  interface FastifySchema {
    /** For the OpenAPI document. */
    operationId?: string;
    summary?: string;
    description?: string;
    tags?: readonly string[];
    /** Of a tool: what a call of it does. */
    effects?: ToolEffects;
    /** The media type of the answer when it is not JSON; its schema then describes one item of it. */
    answerType?: string;
    /** The media type of the body when it is not JSON. */
    bodyType?: string;
    /** Leaves the route out of the OpenAPI document. */
    hide?: boolean;
  }
}

/** Fastify with zod schemas. */
export type HttpApp = FastifyInstance<Server, IncomingMessage, ServerResponse, FastifyBaseLogger, ZodTypeProvider>;

/** A route as it was registered. */
export interface KnownRoute {
  readonly methods: readonly string[];
  /** With `:name` for a parameter. */
  readonly url: string;
  readonly access: Access;
  readonly audience: Audience;
  readonly schema: FastifySchema;
}

/** What a module of routes gets. */
export interface RouteServer {
  readonly app: HttpApp;
  /** All routes; complete when the server listens. */
  readonly routes: () => readonly KnownRoute[];
  /** Who is calling; a `public` route has no caller. */
  readonly principalOf: (request: { readonly raw: IncomingMessage }) => Principal;
  /**
   * Checks now whether the caller may still have the answer.
   * @throws PosternError `unauthenticated` | `insufficient_scope` | `dir_not_allowed` when not
   */
  readonly recheck: (request: { readonly raw: IncomingMessage }) => Promise<void>;
  /**
   * The gateway's own origin, for what only a page of it may do without being signed in.
   * @throws PosternError `origin_not_allowed` when the request does not come from such a page
   */
  readonly ownPageOf: (request: { readonly raw: IncomingMessage }) => string;
  /** The gateway's own origin as the request names it; null on the owner's socket, which no page can reach. */
  readonly ownOriginOf: (request: { readonly raw: IncomingMessage }) => string | null;
  /** The client's address; `local` on the owner's Unix socket. Behind a trusted proxy the one that the proxy saw. */
  readonly addressOf: (request: FastifyRequest) => string;
  /** From where a request came, as the audit writes it down. */
  readonly originOf: (request: FastifyRequest) => AuditOrigin;
  /** Who is calling and from where, as the audit writes it down. */
  readonly actorOf: (request: FastifyRequest) => { readonly accountId: string; readonly from: AuditOrigin };
  /**
   * Before a failure at what cannot be guessed is answered or written down.
   * @throws PosternError `rate_limited` when too many of this address failed before it
   */
  readonly checkFailures: (request: FastifyRequest) => void;
  /**
   * Says what a request tries its luck at; it counts against that, from whatever address, when it fails (4xx).
   * @throws PosternError `rate_limited` when too many failed at it
   */
  readonly attacks: (request: FastifyRequest, thing: AttackedThing, id: string) => void;
  /**
   * Aborted when the client goes away, when the gateway stops (its reason is then a PosternError `gateway_stopping`), and when the caller
   * loses the right to the answer: its credentials, a scope, or a folder. A call that waits ends its waiting then: it answers with what
   * it has, or throws the reason.
   */
  readonly signalOf: (reply: { readonly raw: ServerResponse }) => AbortSignal;
  /** Takes the WebSockets of a path; their callers are known by then. */
  readonly onUpgrade: (path: string, handler: UpgradeHandler) => void;
}

/** Adds the routes of one capability. */
export type RouteModule = (server: RouteServer) => void;

/** The `preValidation` of a route whose body has no required field. */
export async function bodyMayBeMissing(request: FastifyRequest): Promise<void> {
  request.body ??= {};
}

/** What to say to a request that fits no route: with another method it may. */
export function findRoutes(
  routes: readonly KnownRoute[],
  request: { readonly method: string; readonly url: string },
): { readonly methods: readonly string[]; readonly detail: string } {
  const [path = ""] = request.url.split("?", 1);
  const methods = [
    ...new Set(routes.filter(({ url }) => fits(url, path)).flatMap((route) => route.methods)),
  ].toSorted();
  if (methods.length === 0) return { methods, detail: "There is no such route. /openapi.json lists them." };
  return { methods, detail: `This route does not take ${request.method}, but ${methods.join(", ")}.` };
}

function fits(url: string, path: string): boolean {
  const wanted = url.split("/");
  const given = path.split("/");
  return (
    wanted.length === given.length &&
    wanted.every((part, at) => (part.startsWith(":") ? given[at] !== "" : part === given[at]))
  );
}

/** Who sits at the machine or at a page of the gateway, in person; `open` is any caller, as the owner configured. */
const inPerson: ReadonlySet<Principal["kind"]> = new Set(["browser", "socket", "open"]);

/** @throws PosternError `insufficient_scope` when a route of this access is not for the caller */
export function requireAccess(principal: Principal, access: Access | undefined): void {
  const scope = scopeNeeded(access);
  if (scope === null || (access === "own" && inPerson.has(principal.kind))) return;
  requireScope(principal, scope);
}

/**
 * For what a caller makes that holds scopes itself: no one gives more than they hold.
 * @throws PosternError `insufficient_scope` naming the first that the caller lacks
 */
export function requireAll(principal: Principal, scopes: readonly Scope[]): void {
  for (const scope of scopes) requireScope(principal, scope);
}

/** The scope that a token needs for a route of this access; null when any token will do. */
export function scopeNeeded(access: Access | undefined): Exclude<Access, "public" | "signed-in" | "own"> | null {
  if (access === undefined || access === "public" || access === "signed-in") return null;
  return access === "own" ? "admin" : access;
}

/** Whether a call may change who may do what: it does so by routes that no scope of a capability opens. */
export function changesRights(method: string, { access, resource }: FastifyContextConfig): boolean {
  if (method === "GET" || method === "HEAD" || method === "OPTIONS" || resource !== undefined) return false;
  return access === "admin" || access === "own" || access === "signed-in";
}
