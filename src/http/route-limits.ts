import type { IncomingMessage } from "node:http";
import type { FastifyReply } from "fastify";
import type { Clock } from "../core/clock.ts";
import { hasCode } from "../core/errors.ts";
import { addressGroup } from "./client-address.ts";
import { toProblem } from "./problem-response.ts";
import { createRateLimiter, type RateLimit } from "./rate-limit.ts";

/** How often the routes of one name may be called from one address. */
export interface RouteLimit extends RateLimit {
  /** Of these, such that the caller got wrong (4xx); no other limit when left out. */
  readonly maxFailures?: number;
  /**
   * What a client of the protocol reads in the answer's `error`; a problem document when left out.
   * @see RFC 6749 section 4.1.2.1, RFC 8628 section 3.5
   */
  readonly oauthError?: "slow_down" | "temporarily_unavailable";
}

/** Names what a route's calls are counted as. */
export type LimitName =
  | "signIn"
  | "token"
  | "registration"
  | "introspection"
  | "revocation"
  | "deviceAuthorization"
  | "userCode"
  | "decision";

const minuteMs = 60_000;

/** Ours. What the people and programs of one household do not reach, and what is far too little to guess anything. */
export const defaultLimits = {
  signIn: { windowMs: minuteMs, max: 120, maxFailures: 20 },
  token: { windowMs: minuteMs, max: 300, maxFailures: 120, oauthError: "slow_down" },
  registration: { windowMs: 60 * minuteMs, max: 60, oauthError: "temporarily_unavailable" },
  introspection: { windowMs: minuteMs, max: 600, maxFailures: 120, oauthError: "temporarily_unavailable" },
  revocation: { windowMs: minuteMs, max: 120, oauthError: "temporarily_unavailable" },
  deviceAuthorization: { windowMs: minuteMs, max: 30, oauthError: "slow_down" },
  // A code is short, so that people can type it: RFC 8628 section 5.1.
  userCode: { windowMs: minuteMs, max: 60, maxFailures: 10 },
  decision: { windowMs: minuteMs, max: 120 },
} as const satisfies Readonly<Record<LimitName, RouteLimit>>;

/** What can be attacked from many addresses at once: failures at it are counted for itself. */
export type AttackedThing = "client" | "userCode";

/** A client's secret has 256 bits: this only keeps a crowd from wearing us out. A user code is short. */
const thingLimits: Readonly<Record<AttackedThing, RateLimit>> = {
  client: { windowMs: 10 * minuteMs, max: 200 },
  userCode: { windowMs: 10 * minuteMs, max: 30 },
};

/** A client's id can be an address. */
const maxIdLength = 500;

/** Limits of routes; each route says under which name it counts. */
export interface RouteLimits {
  /** @returns whether the request was answered: it was one too many. @throws PosternError `rate_limited` */
  admit(request: LimitedRequest, reply: FastifyReply): boolean;
  /** What the request tries: counts against it when the request fails. @throws PosternError `rate_limited` */
  attacked(request: LimitedRequest, thing: AttackedThing, id: string): void;
  /** Called when the answer is out. */
  answered(request: IncomingMessage, status: number): void;
}

/** @param address null is not limited */
export interface LimitedRequest {
  readonly raw: IncomingMessage;
  readonly name: LimitName | undefined;
  readonly address: string | null;
}

/** @see RouteLimits */
export function createRouteLimits(deps: {
  readonly clock: Clock;
  /** In place of ours. */
  readonly limits?: Partial<Readonly<Record<LimitName, RouteLimit>>>;
}): RouteLimits {
  const limiter = createRateLimiter(deps);
  const limits: Readonly<Record<LimitName, RouteLimit>> = { ...defaultLimits, ...deps.limits };
  /** What each request counts against when it fails. */
  const countedAt = new WeakMap<IncomingMessage, readonly (readonly [string, RateLimit])[]>();

  function countOnFailure(request: IncomingMessage, key: string, limit: RateLimit): void {
    limiter.check(key, limit);
    countedAt.set(request, [...(countedAt.get(request) ?? []), [key, limit]]);
  }

  function take({ raw, name, address }: LimitedRequest): void {
    if (name === undefined || address === null) return;
    const { windowMs, max, maxFailures, oauthError } = limits[name];
    const key = `${name} ${addressGroup(address)}`;
    limiter.check(key, { windowMs, max });
    if (maxFailures !== undefined) countOnFailure(raw, `${key} failed`, { windowMs, max: maxFailures });
    const client = oauthError === undefined ? null : clientOf(raw);
    if (client !== null) countOnFailure(raw, `client ${client}`, thingLimits.client);
    limiter.count(key, { windowMs, max });
  }

  return {
    admit(request, reply) {
      try {
        take(request);
        return false;
      } catch (error) {
        const oauthError = request.name === undefined ? undefined : limits[request.name].oauthError;
        if (oauthError === undefined || !hasCode(error, "rate_limited")) throw error;
        const { headers } = toProblem(error, "");
        // Clients may be pages of any origin.
        const openToPages = { "access-control-allow-origin": "*", "access-control-expose-headers": "retry-after" };
        void reply
          .code(429)
          .headers({ ...headers, ...openToPages })
          .type("application/json; charset=utf-8");
        void reply.send(JSON.stringify({ error: oauthError, error_description: error.message }));
        return true;
      }
    },
    attacked({ raw, address }, thing, id) {
      if (address !== null) countOnFailure(raw, `${thing} ${id.slice(0, maxIdLength)}`, thingLimits[thing]);
    },
    answered(request, status) {
      if (status < 400 || status >= 500) return;
      for (const [key, limit] of countedAt.get(request) ?? []) limiter.count(key, limit);
    },
  };
}

/** The client that shows its secret in a header. @see RFC 6749 section 2.3.1 */
function clientOf({ headers }: IncomingMessage): string | null {
  const basic = /^basic +([\w+/=-]+) *$/i.exec(headers.authorization ?? "")?.[1];
  if (basic === undefined) return null;
  const [clientId = ""] = Buffer.from(basic, "base64").toString("utf8").split(":", 1);
  return clientId.slice(0, maxIdLength);
}
