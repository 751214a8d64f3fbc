import { expect, test } from "vitest";
import { describeOnBothStores, type OpenTestStore } from "../../test/support/database.ts";
import { createFakeClock } from "../../test/support/fake-clock.ts";
import { newSecretBox } from "../../test/support/secret-box.ts";
import { turnEnded } from "../../test/support/session-events.ts";
import { isSigned, startWebhookReceiver } from "../../test/support/webhook-receiver.ts";
import { createAccounts } from "../accounts/index.ts";
import { systemClock } from "../core/clock.ts";
import { silentLog } from "../core/log.ts";
import { createAddressList, createGuardedFetch } from "../platform/guarded-fetch.ts";
import { attemptsInOrder, maxAttempts } from "./delivery-queue.ts";
import { createEvents } from "./index.ts";

const hourMs = 3_600_000;
const patient = { timeout: 10_000 };

/** Real requests to a real receiver; only the pauses between them use the fake clock. */
async function setUp(openStore: OpenTestStore, { visible = (_dir: string): boolean => true } = {}) {
  const { db } = await openStore();
  const clock = createFakeClock();
  const owner = { ...(await createAccounts({ db, clock }).owner()), folders: null };
  const box = newSecretBox();
  const open = (secrets = box) =>
    createEvents({
      db,
      clock,
      log: silentLog,
      secrets,
      fetch: createGuardedFetch({ clock: systemClock, allowed: createAddressList(["127.0.0.1"]) }),
      isVisible: async (dir) => visible(dir),
    });
  const events = await open();
  const receiver = await startWebhookReceiver();
  const added = await events.webhooks.add(owner, { url: receiver.url });
  const deliveries = (state?: "waiting" | "delivered" | "dead") =>
    events.webhooks.deliveries(owner, added.webhookId, { state });
  return { db, clock, owner, open, events, receiver, added, deliveries };
}

type SetUp = Awaited<ReturnType<typeof setUp>>;

async function publish({ events }: Pick<SetUp, "events">, ...sessionIds: readonly string[]): Promise<void> {
  for (const sessionId of sessionIds)
    events.publisher.publish({ events: [turnEnded({ sessionId })], memos: new Map() });
  await events.publisher.flush();
}

function receivedSessions({ receiver }: Pick<SetUp, "receiver">): readonly string[] {
  return receiver.requests.map(({ body }): string => JSON.parse(body).sessionId);
}

/** Advances the clock to the next attempt and waits for it. */
async function nextAttempt({ clock, receiver }: Pick<SetUp, "clock" | "receiver">): Promise<void> {
  const before = receiver.requests.length;
  await expect.poll(() => clock.nextAt, patient).not.toBeNull();
  await clock.advance((clock.nextAt ?? 0) - clock.now());
  await expect.poll(() => receiver.requests.length, patient).toBeGreaterThan(before);
}

