import type { IncomingMessage } from "node:http";
import type { FastifyReply } from "fastify";
import type { Clock } from "../core/clock.ts";
import { hasCode, PosternError } from "../core/errors.ts";
import { addressGroup } from "./connection-shares.ts";
import { toProblem } from "./problem-response.ts";

/** How often the routes of one name may be called from one address. */
export interface RouteLimit extends RateLimit {
  /** Of these, such that the caller got wrong (4xx); no other limit when left out. */
  readonly maxFailures?: number;
  /**
   * For what cannot be guessed: a call that succeeds is never refused for what failed before it, and `max` counts those that succeeded.
   * {@link RouteLimits.checkFailures} refuses callers that fail too often. Otherwise anyone who shares the owner's address could shut them out.
   */
  readonly apart?: true;
  /**
   * What a client of the protocol reads in the answer's `error`; a problem document when left out.
   * @see RFC 6749 section 4.1.2.1, RFC 8628 section 3.5
   */
  readonly oauthError?: "slow_down" | "temporarily_unavailable";
}

/** Names what a route's calls are counted as. */
export type LimitName =
  | "signIn"
  | "passkeyOptions"
  | "token"
  | "registration"
  | "introspection"
  | "revocation"
  | "deviceAuthorization"
  | "userCode"
  | "userCodePage"
  | "decision";

const minuteMs = 60_000;

/** Ours. What the people and programs of one household do not reach, and what is far too little to guess anything. */
export const defaultLimits = {
  signIn: { windowMs: minuteMs, max: 120, maxFailures: 20, apart: true },
  // Anyone may begin: far more than a person needs in a hurry, and few enough that no ceremony is pushed out before it expires.
  passkeyOptions: { windowMs: minuteMs, max: 600 },
  token: { windowMs: minuteMs, max: 300, maxFailures: 120, oauthError: "slow_down" },
  registration: { windowMs: 60 * minuteMs, max: 60, oauthError: "temporarily_unavailable" },
  introspection: { windowMs: minuteMs, max: 600, maxFailures: 120, oauthError: "temporarily_unavailable" },
  revocation: { windowMs: minuteMs, max: 120, oauthError: "temporarily_unavailable" },
  deviceAuthorization: { windowMs: minuteMs, max: 30, oauthError: "slow_down" },
  // A code is short, so that people can type it: RFC 8628 section 5.1.
  userCode: { windowMs: minuteMs, max: 60, maxFailures: 10 },
  userCodePage: { windowMs: minuteMs, max: 120 },
  decision: { windowMs: minuteMs, max: 120 },
} as const satisfies Readonly<Record<LimitName, RouteLimit>>;

/** What can be attacked from many addresses at once: failures at it are counted for itself. */
export type AttackedThing = "userCode";

/** A user code is short. A client's secret has 256 bits and cannot be guessed; counting would only let strangers shut the client out. */
const thingLimits: Readonly<Record<AttackedThing, RateLimit>> = {
  userCode: { windowMs: 10 * minuteMs, max: 30 },
};

const maxIdLength = 500;

/** Limits of routes; each route says under which name it counts. */
export interface RouteLimits {
  /** @returns whether the request was answered: it was one too many. @throws PosternError `rate_limited` */
  admit(request: LimitedRequest, reply: FastifyReply): boolean;
  /**
   * For a failure where {@link RouteLimit.apart} holds, before it is answered or written down.
   * @throws PosternError `rate_limited` when too many failed before it
   */
  checkFailures(request: LimitedRequest): void;
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
  /** Whether a page of another origin sends it from a browser: such requests are counted apart, so that no page shuts out programs. */
  readonly fromForeignPage: boolean;
}

