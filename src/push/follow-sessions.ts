import type { Kysely } from "kysely";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { Tables } from "../storage/schema.ts";
import type { SessionEvent } from "../wire/events.ts";
import { kindsOf, type Reason } from "./compose.ts";
import type { NoticeQueue } from "./notice-queue.ts";
import type { FollowEvents } from "./ports.ts";
import type { PreferenceStore } from "./preferences.ts";
import { quietUntil } from "./quiet-hours.ts";

export interface FollowSessionsDeps {
  readonly db: Kysely<Tables>;
  readonly follow: FollowEvents;
  readonly preferences: PreferenceStore;
  readonly queue: NoticeQueue;
  /** Whether a page of the account is visible on a desktop browser. */
  readonly isInUse: (accountId: string) => boolean;
  readonly wake: (subscriptionId: string) => void;
  readonly clock: Clock;
  readonly log: Log;
}

const markName = "push";
/** Waits for further events, because the result of a turn is known a moment later. */
const settleMs = 1_000;
/** How long a notification is useful. After that, no one is waiting for it. */
const lifeMs = { needed: 4 * 3_600_000, news: 12 * 3_600_000 } as const;
/** Irrelevant events do not each save the position; after a crash they are read again. */
const passedAtOnce = 500;
const firstRetryMs = 1_000;
const maxRetryMs = 60_000;

/**
 * Queues notifications as events arrive. The position is saved with them, so that nothing is lost in a crash. @returns a function that
 * stops, idempotent
 */
export function followSessions(deps: FollowSessionsDeps): () => Promise<void> {
  const { db, preferences, queue, clock, log } = deps;
  const stopping = new AbortController();
  const { signal } = stopping;
  let passed = 0;

  async function run(): Promise<void> {
    for (let failures = 0; !signal.aborted; failures += 1) {
      try {
        for await (const message of deps.follow({ after: await mark(), signal })) {
          if (message.kind === "event") await take(message.event);
          if (message.kind === "reset") await save(db, message.reset.id);
          failures = 0;
        }
      } catch (error) {
        if (signal.aborted) return;
        log.warn({ reason: messageOf(error) }, "cannot queue notifications; retrying");
        const pauseMs = Math.min(firstRetryMs * 2 ** failures, maxRetryMs);
        await clock.sleep(pauseMs, signal).catch(() => undefined); // ended by the signal
      }
    }
  }

  async function take(event: SessionEvent): Promise<void> {
    const notice = noticeOf(event);
    const now = clock.now();
    const accounts = notice === null ? [] : await preferences.accountsFor(kindsOf[notice.reason]);
    const dues = await Promise.all(
      accounts.map(async (accountId) => ({ accountId, ...(await dueOf(accountId, now)) })),
    );
    const woken = new Set<string>();
    await db.transaction().execute(async (trx) => {
      for (const id of await queue.check(trx, namesIn(event), now)) woken.add(id);
      for (const { accountId, dueAt, held } of notice === null ? [] : dues) {
        const { sessionId } = event;
        const expiresAt = Math.max(dueAt, now) + lifeOf(notice?.reason ?? "turn");
        const added = await queue.add(trx, accountId, {
          sessionId,
          reason: notice?.reason ?? "turn",
          permissionId: notice?.permissionId ?? null,
          dueAt,
          held,
          expiresAt,
        });
        for (const id of added) woken.add(id);
      }
      passed += 1;
      if (woken.size === 0 && passed < passedAtOnce) return;
      passed = 0;
      await save(trx, event.id);
    });
    for (const id of woken) deps.wake(id);
  }

  async function dueOf(accountId: string, now: number): Promise<{ readonly dueAt: number; readonly held: boolean }> {
    const { quietHours, desktopDelaySeconds } = await preferences.get(accountId);
    const until = quietHours === null ? null : quietUntil(quietHours, now);
    if (until !== null) return { dueAt: until, held: true };
    const delayMs = deps.isInUse(accountId) ? desktopDelaySeconds * 1_000 : 0;
    return { dueAt: now + Math.max(settleMs, delayMs), held: false };
  }

  async function mark(): Promise<string | null> {
    const row = await db.selectFrom("event_marks").select("event_id").where("name", "=", markName).executeTakeFirst();
    return row?.event_id ?? null;
  }

  const running = run();
  return async () => {
    stopping.abort();
    await running;
  };
}

async function save(on: Kysely<Tables>, eventId: string): Promise<void> {
  await on
    .insertInto("event_marks")
    .values({ name: markName, event_id: eventId })
    .onConflict((conflict) => conflict.column("name").doUpdateSet({ event_id: eventId }))
    .execute();
}

function lifeOf(reason: Reason): number {
  return reason === "permission" || reason === "attention" ? lifeMs.needed : lifeMs.news;
}

/** A session replaced another in its terminal, so notifications of the other one are outdated. */
function namesIn(event: SessionEvent): readonly string[] {
  const replaced = event.kind === "session.created" ? event.replaces : null;
  return replaced === null ? [event.sessionId] : [event.sessionId, replaced];
}

/** Null if the event does not concern people. */
function noticeOf(
  event: SessionEvent,
): { readonly reason: Exclude<Reason, "check">; readonly permissionId: string | null } | null {
  switch (event.kind) {
    case "session.permission_asked":
      return { reason: "permission", permissionId: event.permissionId };
    case "session.turn_ended":
      return { reason: "turn", permissionId: null };
    case "session.exited":
      return event.status === "failed" ? { reason: "failed", permissionId: null } : null;
    case "session.activity":
      if (event.activity === "limited") return { reason: "limited", permissionId: null };
      return event.activity === "needs_login" || event.activity === "needs_attention"
        ? { reason: "attention", permissionId: null }
        : null;
    case "session.created":
    case "session.status":
    case "session.queue_changed":
    case "session.closed":
    case "session.edited":
      return null;
  }
}
