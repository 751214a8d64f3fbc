import { expect, test } from "vitest";
import { openSqliteTestStore } from "../../test/support/database.ts";
import { createFakeClock } from "../../test/support/fake-clock.ts";
import { turnEnded } from "../../test/support/session-events.ts";
import { silentLog } from "../core/log.ts";
import { createEventLog } from "./event-log.ts";
import { createEventStore } from "./event-store.ts";
import { type StreamMessage, streamEvents } from "./event-stream.ts";

async function setUp(maxEvents: number) {
  const { db } = await openSqliteTestStore();
  const clock = createFakeClock();
  const open = () =>
    createEventLog({
      store: createEventStore(db),
      clock,
      log: silentLog,
      alsoWrite: async () => async () => undefined,
      limits: { maxEvents, maxAgeMs: 1_000_000_000 },
    });
  const log = await open();
  async function publish(count: number): Promise<void> {
    for (let at = 0; at < count; at += 1) {
      log.publish({ events: [turnEnded({ sessionId: `s${at}` })], memos: new Map() });
    }
    await log.flush();
  }
  const stopping = new AbortController();
  const stream = (after: string | null) =>
    streamEvents(
      { log, isVisible: async () => true, clock },
      { after, sessionIds: null, within: null, signal: stopping.signal },
    );
  return { clock, log, publish, stream, stopping };
}

async function take(stream: AsyncGenerator<StreamMessage, void>, count: number): Promise<readonly StreamMessage[]> {
  const messages: StreamMessage[] = [];
  while (messages.length < count) {
    const { value, done } = await stream.next();
    if (done === true) break;
    messages.push(value);
  }
  return messages;
}

function idOf(message: StreamMessage | undefined): string {
  if (message === undefined || message.kind === "position") return message?.id ?? "";
  return message.kind === "event" ? message.event.id : message.reset.id;
}

test("a reader gets thousands of events at its own pace, each once and in order", async () => {
  const { publish, stream } = await setUp(10_000);
  const reader = stream(null);
  expect(await take(reader, 1)).toMatchObject([{ kind: "position" }]);
  await publish(3_000);
  const ids = (await take(reader, 3_000)).map(idOf);
  expect(new Set(ids).size).toBe(3_000);
  expect(ids).toEqual(ids.toSorted());
});

test("a reader too slow for its events gets a reset, and continues with what is kept", async () => {
  const { publish, stream, log } = await setUp(10);
  const reader = stream(null);
  await take(reader, 1);
  await publish(3);
  const [first] = await take(reader, 1);
  await publish(2_000); // more than memory and the store keep
  await take(reader, 2); // from the page being read
  const [reset] = await take(reader, 1);
  expect(reset).toMatchObject({ kind: "reset" });
  expect(idOf(reset)).toBe(log.newest);
  expect(idOf(reset) > idOf(first)).toBe(true);
  const next = take(reader, 1);
  await publish(1);
  expect(await next).toMatchObject([{ kind: "event", event: { sessionId: "s0" } }]);
});

test("a reader that can see none of the events still gets its position", async () => {
  const { clock, log, publish } = await setUp(100);
  const stopping = new AbortController();
  const reader = streamEvents(
    { log, isVisible: async () => false, clock },
    { after: null, sessionIds: null, within: ["/work"], signal: stopping.signal },
  );
  const first = idOf((await take(reader, 1))[0]);
  let received: StreamMessage | null = null;
  const next = take(reader, 1).then(([message]) => (received = message ?? null));
  for (let at = 0; at < 6; at += 1) {
    await publish(1);
    await clock.advance(5_000);
  }
  await expect.poll(() => received).toMatchObject({ kind: "position" });
  expect(idOf((await next) ?? undefined) > first).toBe(true);
});

test("a stream ends when its signal is aborted, also while it waits", async () => {
  const { stream, stopping } = await setUp(10);
  const reader = stream(null);
  await take(reader, 1);
  const waiting = reader.next();
  stopping.abort();
  expect(await waiting).toEqual({ done: true, value: undefined });
});
