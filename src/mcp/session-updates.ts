import { ResourceNotFoundError } from "@modelcontextprotocol/server";
import type { Principal } from "../accounts/index.ts";
import { messageOf, PosternError } from "../core/errors.ts";
import type { EventKind, SessionEvent } from "../wire/events.ts";
import type { McpDeps, McpLimits } from "./ports.ts";
import type { SessionResources } from "./resources.ts";

/** After these a session reads differently: not at every word of the agent. */
const changing: ReadonlySet<EventKind> = new Set([
  "session.turn_ended",
  "session.permission_asked",
  "session.exited",
  "session.closed",
]);
const retryMs = 5_000;

/** Something that happened to a session. */
export interface SessionUpdate {
  readonly sessionId: string;
  /** The id under which it was known before, when it just began to go on from there. */
  readonly replaces: string | null;
  /** Whether it reads differently now. */
  readonly isChange: boolean;
}

/** Notifies subscribers of sessions that one of them has changed. Who may see which is settled when they subscribe. */
export interface SessionUpdates {
  /** @returns unsubscribes */
  subscribe(listener: (update: SessionUpdate) => void): () => void;
  close(): void;
}

/** Follows the events while there are listeners. */
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
        log.warn({ reason: messageOf(error) }, "following sessions for MCP subscriptions broke off");
        await clock.sleep(retryMs, signal).catch(() => undefined); // the signal: the loop sees it
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

/** The sessions that one client follows, by the addresses that it subscribed with. */
export class SessionInterest {
  readonly #wanted = new Map<string, Set<string>>();

  get size(): number {
    return this.#wanted.size;
  }

  has(uri: string): boolean {
    return this.#wanted.has(uri);
  }

  /** @param sessionIds every id of the session, its aliases too */
  add(uri: string, sessionIds: readonly string[]): void {
    this.#wanted.set(uri, new Set(sessionIds));
  }

  remove(uri: string): void {
    this.#wanted.delete(uri);
  }

  clear(): void {
    this.#wanted.clear();
  }

  /** @returns the addresses to notify. A session that continues under another id is reported under the same address. */
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