export function createRouteLimits(deps: {
  readonly clock: Clock;
  /** In place of ours. */
  readonly limits?: Partial<Readonly<Record<LimitName, RouteLimit>>>;
}): RouteLimits {
  const limiter = createRateLimiter(deps);
  const limits: Readonly<Record<LimitName, RouteLimit>> = { ...defaultLimits, ...deps.limits };
  /** What each request counts against when it is known what came of it. */
  const countedAt = new WeakMap<IncomingMessage, readonly Counted[]>();

  function countLater(request: IncomingMessage, counted: Counted): void {
    countedAt.set(request, [...(countedAt.get(request) ?? []), counted]);
  }

  function take({ raw, name, ...from }: LimitedRequest): void {
    const key = name === undefined ? null : keyOf(name, from);
    if (name === undefined || key === null) return;
    const { windowMs, max, maxFailures, apart = false } = limits[name];
    const [all, failures] = [{ windowMs, max }, maxFailures === undefined ? null : { windowMs, max: maxFailures }];
    limiter.check(key, all);
    if (failures !== null) {
      if (!apart) limiter.check(`${key} failed`, failures);
      countLater(raw, { key: `${key} failed`, limit: failures, on: "failure" });
    }
    if (apart) countLater(raw, { key, limit: all, on: "success" });
    else limiter.count(key, all);
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
    checkFailures({ raw }) {
      for (const { key, limit, on } of countedAt.get(raw) ?? []) if (on === "failure") limiter.check(key, limit);
    },
    attacked({ raw, address }, thing, id) {
      if (address === null) return;
      const counted = {
        key: `${thing} ${id.slice(0, maxIdLength)}`,
        limit: thingLimits[thing],
        on: "failure",
      } as const;
      limiter.check(counted.key, counted.limit);
      countLater(raw, counted);
    },
    answered(request, status) {
      const outcome = status < 400 ? "success" : status < 500 ? "failure" : null;
      for (const { key, limit, on } of countedAt.get(request) ?? []) if (on === outcome) limiter.count(key, limit);
    },
  };
}

interface Counted {
  readonly key: string;
  readonly limit: RateLimit;
  readonly on: "failure" | "success";
}

/** @returns null when it is not limited */
function keyOf(
  name: LimitName,
  { address, fromForeignPage }: Pick<LimitedRequest, "address" | "fromForeignPage">,
): string | null {
  return address === null ? null : `${name} ${addressGroup(address)}${fromForeignPage ? " from pages" : ""}`;
}

/** So many within a window of time. */
export interface RateLimit {
  readonly windowMs: number;
  readonly max: number;
}

/** Counts what happens within windows of time, in memory: a restart forgets it. */
export interface RateLimiter {
  /** @throws PosternError `rate_limited` when `key` has used up its window */
  check(key: string, limit: RateLimit): void;
  /** Counts one, also beyond the limit. */
  count(key: string, limit: RateLimit): void;
}

/** Counters that are kept at the same time; the one that was begun first goes. */
const maxCounters = 20_000;
/** Looked at for each new one while there are so many: no flood of addresses costs more than that. */
const expiredAtOnce = 50;

interface Counter {
  readonly endsAt: number;
  readonly counted: number;
}

export function createRateLimiter(deps: { readonly clock: Pick<Clock, "now">; readonly max?: number }): RateLimiter {
  const { clock, max = maxCounters } = deps;
  /** In the order in which their windows began. */
  const counters = new Map<string, Counter>();

  function current(key: string): Counter | undefined {
    const counter = counters.get(key);
    if (counter !== undefined && counter.endsAt > clock.now()) return counter;
    counters.delete(key);
    return undefined;
  }

  function makeRoom(): void {
    if (counters.size < max) return;
    let seen = 0;
    for (const [key, { endsAt }] of counters) {
      seen += 1;
      if (seen > expiredAtOnce) break;
      if (seen === 1 || endsAt <= clock.now()) counters.delete(key);
    }
  }

  return {
    check(key, limit) {
      const counter = current(key);
      if (counter === undefined || counter.counted < limit.max) return;
      const retryAfterMs = counter.endsAt - clock.now();
      const seconds = Math.ceil(retryAfterMs / 1_000);
      throw new PosternError("rate_limited", `Too many requests of this kind. Try again in ${seconds} seconds.`, {
        details: { retryAfterMs },
      });
    },
    count(key, { windowMs }) {
      const counter = current(key);
      if (counter === undefined) makeRoom();
      const endsAt = counter?.endsAt ?? clock.now() + windowMs;
      counters.set(key, { endsAt, counted: (counter?.counted ?? 0) + 1 });
    },
  };
}
