import { createHash } from "node:crypto";
import type { Clock } from "../core/clock.ts";
import { isPosternError } from "../core/errors.ts";
import { retryAfterMs } from "../core/retry-after.ts";
import type { FetchedAnswer, GuardedFetch } from "../platform/guarded-fetch.ts";
import type { PushMessage } from "../wire/push.ts";
import { type PushTarget, pushRequest } from "./push-request.ts";
import type { VapidKeys } from "./vapid-keys.ts";

/** The answer of a push service. */
export interface Posted {
  /** `gone`: it does not know the browser any more. `again`: it may accept the message later. `refused`: never. */
  readonly outcome: "accepted" | "refused" | "again" | "gone";
  readonly status: number | null;
  /** Null if it was accepted. */
  readonly error: string | null;
  readonly retryAfterMs: number | null;
  readonly durationMs: number;
}

export interface PostOptions {
  readonly ttlMs: number;
  /** Identifies older messages that this one replaces: a session's ID, or a type of message. */
  readonly topic: string;
  readonly signal: AbortSignal;
}

/** Sends an encrypted message to a browser's push service, once. Throws only failures of the gateway itself. */
export type PushPost = (target: PushTarget, message: PushMessage, options: PostOptions) => Promise<Posted>;

export function createPushPost(deps: {
  readonly vapid: () => Promise<VapidKeys>;
  /** Contact of the gateway's operator: an https or mailto URL. */
  readonly subject: () => string;
  readonly fetch: GuardedFetch;
  readonly clock: Clock;
}): PushPost {
  const { clock } = deps;
  return async (target, message, { ttlMs, topic, signal }) => {
    const startedAt = clock.now();
    const finished = (posted: Omit<Posted, "durationMs">): Posted => ({
      ...posted,
      durationMs: clock.now() - startedAt,
    });
    const { headers, body } = await pushRequest(target, JSON.stringify(message), {
      vapid: await deps.vapid(),
      subject: deps.subject(),
      ttlMs,
      topic: topicOf(topic),
      urgency: isUrgent(message) ? "high" : "normal",
    });
    try {
      return finished(judge(await deps.fetch(target.endpoint, { method: "POST", headers, body, signal }), clock.now()));
    } catch (error) {
      if (!isPosternError(error)) throw error;
      const never = error.code === "address_refused" || error.code === "url_refused";
      return finished({
        outcome: never ? "refused" : "again",
        status: null,
        error: error.message,
        retryAfterMs: null,
      });
    }
  };
}

/** At most 32 characters that reveal no ID to the push service. @see RFC 8030 section 5.4 */
function topicOf(name: string): string {
  return createHash("sha256").update(`postern ${name}`).digest("base64url").slice(0, 32);
}

function isUrgent(message: PushMessage): boolean {
  return message.type === "notice" && message.silent !== true && message.kind.startsWith("needs_");
}

/** @see RFC 8030 sections 5 and 7.3 (404), RFC 9110 section 15.5.11 (410) */
function judge({ status, headers }: FetchedAnswer, now: number): Omit<Posted, "durationMs"> {
  const outcome =
    status >= 200 && status < 300
      ? "accepted"
      : status === 404 || status === 410
        ? "gone"
        : status === 429 || status >= 500
          ? "again"
          : "refused";
  return {
    outcome,
    status,
    error: outcome === "accepted" ? null : `The push service answered ${status}.`,
    retryAfterMs: retryAfterMs(headers.get("retry-after"), now),
  };
}
