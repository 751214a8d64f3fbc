import { expect, test } from "vitest";
import { createModelFeed } from "./model-feed.ts";

const MB = 1024 * 1024;

/** A feed whose clock and log the test moves. */
function feedAt({ maxBehindBytes = 64 * MB } = {}) {
  let now = 1_000;
  const due: { readonly at: number; readonly callback: () => void }[] = [];
  const log = { endOffset: 0 };
  const told: number[] = [];
  const clock = {
    now: () => now,
    after(delayMs: number, callback: () => void) {
      due.push({ at: now + delayMs, callback });
      return () => undefined;
    },
    sleep: () => Promise.resolve(),
  };
  const feed = createModelFeed({ log, clock, maxBehindBytes, notify: (offset) => told.push(offset) });
  return {
    feed,
    log,
    told,
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

test("the model is told of output a moment later, once", () => {
  const { told, print, pass } = feedAt();
  print(10);
  print(5);
  expect(told).toEqual([]);
  pass(8);
  expect(told).toEqual([15]);
  pass(500);
  expect(told).toEqual([15]);
});

test("a burst is forwarded before the model hears of it: at the first pause", () => {
  const { told, print, pass } = feedAt();
  for (let n = 0; n < 30; n++) {
    print(64 * 1024);
    pass(1);
  }
  expect(told).toEqual([]);
  pass(6);
  expect(told).toEqual([30 * 64 * 1024]);
});

test("output that never pauses is told after a quarter of a second, and then as soon as the model is ready", () => {
  const { feed, log, told, print, pass } = feedAt();
  const flood = (ms: number) => {
    for (let n = 0; n < ms; n++) {
      print(1_000);
      pass(1);
    }
  };
  flood(260);
  expect(told).toHaveLength(1);
  flood(200);
  expect(told, "it still works on the first").toHaveLength(1);
  feed.reached(told[0] ?? 0);
  flood(5);
  expect(told).toHaveLength(2);
  expect(told[1]).toBeGreaterThan(log.endOffset - 10_000);
});

test("a burst is told when much has come, and earlier to a model that may be behind only little", () => {
  for (const [maxBehindBytes, most] of [
    [64 * MB, 6 * MB],
    [2 * MB, 2 * MB],
  ] as const) {
    const { told, print, pass } = feedAt({ maxBehindBytes });
    for (let n = 0; n < 50 && told.length === 0; n++) {
      print(256 * 1024);
      pass(1);
    }
    expect(told[0]).toBeLessThan(most);
  }
});

test("who waits for the screen waits for no pause", () => {
  const { feed, told, print, pass } = feedAt();
  print(10);
  feed.flush();
  expect(told).toEqual([10]);
  feed.reached(10);
  pass(50);
  expect(told).toEqual([10]);
});

test("a query is told at once, also while the model works on what came before", () => {
  const { told, print, pass } = feedAt();
  print(10, true);
  expect(told).toEqual([10]);
  print(5);
  pass(50);
  expect(told, "it still works on the first").toEqual([10]);
  print(3, true);
  expect(told).toEqual([10, 18]);
});

test("nothing is told after the end, and what was left is said", () => {
  const { feed, told, print, pass } = feedAt();
  print(10);
  expect(feed.close()).toBe(true);
  pass(200);
  expect(told).toEqual([]);
});
