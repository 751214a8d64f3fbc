import type { IncomingMessage } from "node:http";
import type { FastifyReply } from "fastify";
import type { Clock } from "../core/clock.ts";
import { hasCode, PosternError } from "../core/errors.ts";
import { addressGroup } from "./connection-shares.ts";
import { toProblem } from "./problem-response.ts";

/** The rate limit of a group of routes, per address. */
export interface RouteLimit extends RateLimit {
  /** Maximum number of calls in the window that fail with a 4xx. */
  readonly maxFailures?: number;
  /**
   * For credentials that cannot be guessed: earlier failures never block a successful call, and only successful calls count for `max`.
   * {@link RouteLimits.checkFailures} rejects too many failures. Otherwise anyone sharing the owner's address could lock them out.
   */
  readonly apart?: true;
  /**
   * The OAuth `error` of the response; a problem document if unset.
   * @see RFC 6749 section 4.1.2.1, RFC 8628 section 3.5
   */
  readonly oauthError?: "slow_down" | "temporarily_unavailable";
}

export type LimitName =
  | "signIn"
  | "pushAction"
  | "passkeyOptions"
  | "token"
  | "registration"
  | "introspection"
  | "revocation"
  | "deviceAuthorization"
  | "userCode"
  | "userCodePage"
  | "decision"
  | "share";

const minuteMs = 60_000;

/** Limits above what the users of one household need, and far too low for guessing. */
export const defaultLimits = {
  signIn: { windowMs: minuteMs, max: 120, maxFailures: 20, apart: true },
  pushAction: { windowMs: minuteMs, max: 120, maxFailures: 20, apart: true },
  // Far more ceremonies than anyone needs, and few enough that none is evicted before it expires.
  passkeyOptions: { windowMs: minuteMs, max: 600 },
  token: { windowMs: minuteMs, max: 300, maxFailures: 120, oauthError: "slow_down" },
  registration: { windowMs: 60 * minuteMs, max: 60, oauthError: "temporarily_unavailable" },
  introspection: { windowMs: minuteMs, max: 600, maxFailures: 120, oauthError: "temporarily_unavailable" },
  revocation: { windowMs: minuteMs, max: 120, oauthError: "temporarily_unavailable" },
  deviceAuthorization: { windowMs: minuteMs, max: 30, oauthError: "slow_down" },
  // Codes are short enough to type: RFC 8628 section 5.1.
  userCode: { windowMs: minuteMs, max: 60, maxFailures: 10 },
  userCodePage: { windowMs: minuteMs, max: 120 },
  decision: { windowMs: minuteMs, max: 120 },
  // Links cannot be guessed, but each page requires reading a whole transcript.
  share: { windowMs: minuteMs, max: 60, maxFailures: 20, apart: true },
} as const satisfies Readonly<Record<LimitName, RouteLimit>>;

/** Targets that can be attacked from many addresses, so that failures are also counted per target. */
export type AttackedThing = "userCode";

/** User codes are short. Client secrets have 256 bits: a limit would only allow others to lock the client out. */
const thingLimits: Readonly<Record<AttackedThing, RateLimit>> = {
  userCode: { windowMs: 10 * minuteMs, max: 30 },
};

const maxIdLength = 500;

export interface RouteLimits {
  /** @returns true if the request exceeded a limit and was answered. @throws PosternError `rate_limited` */
  admit(request: LimitedRequest, reply: FastifyReply): boolean;
  /**
   * Called for a failure with {@link RouteLimit.apart}, before it is answered or logged.
   * @throws PosternError `rate_limited` after too many failures
   */
  checkFailures(request: LimitedRequest): void;
  /** Counts the request against its target if it fails. @throws PosternError `rate_limited` */
  attacked(request: LimitedRequest, thing: AttackedThing, id: string): void;
  /** Called when the response was sent. */
  answered(request: IncomingMessage, status: number): void;
}

export interface LimitedRequest {
  readonly raw: IncomingMessage;
  readonly name: LimitName | undefined;
  readonly address: string | null;
  /** Requests from pages of other origins are counted separately, so that a page cannot lock out programs. */
  readonly fromForeignPage: boolean;
}

export function createRouteLimits(deps: {
  readonly clock: Clock;
  /** Overrides of the defaults. */
  readonly limits?: Partial<Readonly<Record<LimitName, RouteLimit>>>;
}): RouteLimits {
  const limiter = createRateLimiter(deps);
  const limits: Readonly<Record<LimitName, RouteLimit>> = { ...defaultLimits, ...deps.limits };
  /** Counters to update when the outcome of the request is known. */
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
        // Clients can be pages of any origin.
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

/** @returns null if not limited */
function keyOf(
  name: LimitName,
  { address, fromForeignPage }: Pick<LimitedRequest, "address" | "fromForeignPage">,
): string | null {
  return address === null ? null : `${name} ${addressGroup(address)}${fromForeignPage ? " from pages" : ""}`;
}

export interface RateLimit {
  readonly windowMs: number;
  readonly max: number;
}

/** Counts events in time windows, in memory. */
export interface RateLimiter {
  /** @throws PosternError `rate_limited` if the limit of `key` is reached */
  check(key: string, limit: RateLimit): void;
  /** Counts an event, also beyond the limit. */
  count(key: string, limit: RateLimit): void;
}

/** Maximum number of counters. The oldest is dropped. */
const maxCounters = 20_000;
/** At the maximum, how many counters are checked for expiry for each new counter. Bounds the cost of a flood. */
const expiredAtOnce = 50;

interface Counter {
  readonly endsAt: number;
  readonly counted: number;
}

export function createRateLimiter(deps: { readonly clock: Pick<Clock, "now">; readonly max?: number }): RateLimiter {
  const { clock, max = maxCounters } = deps;
  /** Ordered by the start of their windows. */
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
