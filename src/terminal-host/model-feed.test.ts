import { expect, test } from "vitest";
import { createModelFeed } from "./model-feed.ts";

const MB = 1024 * 1024;

/** A feed with a clock and log that the test advances. */
function feedAt({ maxBehindBytes = 64 * MB } = {}) {
  let now = 1_000;
  const due: { readonly at: number; readonly callback: () => void }[] = [];
  const log = { endOffset: 0 };
  const notified: number[] = [];
  const clock = {
    now: () => now,
    after(delayMs: number, callback: () => void) {
      due.push({ at: now + delayMs, callback });
      return () => undefined;
    },
    sleep: () => Promise.resolve(),
  };
  const feed = createModelFeed({ log, clock, maxBehindBytes, notify: (offset) => notified.push(offset) });
  return {
    feed,
    log,
    notified,
    print(bytes: number, asks = false) {
      log.endOffset += bytes;
      feed.logged(asks);
    },
    pass(ms: number) {
      for (const end = now + ms; now < end; ) {
        now += 1;
        for (const one of due.splice(0))
          if (one.at <= now) one.callback();
          else due.push(one);
      }
    },
  };
}

test("the model is notified of output a moment later, once", () => {
  const { notified, print, pass } = feedAt();
  print(10);
  print(5);
  expect(notified).toEqual([]);
  pass(8);
  expect(notified).toEqual([15]);
  pass(500);
  expect(notified).toEqual([15]);
});

test("a burst is forwarded first, and the model is notified at the first pause", () => {
  const { notified, print, pass } = feedAt();
  for (let n = 0; n < 30; n++) {
    print(64 * 1024);
    pass(1);
  }
  expect(notified).toEqual([]);
  pass(6);
  expect(notified).toEqual([30 * 64 * 1024]);
});

test("output that never pauses is reported after a quarter of a second, and then as soon as the model is ready", () => {
  const { feed, log, notified, print, pass } = feedAt();
  const flood = (ms: number) => {
    for (let n = 0; n < ms; n++) {
      print(1_000);
      pass(1);
    }
  };
  flood(260);
  expect(notified).toHaveLength(1);
  flood(200);
  expect(notified, "it still works on the first").toHaveLength(1);
  feed.reached(notified[0] ?? 0);
  flood(5);
  expect(notified).toHaveLength(2);
  expect(notified[1]).toBeGreaterThan(log.endOffset - 10_000);
});

test("a burst is reported when it is large, and earlier to a model with a small bound", () => {
  for (const [maxBehindBytes, most] of [
    [64 * MB, 6 * MB],
    [2 * MB, 2 * MB],
  ] as const) {
    const { notified, print, pass } = feedAt({ maxBehindBytes });
    for (let n = 0; n < 50 && notified.length === 0; n++) {
      print(256 * 1024);
      pass(1);
    }
    expect(notified[0]).toBeLessThan(most);
  }
});

test("a caller waiting for the screen does not wait for a pause", () => {
  const { feed, notified, print, pass } = feedAt();
  print(10);
  feed.flush();
  expect(notified).toEqual([10]);
  feed.reached(10);
  pass(50);
  expect(notified).toEqual([10]);
});

test("a query is reported immediately, even while the model works on earlier output", () => {
  const { notified, print, pass } = feedAt();
  print(10, true);
  expect(notified).toEqual([10]);
  print(5);
  pass(50);
  expect(notified, "it still works on the first").toEqual([10]);
  print(3, true);
  expect(notified).toEqual([10, 18]);
});

test("nothing is reported after the end, and close returns whether output was left", () => {
  const { feed, notified, print, pass } = feedAt();
  print(10);
  expect(feed.close()).toBe(true);
  pass(200);
  expect(notified).toEqual([]);
});
