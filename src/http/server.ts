import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { FastifyRequest } from "fastify";
import { type Accounts, callerOf, type Principal } from "../accounts/index.ts";
import { type Clock, systemClock } from "../core/clock.ts";
import { PosternError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { limitBody } from "./body-deadlines.ts";
import { clientAddress, createConnectionShares, localAddress } from "./connection-shares.ts";
import { credentialsOf } from "./deciding.ts";
import { createFastifyApp } from "./fastify-app.ts";
import { createHolds, type Hold, type IsVisible } from "./holds.ts";
import {
  checkEveryOrigin,
  checkOrigin,
  checkOwnPage,
  createKnownHosts,
  isForeignPage,
  isLoopback,
} from "./known-host.ts";
import { endLate, type Listening, openListeners } from "./listeners.ts";
import { answerVisitor } from "./page-answers.ts";
import type { ChallengedRequest } from "./problem-response.ts";
import { createRouteLimits, type LimitedRequest, type LimitName, type RouteLimit } from "./route-limits.ts";
import {
  changesRights,
  findRoutes,
  type KnownRoute,
  type RouteModule,
  type RouteServer,
  requireAccess,
} from "./route-server.ts";
import { createUpgrades } from "./upgrades.ts";

export interface HttpConfig {
  /** Addresses to listen on; `127.0.0.1` and `::1` by default. */
  readonly hosts: readonly string[];
  /** 0 uses any free port. */
  readonly port: number;
  /** The address in browsers behind a proxy; null without one. */
  readonly baseUrl: string | null;
  readonly auth: "on" | "none";
  readonly bodyLimitBytes: number;
  /** The owner's Unix socket; null for none. */
  readonly socketPath: string | null;
  /** Addresses and networks of proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: readonly string[];
}

export interface HttpServer {
  /**
   * @throws PosternError `address_in_use` | `address_not_available` | `gateway_running`
   */
  listen(): Promise<Pick<Listening, "port" | "addresses">>;
  /** Finishes running requests, ends waiting requests, and closes every connection. Idempotent. */
  close(): Promise<void>;
  /** Every route, including those hidden from the OpenAPI document, and every WebSocket path. */
  routes(): { readonly http: readonly KnownRoute[]; readonly sockets: readonly string[] };
}

export interface HttpDeps {
  readonly accounts: Accounts;
  readonly isVisible: IsVisible;
  readonly log: Log;
  readonly config: HttpConfig;
  readonly routes: readonly RouteModule[];
  readonly clock?: Clock;
  /** Overrides of the default limits. */
  readonly limits?: Partial<Readonly<Record<LimitName, RouteLimit>>>;
}

/** Time for running requests when the gateway stops. */
const closeGraceMs = 2_000;
/** Time for a call to end after its caller loses access; after that, the connection is closed. */
const lostGraceMs = 1_000;

const securityHeaders = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

/** @throws PosternError `unsafe_configuration` if authentication is off on an address that is not loopback */
export function createHttpServer(deps: HttpDeps): HttpServer {
  const { accounts, log, config, clock = systemClock } = deps;
  refuseOpenAccess(config);
  const ownerSockets = new WeakSet<Socket>();
  const holdsOf = new WeakMap<IncomingMessage, Hold>();
  const knownRoutes: KnownRoute[] = [];
  let port = config.port;
  let listening: Listening | undefined;
  let closing: Promise<void> | undefined;
  const knownHosts = createKnownHosts({ ...config, port: () => port });
  const limits = createRouteLimits({ clock, ...(deps.limits === undefined ? {} : { limits: deps.limits }) });
  const app = createFastifyApp({ ...config, log, challenged });
  const shares = createConnectionShares({ clock, log, onLate: endLate });
  const holds = createHolds({
    refresh: (principal) => accounts.refresh(principal),
    isVisible: deps.isVisible,
    clock,
  });
  const upgrades = createUpgrades({
    accounts,
    holds,
    clock,
    log,
    auth: config.auth,
    isOwnerSocket: ({ socket }) => ownerSockets.has(socket),
    onAuthenticated: (request, principal) => shares.authenticated(request, callerOf(principal)),
    checkPlace(request) {
      checkEveryOrigin({ origin: request.headers.origin, ownOrigin: ownOriginOf(request) });
    },
  });

  app.addHook("onRoute", (route) => {
    const access = route.config?.access;
    if (access === undefined) throw new Error(`The route ${route.url} declares no access.`);
    const audience = route.config?.resource ?? "api";
    knownRoutes.push({ methods: [route.method].flat(), url: route.url, access, audience, schema: route.schema ?? {} });
  });

  app.addHook("onRequest", async (request, reply) => {
    void reply.headers(securityHeaders);
    shares.arrived(reply.raw, addressOf(request));
    if (closing !== undefined) throw stopping();
    const ownOrigin = ownOriginOf(request.raw);
    const { crossOrigin = false, resource } = request.is404 ? {} : request.routeOptions.config;
    const { origin } = request.headers;
    if (resource === "mcp") checkEveryOrigin({ origin, ownOrigin });
    else if (!crossOrigin) checkOrigin({ method: request.method, origin, ownOrigin });
    const slow = !request.is404 && request.routeOptions.config.slowBody === true;
    limitBody(reply.raw, { slow, clock, onLate: () => endLate(reply.raw) });
    if (request.is404) return;
    if (request.routeOptions.config.limit !== undefined && limits.admit(limitedRequest(request), reply)) return reply;
    if (request.routeOptions.config.access === "public") return;
    const principal = await admit(request);
    shares.authenticated(request.raw, callerOf(principal));
    const hold = holds.open(principal);
    holdsOf.set(request.raw, hold);
    reply.raw.once("close", () => hold.end(new PosternError("client_gone", "The client disconnected.")));
    hold.signal.addEventListener("abort", () => {
      if (hold.isLost)
        reply.raw.once(
          "close",
          clock.after(lostGraceMs, () => reply.raw.destroy()),
        );
    });
    if (closing !== undefined) hold.end(stopping());
  });

  app.addHook("onSend", async ({ raw, method, routeOptions }, reply) => {
    const hold = holdsOf.get(raw);
    // A caller that lost access gets an error instead of the response. The error runs this hook again.
    if (hold?.isLost === true && reply.statusCode < 400) throw hold.signal.reason;
    if (reply.statusCode < 400 && changesRights(method, routeOptions.config)) {
      holdsOf.delete(raw);
      hold?.end(new PosternError("client_gone", "The call has ended."));
      await holds.recheck();
    }
    if (closing !== undefined) void reply.header("connection", "close");
  });

  app.addHook("onResponse", async ({ raw }, reply) => limits.answered(raw, reply.raw.statusCode));

  app.setNotFoundHandler(async (request, reply) => {
    const { methods, detail } = findRoutes(knownRoutes, request);
    const page = methods.length === 0 ? answerVisitor(request, reply) : null;
    if (page !== null) return page;
    if (methods.length > 0) void reply.header("allow", methods.join(", "));
    throw new PosternError("route_not_found", detail);
  });

  /** Null on the owner's socket, which pages cannot reach. */
  function ownOriginOf(request: IncomingMessage): string | null {
    return ownerSockets.has(request.socket) ? null : knownHosts.checkHost(request);
  }

  function challenged({ raw, routeOptions }: FastifyRequest): ChallengedRequest {
    const showedToken = raw.headers.authorization !== undefined;
    return { origin: ownOriginOf(raw), audience: routeOptions.config.resource ?? "api", showedToken };
  }

  function addressOf(request: FastifyRequest): string {
    return ownerSockets.has(request.raw.socket) ? localAddress : clientAddress(request);
  }

  /** The owner's programs are not limited. */
  function limitedRequest(request: FastifyRequest): LimitedRequest {
    const address = addressOf(request);
    return {
      raw: request.raw,
      name: request.routeOptions.config.limit,
      address: address === localAddress ? null : address,
      fromForeignPage: isForeignPage(request.raw, ownOriginOf(request.raw)),
    };
  }

  async function admit({ raw, routeOptions }: FastifyRequest): Promise<Principal> {
    const { access, resource: audience = "api" } = routeOptions.config;
    const credentials = credentialsOf(raw, { auth: config.auth, ownOrigin: ownOriginOf(raw) });
    const principal = await accounts.authenticate(credentials, audience);
    requireAccess(principal, access);
    return principal;
  }

  function holdOf(raw: IncomingMessage): Hold {
    const hold = holdsOf.get(raw);
    if (hold === undefined) throw new Error("A public route has no caller.");
    return hold;
  }

  const server: RouteServer = {
    app,
    routes: () => knownRoutes,
    signalOf: ({ raw }) => holdOf(raw.req).signal,
    recheck: async (request) => holdOf(request.raw).check(),
    addressOf,
    originOf: (request) => ({ address: addressOf(request), userAgent: request.headers["user-agent"] ?? null }),
    actorOf: (request) => ({ accountId: server.principalOf(request).accountId, from: server.originOf(request) }),
    checkFailures: (request) => limits.checkFailures(limitedRequest(request)),
    attacks: (request, thing, id) => limits.attacked(limitedRequest(request), thing, id),
    onUpgrade: (path, handler) => upgrades.on(path, handler),
    ownOriginOf: ({ raw }) => ownOriginOf(raw),
    ownPageOf({ raw }) {
      const ownOrigin = ownOriginOf(raw);
      checkOwnPage(raw, ownOrigin);
      return ownOrigin;
    },
    principalOf: ({ raw }) => holdOf(raw).principal,
  };
  for (const addRoutes of deps.routes) addRoutes(server);

  async function close(): Promise<void> {
    // Otherwise the watcher would recreate the closed socket, which would block the next gateway.
    await listening?.stopWatching();
    holds.close(stopping());
    const closed = (listening?.servers ?? []).map(
      (open) => new Promise<void>((resolve) => open.close(() => resolve())),
    );
    await upgrades.close();
    const cut = setTimeout(() => {
      for (const open of listening?.servers ?? []) open.closeAllConnections();
    }, closeGraceMs);
    await Promise.all(closed);
    clearTimeout(cut);
    await app.close();
  }

  return {
    async listen() {
      await app.ready();
      const onRequest = (request: IncomingMessage, response: ServerResponse): void =>
        void (shares.admits(response) && app.routing(request, response));
      const onOwnerConnection = (socket: Socket): void => void ownerSockets.add(socket);
      const onPort = (actual: number): void => {
        port = actual;
      };
      listening = await openListeners({
        ...config,
        onRequest,
        onUpgrade: (request, connection, head) => upgrades.handle(request, connection, head),
        onOwnerConnection,
        onConnection: (socket) => shares.opened(socket),
        onPort,
        clock,
        log,
      });
      warnOfHiddenCallers(config, log);
      return { port: listening.port, addresses: listening.addresses };
    },
    close: () => (closing ??= close()),
    routes: () => ({ http: knownRoutes, sockets: upgrades.paths() }),
  };
}

function refuseOpenAccess({ auth, hosts, baseUrl }: HttpConfig): void {
  if (auth === "on") return;
  const names = baseUrl === null ? hosts : [...hosts, new URL(baseUrl).hostname];
  const open = names.filter((name) => !isLoopback(name));
  if (open.length === 0) return;
  throw new PosternError(
    "unsafe_configuration",
    `POSTERN_AUTH=none works only on loopback addresses, not on ${open.join(", ")}. Remove it or change the address.`,
  );
}

/** Behind an unknown proxy, all callers share one address and its rate limits. */
function warnOfHiddenCallers({ baseUrl, hosts, trustedProxies }: HttpConfig, log: Log): void {
  if (baseUrl === null || isLoopback(new URL(baseUrl).hostname)) return;
  if (trustedProxies.length > 0 || !hosts.every(isLoopback)) return;
  log.warn(
    { baseUrl },
    "the base URL suggests a proxy: set POSTERN_TRUSTED_PROXIES, or all callers share one address and its rate limits",
  );
}

function stopping(): PosternError {
  return new PosternError("gateway_stopping", "The gateway is stopping. Try again when it is back.");
}
