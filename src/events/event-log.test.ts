import { expect, test } from "vitest";
import { describeOnBothStores, type OpenTestStore, type TestStore } from "../../test/support/database.ts";
import { createFakeClock } from "../../test/support/fake-clock.ts";
import { turnEnded } from "../../test/support/session-events.ts";
import { silentLog } from "../core/log.ts";
import { originId } from "./event-id.ts";
import { createEventLog, type EventLimits, type EventLog } from "./event-log.ts";
import { createEventStore } from "./event-store.ts";

async function setUp(openStore: OpenTestStore, limits?: EventLimits) {
  const store = await openStore();
  const clock = createFakeClock();
  const open = (on: Pick<TestStore, "db"> = store): Promise<EventLog> =>
    createEventLog({
      store: createEventStore(on.db),
      clock,
      log: silentLog,
      alsoWrite: async () => async () => undefined,
      ...(limits === undefined ? {} : { limits }),
    });
  return { store, clock, open, events: await open() };
}

function publish(events: EventLog, count: number, memo: string | null = null): void {
  for (let at = 0; at < count; at += 1) {
    events.publish({ events: [turnEnded({ sessionId: `s${at}` })], memos: new Map([["s", memo ?? String(at)]]) });
  }
}

describeOnBothStores("the event log", (openStore) => {
  test("writes behind: nothing at once, then everything in order, with the newest memo", async () => {
    const { clock, events, store } = await setUp(openStore);
    publish(events, 3);
    expect(events.newest).toBe(originId);
    expect(await events.memoOf("s"), "known before it is written").toBe("2");
    await clock.advance(50);
    await events.flush();
    const written = await events.after(originId, 10);
    expect(written.map(({ sessionId }) => sessionId)).toEqual(["s0", "s1", "s2"]);
    expect(events.newest).toBe(written.at(-1)?.id);
    expect(await store.db.selectFrom("session_event_memos").select(["session_id", "memo"]).execute()).toEqual([
      { session_id: "s", memo: "2" },
    ]);
  });

  test("finds everything when reopened, and continues with larger ids", async () => {
    const { events, open } = await setUp(openStore);
    publish(events, 2);
    await events.close();
    const again = await open();
    expect(again.newest).toBe(events.newest);
    publish(again, 1);
    await again.flush();
    const all = await again.after(originId, 10);
    expect(all).toHaveLength(3);
    expect(all.map(({ id }) => id)).toEqual(all.map(({ id }) => id).toSorted());
  });

  test("notifies readers only of written events", async () => {
    const { store, clock } = await setUp(openStore);
    let mayWrite = (): void => undefined;
    const allowed = new Promise<void>((resolve) => (mayWrite = resolve));
    const events = await createEventLog({
      store: createEventStore(store.db),
      clock,
      log: silentLog,
      alsoWrite: () => allowed.then(() => async () => undefined),
    });
    let notified = 0;
    void events.changes.until(() => ++notified > 1, { timeoutMs: 10_000 });
    publish(events, 1);
    const flushed = events.flush();
    expect(await events.after(originId, 10)).toEqual([]);
    mayWrite();
    await flushed;
    expect(notified).toBe(2);
    expect(await events.after(originId, 10)).toHaveLength(1);
  });

  test("keeps events while the store fails, and then writes them in order, together with what belongs to them", async () => {
    const { store, clock } = await setUp(openStore);
    let broken = true;
    const alsoWrite: number[] = [];
    const events = await createEventLog({
      store: createEventStore(store.db),
      clock,
      log: silentLog,
      alsoWrite: async (batch) => async () => {
        if (broken) throw new Error("disk full");
        alsoWrite.push(batch.length);
      },
    });
    publish(events, 2);
    await events.flush();
    expect(await store.db.selectFrom("session_events").selectAll().execute()).toEqual([]);
    broken = false;
    publish(events, 1, "last");
    await clock.advance(2_000);
    await events.flush();
    expect((await events.after(originId, 10)).map(({ sessionId }) => sessionId)).toEqual(["s0", "s1", "s0"]);
    expect(alsoWrite).toEqual([3]);
    expect(await events.memoOf("s")).toBe("last");
  });

  test("keeps only the newest events, and knows which readers missed none", async () => {
    const { events, open } = await setUp(openStore, { maxEvents: 3, maxAgeMs: 1_000_000_000 });
    publish(events, 5);
    await events.flush();
    publish(events, 501); // old events are removed only after written ones are counted
    await events.flush();
    const again = await open();
    const kept = await again.after(originId, 10_000);
    expect(kept).toHaveLength(3);
    const [first, second] = kept;
    expect(await again.covers(first?.id ?? "")).toBe(true);
    expect(await again.covers(second?.id ?? "")).toBe(true);
    expect(await again.covers(originId), "the first ones are gone").toBe(false);
    expect(await again.covers("01ARZ3NDEKTSV4RRFFQ69G5FAV"), "never one of ours").toBe(false);
    expect(await again.covers("nonsense")).toBe(false);
  });

  test("drops what is too old", async () => {
    const { clock, events, open } = await setUp(openStore, { maxEvents: 100, maxAgeMs: 60_000 });
    publish(events, 2);
    await events.flush();
    await clock.advance(61_000);
    const again = await open();
    publish(again, 1);
    await again.flush();
    expect(await (await open()).after(originId, 10)).toHaveLength(1);
  });

  test("a reader without a position misses nothing while no event was removed", async () => {
    const { events, open } = await setUp(openStore);
    expect(await events.covers(originId)).toBe(true);
    publish(events, 2);
    await events.flush();
    expect(await events.covers(originId)).toBe(true);
    expect(await (await open()).covers(originId)).toBe(true);
  });
});
