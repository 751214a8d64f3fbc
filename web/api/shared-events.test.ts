import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import type { EventsState } from "../../src/client/index.ts";
import type { SessionEvent } from "../../src/wire/events.ts";
import type { EventsListener } from "./events.ts";
import { followSharedEvents } from "./shared-events.ts";

const patience = { timeout: 15_000 };

/** All pages of these tests are visible. */
class Looked extends EventTarget {
  readonly visibilityState = "visible";
}

beforeAll(() => vi.stubGlobal("document", new Looked()));
afterAll(() => vi.unstubAllGlobals());

function eventNumber(number: number): SessionEvent {
  const id = String(number).padStart(26, "0");
  return {
    kind: "session.turn_ended",
    id,
    at: "2026-01-01T00:00:00Z",
    sessionId: "s1",
    agent: "codex",
    dir: "/code/a",
  };
}

/** A page, the stream that it opens as the leader, and the events that it receives. */
function openPage() {
  const closing = new AbortController();
  const heard: string[] = [];
  const states: EventsState[] = [];
  const opened: (string | null)[] = [];
  let stream: EventsListener | undefined;
  const ended = followSharedEvents(
    {
      onEvent: ({ id }) => heard.push(String(Number(id))),
      onReset: () => heard.push("reset"),
      onState: (state) => states.push(state),
    },
    closing.signal,
    async (listener, signal, { after = null } = {}) => {
      opened.push(after === null ? null : String(Number(after)));
      stream = listener;
      listener.onState("live");
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      stream = undefined;
    },
  );
  const close = async (): Promise<void> => {
    closing.abort();
    await ended;
  };
  onTestFinished(close);
  return { heard, states, opened, close, stream: () => stream };
}

async function openPages() {
  const first = openPage();
  await expect.poll(() => first.opened.length, patience).toBe(1);
  const second = openPage();
  await expect.poll(() => second.states, patience).toContain("live");
  return { first, second };
}

test("one page opens a stream, and all pages receive its events", async () => {
  const { first, second } = await openPages();
  first.stream()?.onEvent(eventNumber(1));
  first.stream()?.onReset();
  first.stream()?.onState("offline");
  await expect.poll(() => second.heard, patience).toEqual(["1", "reset"]);
  await expect.poll(() => second.states.at(-1), patience).toBe("offline");
  expect(first.heard).toEqual(["1", "reset"]);
  expect(second.opened).toEqual([]);
});

test("when that page is closed, another one resumes after the last event", async () => {
  const { first, second } = await openPages();
  first.stream()?.onEvent(eventNumber(7));
  await expect.poll(() => second.heard, patience).toEqual(["7"]);
  await first.close();
  await expect.poll(() => second.opened, patience).toEqual(["7"]);
  expect(second.heard).toEqual(["7"]);
});

test("a page that takes over without a last event reloads everything", async () => {
  const { first, second } = await openPages();
  await first.close();
  await expect.poll(() => second.opened, patience).toEqual([null]);
  expect(second.heard).toEqual(["reset"]);
});

test("a visible page takes over the stream from a suspended one", async () => {
  const asleep = Promise.withResolvers<void>();
  const robbed = navigator.locks.request("postern.events", () => asleep.promise).catch((error: unknown) => error);
  const page = openPage();
  expect(page.opened).toEqual([]);
  await expect.poll(() => page.opened, patience).toEqual([null]);
  expect(await robbed).toMatchObject({ name: "AbortError" });
  asleep.resolve();
});
