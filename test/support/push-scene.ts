import { onTestFinished } from "vitest";
import { createAccounts } from "../../src/accounts/index.ts";
import { systemClock } from "../../src/core/clock.ts";
import { silentLog } from "../../src/core/log.ts";
import { createEvents } from "../../src/events/index.ts";
import { createAddressList, createGuardedFetch } from "../../src/platform/guarded-fetch.ts";
import { createPush, type PushDeps, type Subscriber } from "../../src/push/index.ts";
import type { PendingPermission, SessionSummary } from "../../src/wire/coding.ts";
import type { NewSessionEvent } from "../../src/wire/events.ts";
import type { TestStore } from "./database.ts";
import { createFakeClock } from "./fake-clock.ts";
import { startPushService, type TestSubscription } from "./push-service.ts";
import { newSecretBox } from "./secret-box.ts";

export type SceneSession = Pick<
  SessionSummary,
  "sessionId" | "agent" | "title" | "status" | "activity" | "queuedPrompts" | "permissions" | "turnFailure"
>;

/** A request of a shell command. */
export function permissionOf(permissionId: string, differs: Partial<PendingPermission> = {}): PendingPermission {
  const input = { command: `echo ${permissionId}` };
  return { permissionId, kind: "permission", tool: "Bash", input, askedAt: "", answerable: true, ...differs };
}

/** Notifications with a real store, real events, a real push service, and sessions and time that the test sets. */
export async function pushScene(store: TestStore, differs: Partial<PushDeps> = {}) {
  const { db } = store;
  const clock = createFakeClock();
  // A timer that is set while the test advances the clock is due at once.
  const ticking = setInterval(() => void clock.advance(0), 20);
  onTestFinished(() => clearInterval(ticking));
  const service = await startPushService();
  const secrets = newSecretBox();
  const sessions = new Map<string, SceneSession>();
  /** Browser sessions that are signed out. */
  const signedOut = new Set<string>();
  const scopes = new Set<"coding:read" | "coding:drive">(["coding:read", "coding:drive"]);
  const answered: unknown[] = [];
  const accounts = createAccounts({ db, clock });
  const { accountId } = await accounts.owner();
  const fetch = createGuardedFetch({ clock: systemClock, allowed: createAddressList(["127.0.0.1"]) });
  const events = await createEvents({
    ...{ db, clock: systemClock, log: silentLog, secrets, fetch },
    isVisible: async () => true,
  });
  onTestFinished(() => events.close());
  const deps: PushDeps = {
    ...{ db, clock, log: silentLog, secrets, fetch },
    subject: () => "https://postern.example",
    callerOf: async ({ accountId: id, browserSessionId }) =>
      signedOut.has(browserSessionId ?? "") ? null : { accountId: id, scopes, folders: null },
    readSession: async (sessionId) => sessions.get(sessionId) ?? null,
    answer: async (input) => void answered.push(input),
    follow: ({ after, signal }) => events.stream({ after, sessionIds: null, within: null, signal }),
    ...differs,
  };
  const open = () => {
    const push = createPush(deps);
    onTestFinished(() => push.close());
    return push;
  };
  const push = open();
  const idle: SceneSession = {
    ...{ sessionId: "s1", agent: "claude-code", title: "Fix it", status: "running", activity: "idle" },
    ...{ queuedPrompts: 0, permissions: [], turnFailure: null },
  };

  return {
    ...{ db, clock, service, sessions, signedOut, scopes, answered, accountId, accounts, push, open },
    /** A browser of the account, or one that is signed in. */
    async browser(
      differing: Partial<Subscriber> = {},
    ): Promise<TestSubscription & { readonly subscriptionId: string }> {
      const made = service.subscribe();
      const subscriber = { accountId, kind: "open", browserSessionId: null, tokenId: null, ...differing } as const;
      const { endpoint, keys } = made;
      const { subscriptionId } = await push.subscribe(subscriber, { endpoint, keys, name: "Browser" });
      return { ...made, subscriptionId };
    },
    /** Sets a session that waits for this. */
    asks(sessionId: string, ...permissions: readonly PendingPermission[]): void {
      sessions.set(sessionId, { ...idle, sessionId, activity: "needs_permission", permissions: [...permissions] });
    },
    is(sessionId: string, changes: Partial<SceneSession> = {}): void {
      sessions.set(sessionId, { ...idle, sessionId, ...changes });
    },
    publish: (...published: readonly NewSessionEvent[]): Promise<void> => {
      events.publisher.publish({ events: published, memos: new Map() });
      return events.publisher.flush();
    },
    /** What waits or is shown, of all browsers. */
    queued: () => db.selectFrom("push_deliveries").selectAll().orderBy("session_id").execute(),
  };
}

/** The event of a permission request. */
export function asked(permissionId: string, sessionId = "s1"): NewSessionEvent {
  const head = { at: "2025-01-01T00:00:00.000Z", sessionId, agent: "claude-code", dir: "/srv/code" };
  return { kind: "session.permission_asked", ...head, permissionId, permission: "permission", tool: "Bash" };
}

/** The event of an agent that works again. */
export function worksAgain(sessionId = "s1"): NewSessionEvent {
  const head = { at: "2025-01-01T00:00:00.000Z", sessionId, agent: "claude-code", dir: "/srv/code" };
  return { kind: "session.activity", ...head, activity: "working", previous: "needs_permission" };
}
