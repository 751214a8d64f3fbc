import { ResourceNotFoundError } from "@modelcontextprotocol/server";
import type { Principal } from "../accounts/index.ts";
import { PosternError } from "../core/errors.ts";
import type { McpLimits } from "./ports.ts";
import type { SessionResources } from "./resources.ts";
import { SessionInterest } from "./session-interest.ts";
import type { SessionUpdates } from "./session-updates.ts";

/** What {@link createSubscriptions} needs. */
export interface SubscriptionsDeps extends Pick<McpLimits, "maxSubscriptions"> {
  readonly updates: SessionUpdates;
  readonly resources: SessionResources;
}

/** Of a session that is subscribed to. */
const lookUpMs = 10_000;

/** What a client of the 2025 specifications subscribed to. */
export function createSubscriptions(
  { updates, resources, maxSubscriptions }: SubscriptionsDeps,
  onUpdate: (uri: string) => void,
) {
  const wanted = new SessionInterest();
  let principal: Principal | null = null;
  let stop: (() => void) | undefined;

  /** What the caller can no longer see is not reported, whatever was allowed when they subscribed. */
  async function report(uri: string): Promise<void> {
    if (principal === null) return;
    const { allowed: _ofARequest, ...caller } = principal;
    try {
      await resources.idsOf(uri, caller, AbortSignal.timeout(lookUpMs));
      onUpdate(uri);
    } catch (error) {
      if (error instanceof ResourceNotFoundError) wanted.remove(uri); // else it can be seen again when the store answers
    }
  }

  return {
    /** The caller of the newest request. */
    setPrincipal(newest: Principal): void {
      principal = newest;
    },
    add(uri: string, sessionIds: readonly string[]): void {
      if (wanted.size >= maxSubscriptions && !wanted.has(uri)) {
        throw new PosternError(
          "rate_limited",
          `${maxSubscriptions} sessions are subscribed to, the most allowed. Leave one.`,
        );
      }
      wanted.add(uri, sessionIds);
      stop ??= updates.subscribe((update) => {
        for (const subscribed of wanted.urisOf(update)) void report(subscribed);
      });
    },
    remove(uri: string): void {
      wanted.remove(uri);
      if (wanted.size > 0) return;
      stop?.();
      stop = undefined;
    },
    clear(): void {
      wanted.clear();
      stop?.();
      stop = undefined;
    },
  };
}