describeOnBothStores("a webhook", (openStore) => {
  test("gets each event, signed, in order, with the event's id", async () => {
    const all = await setUp(openStore);
    const { receiver, added, deliveries } = all;
    await publish(all, "a", "b", "c");
    await expect.poll(() => receivedSessions(all), patient).toEqual(["a", "b", "c"]);
    for (const request of receiver.requests) {
      expect(isSigned(request, added.secret)).toBe(true);
      expect(request.headers["webhook-id"]).toBe(JSON.parse(request.body).id);
      expect(request.headers["content-type"]).toBe("application/json");
    }
    await expect.poll(async () => (await deliveries("delivered")).length, patient).toBe(3);
  });

  test("that fails is called again after growing pauses, with the same id, and later events wait for it", async () => {
    const all = await setUp(openStore);
    const { clock, receiver } = all;
    receiver.answer = (_request, before) => ({ status: before < 3 ? 500 : 204 });
    const startedAt = clock.now();
    await publish(all, "a", "b");
    await expect.poll(() => receiver.requests.length, patient).toBe(1);
    const at = [0];
    for (let attempt = 1; attempt < 4; attempt += 1) {
      await nextAttempt(all);
      at.push(clock.now() - startedAt);
    }
    await expect.poll(() => receivedSessions(all), patient).toEqual(["a", "a", "a", "a", "b"]);
    const ids = receiver.requests.map(({ headers }) => headers["webhook-id"]);
    expect(new Set(ids.slice(0, 4)).size).toBe(1);
    const pauses = at.slice(1).map((time, index) => time - (at[index] ?? 0));
    for (const [index, plainMs] of [5_000, 15_000, 45_000].entries()) {
      expect(pauses[index]).toBeGreaterThanOrEqual(plainMs * 0.8);
      expect(pauses[index]).toBeLessThanOrEqual(plainMs * 1.2);
    }
  });

  test("gives up an event after its last attempt, about a day later, and sends it again on demand", async () => {
    const all = await setUp(openStore);
    const { clock, receiver, deliveries, events, owner, added } = all;
    receiver.answer = () => ({ status: 500 });
    const startedAt = clock.now();
    await publish(all, "a");
    await expect.poll(() => receiver.requests.length, patient).toBe(1);
    for (let attempt = 1; attempt < maxAttempts; attempt += 1) await nextAttempt(all);
    await expect.poll(async () => (await deliveries("dead")).length, patient).toBe(1);
    expect(await deliveries("dead")).toMatchObject([
      { attempts: maxAttempts, lastStatus: 500, lastError: "The receiver answered 500.", nextAttemptAt: null },
    ]);
    const tookMs = clock.now() - startedAt;
    expect(tookMs).toBeGreaterThan(15 * hourMs);
    expect(tookMs).toBeLessThan(26 * hourMs);
    receiver.answer = () => ({ status: 200 });
    expect(await events.webhooks.retry(owner, added.webhookId, null)).toBe(1);
    await expect.poll(async () => (await deliveries("delivered")).length, patient).toBe(1);
    expect(await events.webhooks.list(owner)).toMatchObject([{ waiting: 0, dead: 0 }]);
  });

  test("that always rejects one event still gets the later ones, after a while", async () => {
    const all = await setUp(openStore);
    const { receiver } = all;
    receiver.answer = ({ body }) => ({ status: JSON.parse(body).sessionId === "bad" ? 400 : 204 });
    await publish(all, "bad", "good");
    await expect.poll(() => receiver.requests.length, patient).toBe(1);
    for (let attempt = 1; attempt < attemptsInOrder; attempt += 1) {
      expect(receivedSessions(all)).not.toContain("good");
      await nextAttempt(all);
    }
    await expect.poll(() => receivedSessions(all), patient).toContain("good");
  });

  test("can ask for a pause, but not for days", async () => {
    const all = await setUp(openStore);
    const { clock, receiver } = all;
    const asked = ["60", "86400"];
    receiver.answer = (_request, before) => ({ status: 503, headers: { "retry-after": asked[before] ?? "0" } });
    await publish(all, "a");
    await expect.poll(() => receiver.requests.length, patient).toBe(1);
    const times = [clock.now()];
    for (let attempt = 1; attempt < 3; attempt += 1) {
      await nextAttempt(all);
      times.push(clock.now());
    }
    expect(times.slice(1).map((time, index) => time - (times[index] ?? 0))).toEqual([60_000, hourMs]);
  });

  test("that answers 410 is disabled, its waiting events are given up, and a retry enables it again", async () => {
    const all = await setUp(openStore);
    const { receiver, events, owner, added, deliveries } = all;
    receiver.answer = () => ({ status: 410 });
    await publish(all, "a", "b");
    await expect.poll(async () => (await deliveries("dead")).length, patient).toBe(2);
    expect(receiver.requests).toHaveLength(1);
    const [disabled] = await events.webhooks.list(owner);
    expect(disabled?.disabledReason).toContain("410");
    await publish(all, "c");
    expect(await deliveries("waiting")).toEqual([]);
    receiver.answer = () => ({ status: 204 });
    expect(await events.webhooks.retry(owner, added.webhookId, null)).toBe(2);
    await expect.poll(() => receivedSessions(all), patient).toEqual(["a", "a", "b"]);
    expect(await events.webhooks.list(owner)).toMatchObject([{ disabledAt: null }]);
  });

  test("gets events that were waiting at a stop after the next start, with the same id", async () => {
    const all = await setUp(openStore);
    const { receiver, events, open } = all;
    receiver.answer = (_request, before) => (before === 0 ? null : { status: 204 }); // the first answer never comes
    await publish(all, "a", "b");
    await expect.poll(() => receiver.requests.length, patient).toBe(1);
    await events.close();
    const again = await open();
    await expect.poll(() => receivedSessions(all), patient).toEqual(["a", "a", "b"]);
    const [first, second] = receiver.requests;
    expect(second?.headers["webhook-id"]).toBe(first?.headers["webhook-id"]);
    await again.close();
  });

  test("whose receiver never answers does not delay others", async () => {
    const all = await setUp(openStore);
    const { receiver, events, owner } = all;
    receiver.answer = () => null;
    const other = await startWebhookReceiver();
    await events.webhooks.add(owner, { url: other.url });
    await publish(all, "a", "b", "c");
    await expect.poll(() => other.requests.length, { timeout: 2_000 }).toBe(3);
    expect(receiver.requests.length).toBe(1);
    await events.close();
  });

  test("gets only the requested kinds, and only sessions visible to it, now and at the time of sending", async () => {
    const hidden = new Set(["/secret"]);
    const all = await setUp(openStore, { visible: (dir) => !hidden.has(dir) });
    const { events, owner, receiver, clock } = all;
    const only = await startWebhookReceiver();
    await events.webhooks.add(owner, { url: only.url, kinds: ["session.closed"] });
    receiver.answer = (_request, before) => ({ status: before === 0 ? 500 : 204 });
    events.publisher.publish({
      events: [
        turnEnded({ sessionId: "hidden", dir: "/secret" }),
        turnEnded({ sessionId: "later hidden", dir: "/later" }),
        turnEnded({ sessionId: "seen" }),
        { ...turnEnded({ sessionId: "closed" }), kind: "session.closed" },
      ],
      memos: new Map(),
    });
    await events.publisher.flush();
    await expect.poll(() => receiver.requests.length, patient).toBe(1);
    hidden.add("/later");
    await expect.poll(() => clock.nextAt, patient).not.toBeNull();
    await clock.advance(10_000);
    await expect.poll(() => receivedSessions(all), patient).toEqual(["later hidden", "seen", "closed"]);
    await expect.poll(() => only.requests.map(({ body }) => JSON.parse(body).sessionId), patient).toEqual(["closed"]);
  });

  test("gets nothing after its removal, and is invisible to other accounts", async () => {
    const all = await setUp(openStore);
    const { events, owner, added, receiver } = all;
    const stranger = { accountId: "stranger", folders: null };
    await expect(events.webhooks.remove(stranger, added.webhookId)).rejects.toMatchObject({
      code: "webhook_not_found",
    });
    expect(await events.webhooks.list(stranger)).toEqual([]);
    await events.webhooks.remove(owner, added.webhookId);
    await publish(all, "a");
    expect(await events.webhooks.list(owner)).toEqual([]);
    expect(receiver.requests).toEqual([]);
  });

  test("can be tested, and the response has the result", async () => {
    const { events, owner, added, receiver } = await setUp(openStore);
    receiver.answer = (_request, before) => ({ status: before === 0 ? 200 : 404 });
    expect(await events.webhooks.test(owner, added.webhookId)).toMatchObject({ ok: true, status: 200, error: null });
    expect(await events.webhooks.test(owner, added.webhookId)).toMatchObject({ ok: false, status: 404 });
    expect(JSON.parse(receiver.requests[0]?.body ?? "")).toMatchObject({ kind: "webhook.test" });
    expect(receiver.requests.every((request) => isSigned(request, added.secret))).toBe(true);
  });
});
