import { ResourceNotFoundError } from "@modelcontextprotocol/server";
import type { Principal } from "../accounts/index.ts";
import { messageOf, PosternError } from "../core/errors.ts";
import type { EventKind, SessionEvent } from "../wire/events.ts";
import type { McpDeps, McpLimits } from "./ports.ts";
import type { SessionResources } from "./resources.ts";

/** Events that change what a session resource shows. */
const changing: ReadonlySet<EventKind> = new Set([
  "session.turn_ended",
  "session.permission_asked",
  "session.exited",
  "session.closed",
  "session.edited",
]);
const retryMs = 5_000;

export interface SessionUpdate {
  readonly sessionId: string;
  /** Its previous id, if it was just replaced. */
  readonly replaces: string | null;
  /** Whether the resource changed. */
  readonly isChange: boolean;
}

/** Notifies subscribers of changes to sessions. Access is checked when they subscribe. */
export interface SessionUpdates {
  /** @returns a function that unsubscribes */
  subscribe(listener: (update: SessionUpdate) => void): () => void;
  close(): void;
}

/** Follows the events only while there are listeners. */
export function createSessionUpdates({
  events,
  clock,
  log,
}: Pick<McpDeps, "events" | "clock" | "log">): SessionUpdates {
  const listeners = new Set<(update: SessionUpdate) => void>();
  let following: AbortController | undefined;

  async function follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        for await (const message of events({ after: null, sessionIds: null, within: null, signal })) {
          const update = message.kind === "event" ? updateOf(message.event) : null;
          if (update === null) continue;
          for (const listener of listeners) listener(update);
        }
      } catch (error) {
        if (signal.aborted) return;
        log.warn({ reason: messageOf(error) }, "event stream for MCP subscriptions failed; retrying");
        await clock.sleep(retryMs, signal).catch(() => undefined); // aborted: the loop ends
      }
    }
  }

  function stopWhenAlone(): void {
    if (listeners.size > 0) return;
    following?.abort();
    following = undefined;
  }

  return {
    subscribe(listener) {
      listeners.add(listener);
      if (following === undefined) {
        following = new AbortController();
        void follow(following.signal);
      }
      return () => {
        listeners.delete(listener);
        stopWhenAlone();
      };
    },
    close() {
      listeners.clear();
      stopWhenAlone();
    },
  };
}

function updateOf(event: SessionEvent): SessionUpdate | null {
  const replaces = event.kind === "session.created" ? event.replaces : null;
  const isChange = changing.has(event.kind);
  return isChange || replaces !== null ? { sessionId: event.sessionId, replaces, isChange } : null;
}

/** The sessions that a client subscribed to, by URI. */
export class SessionInterest {
  readonly #wanted = new Map<string, Set<string>>();

  get size(): number {
    return this.#wanted.size;
  }

  has(uri: string): boolean {
    return this.#wanted.has(uri);
  }

  /** @param sessionIds all ids of the session, including aliases */
  add(uri: string, sessionIds: readonly string[]): void {
    this.#wanted.set(uri, new Set(sessionIds));
  }

  remove(uri: string): void {
    this.#wanted.delete(uri);
  }

  clear(): void {
    this.#wanted.clear();
  }

  /** The URIs to notify. A session that continues under another id keeps its URI. */
  urisOf({ sessionId, replaces, isChange }: SessionUpdate): readonly string[] {
    const uris: string[] = [];
    for (const [uri, ids] of this.#wanted) {
      if (replaces !== null && ids.has(replaces)) ids.add(sessionId);
      if (isChange && ids.has(sessionId)) uris.push(uri);
    }
    return uris;
  }
}

interface SubscriptionsDeps extends Pick<McpLimits, "maxSubscriptions"> {
  readonly updates: SessionUpdates;
  readonly resources: SessionResources;
}

const lookUpMs = 10_000;

/** Subscriptions of a client of the 2025 specifications. */
export function createSubscriptions(
  { updates, resources, maxSubscriptions }: SubscriptionsDeps,
  onUpdate: (uri: string) => void,
) {
  const wanted = new SessionInterest();
  let principal: Principal | null = null;
  let stop: (() => void) | undefined;

  /** Checks access again before each notification. */
  async function report(uri: string): Promise<void> {
    if (principal === null) return;
    const { allowed: _ofARequest, ...caller } = principal;
    try {
      await resources.idsOf(uri, caller, AbortSignal.timeout(lookUpMs));
      onUpdate(uri);
    } catch (error) {
      if (error instanceof ResourceNotFoundError) wanted.remove(uri); // other errors are temporary
    }
  }

  return {
    /** The caller of the latest request. */
    setPrincipal(newest: Principal): void {
      principal = newest;
    },
    add(uri: string, sessionIds: readonly string[]): void {
      if (wanted.size >= maxSubscriptions && !wanted.has(uri)) {
        throw new PosternError(
          "rate_limited",
          `The maximum of ${maxSubscriptions} subscriptions is reached. Unsubscribe from one.`,
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
