import { expect, test } from "vitest";
import { openSqliteTestStore } from "../../test/support/database.ts";
import { readEvents } from "../../test/support/event-reader.ts";
import { createFakeClock } from "../../test/support/fake-clock.ts";
import { startHttpServer } from "../../test/support/http-server.ts";
import { newSecretBox } from "../../test/support/secret-box.ts";
import { turnEnded } from "../../test/support/session-events.ts";
import { signInBrowser } from "../../test/support/signed-in-browser.ts";
import { PosternError } from "../core/errors.ts";
import { silentLog } from "../core/log.ts";
import { firstIdAt } from "../events/event-id.ts";
import { createEvents } from "../events/index.ts";
import { createAddressList, createGuardedFetch } from "../platform/guarded-fetch.ts";
import { eventRoutes, openApiRoutes, signInRoutes } from "./index.ts";

/** The stream on a real server and store; the server's own clock is the test's. */
async function setUp() {
  const { db } = await openSqliteTestStore();
  const clock = createFakeClock();
  const events = await createEvents({
    db,
    clock,
    log: silentLog,
    secrets: newSecretBox(),
    fetch: createGuardedFetch({ clock, allowed: createAddressList([]) }),
    isVisible: async (dir, within) => within === null || within.some((folder) => dir.startsWith(folder)),
  });
  const gateway = { id: "g", version: "1.2.3", baseUrl: "http://localhost:7177" };
  const server = await startHttpServer(({ accounts }) => [
    signInRoutes({ accounts, gateway: () => gateway }),
    openApiRoutes({ version: "1.2.3" }),
    eventRoutes({
      clock,
      maxStreams: 5,
      log: silentLog,
      stream: (options) => events.stream(options),
      async sessionIdsOf(sessionId) {
        if (sessionId === "alias") return ["s1", "alias"];
        if (sessionId === "unknown") throw new PosternError("session_not_found", "There is no such session.");
        return [sessionId];
      },
    }),
  ]);
  const { accountId } = await server.accounts.owner();
  async function token(folders: readonly string[] | null = null, expiresAt: number | null = null) {
    const wanted = { name: "reader", scopes: ["coding:read"], folders, expiresAt } as const;
    return server.accounts.tokens.create(accountId, wanted);
  }
  async function publish(...told: readonly Parameters<typeof turnEnded>[0][]): Promise<void> {
    events.publisher.publish({ events: told.map((differs) => turnEnded(differs)), memos: new Map() });
    await events.publisher.flush();
  }
  return { ...server, accountId, clock, events, token, publish };
}

const patient = { timeout: 10_000 };

test("a stream delivers new events and continues after the last event received", async () => {
  const { url, token, publish } = await setUp();
  const { token: bearer } = await token();
  await publish({ sessionId: "before" });
  const reader = await readEvents(url, { token: bearer });
  await expect.poll(() => reader.lastId, patient).not.toBeNull();
  await publish({ sessionId: "one" }, { sessionId: "two" });
  await expect.poll(() => reader.events.map(({ sessionId }) => sessionId), patient).toEqual(["one", "two"]);
  expect(reader.lastId).toBe(reader.events[1]?.id);
  const lastEventId = reader.events[0]?.id ?? "";
  for (const lastEventIdIn of ["header", "query"] as const) {
    const second = await readEvents(url, { token: bearer, lastEventId, lastEventIdIn });
    await expect.poll(() => second.events.map(({ sessionId }) => sessionId), patient).toEqual(["two"]);
    expect(second.events[0]?.id).toBe(reader.events[1]?.id);
  }
});

test("a stream without events sends an id to resume from, so that a disconnect loses nothing", async () => {
  const { url, token, publish } = await setUp();
  const { token: bearer } = await token();
  const reader = await readEvents(url, { token: bearer });
  await expect.poll(() => reader.lastId, patient).not.toBeNull();
  reader.close();
  await reader.ended;
  await publish({ sessionId: "meanwhile" });
  const second = await readEvents(url, { token: bearer, lastEventId: reader.lastId });
  await expect.poll(() => second.events.map(({ sessionId }) => sessionId), patient).toEqual(["meanwhile"]);
  expect(second.resets).toEqual([]);
});

test("an expired or unknown id causes a reset, then new events", async () => {
  const { url, token, publish, clock } = await setUp();
  const { token: bearer } = await token();
  await publish({ sessionId: "before" });
  for (const lastEventId of [firstIdAt(clock.now() - 1_000_000_000), "nonsense", "ZZZZZZZZZZZZZZZZZZZZZZZZZZ"]) {
    const reader = await readEvents(url, { token: bearer, lastEventId });
    await expect.poll(() => reader.resets.length, patient).toBe(1);
    await publish({ sessionId: lastEventId });
    await expect.poll(() => reader.events.map(({ sessionId }) => sessionId), patient).toEqual([lastEventId]);
    expect(reader.resets[0]?.id).not.toBe(reader.lastId);
    reader.close();
  }
});

test("a token that is limited to a folder never sees another folder's events, in replay and live", async () => {
  const { url, work, token, publish } = await setUp();
  const limited = await token([work]);
  const whole = await token();
  const first = await readEvents(url, { token: whole.token });
  await publish({ sessionId: "begin", dir: work }, { sessionId: "hidden", dir: "/elsewhere" });
  await expect.poll(() => first.events.length, patient).toBe(2);
  const reader = await readEvents(url, { token: limited.token, lastEventId: first.events[0]?.id ?? "" });
  await publish({ sessionId: "hidden too", dir: "/elsewhere" }, { sessionId: "seen", dir: `${work}/deep` });
  await expect.poll(() => first.events.length, patient).toBe(4);
  await expect.poll(() => reader.events.map(({ sessionId }) => sessionId), patient).toEqual(["seen"]);
});

test("with any id of a session, only its events and its successor's are delivered", async () => {
  const { url, events, token, publish } = await setUp();
  const { token: bearer } = await token();
  const reader = await readEvents(url, { token: bearer, sessionId: "alias" });
  await expect.poll(() => reader.lastId, patient).not.toBeNull();
  await publish({ sessionId: "s1" }, { sessionId: "s2" });
  const created = { status: "running", activity: "idle", replaces: "s1" } as const;
  events.publisher.publish({
    events: [
      { ...turnEnded({ sessionId: "s3" }), kind: "session.created", ...created },
      turnEnded({ sessionId: "s3" }),
    ],
    memos: new Map(),
  });
  await events.publisher.flush();
  await expect.poll(() => reader.events.map(({ sessionId }) => sessionId), patient).toEqual(["s1", "s3", "s3"]);
  await expect(readEvents(url, { token: bearer, sessionId: "unknown" })).rejects.toThrow("404");
});

test("the stream of a revoked or expired token ends within five seconds, and others continue", async () => {
  const { url, accounts, accountId, clock, token, publish } = await setUp();
  const revoked = await token();
  const other = await token();
  const brief = await readEvents(url, { token: (await token(null, Date.now() + 2_000)).token });
  const ending = await readEvents(url, { token: revoked.token });
  const going = await readEvents(url, { token: other.token });
  await expect.poll(() => ending.lastId, patient).not.toBeNull();
  await clock.advance(5_000);
  await accounts.tokens.revoke(accountId, revoked.record.tokenId);
  let ended = false;
  void ending.ended.then(() => (ended = true));
  expect(ended).toBe(false);
  const deadline = clock.now() + 5_000;
  await expect
    .poll(async () => {
      if (!ended && clock.now() < deadline) await clock.advance(500);
      return ended;
    }, patient)
    .toBe(true);
  await publish({ sessionId: "after" });
  await expect.poll(() => going.events.length, patient).toBe(1);
  expect(ending.events).toEqual([]);
  let expired = false;
  void brief.ended.then(() => (expired = true));
  await expect
    .poll(async () => {
      await clock.advance(1_000);
      return expired;
    }, patient)
    .toBe(true);
});

test("a page reads the stream with its browser's sign-in, until that ends", async () => {
  const { accounts, accountId, clock, publish, ...server } = await setUp();
  const browser = await signInBrowser({ ...server, accounts });
  const { url } = server;
  expect((await fetch(`${url}/api/coding/events`, { headers: { cookie: browser.cookie } })).status).toBe(401);
  const response = await fetch(`${url}/api/coding/events`, { headers: browser.headers });
  expect(response.status).toBe(200);
  let text = "";
  let ended = false;
  const reading = (async () => {
    for await (const chunk of response.body ?? []) text += Buffer.from(chunk).toString();
    ended = true;
  })();
  await publish({ sessionId: "seen" });
  await expect.poll(() => text, patient).toContain('"sessionId":"seen"');
  await clock.advance(10_000);
  expect(ended).toBe(false);
  const [signedIn] = await accounts.browsers.list(accountId);
  await accounts.browsers.revoke(accountId, signedIn?.browserSessionId ?? "");
  const deadline = clock.now() + 5_000;
  await expect
    .poll(async () => {
      if (!ended && clock.now() < deadline) await clock.advance(500);
      return ended;
    }, patient)
    .toBe(true);
  await reading;
});

test("idle streams get keep-alives, and end when the gateway stops", async () => {
  const { url, clock, token, close } = await setUp();
  const { token: bearer } = await token();
  const response = await fetch(`${url}/api/coding/events`, { headers: { authorization: `Bearer ${bearer}` } });
  expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  expect(response.headers.get("cache-control")).toBe("no-store");
  let text = "";
  const reading = (async () => {
    for await (const chunk of response.body ?? []) text += Buffer.from(chunk).toString();
  })();
  await expect.poll(() => text, patient).toContain("id: ");
  const length = text.length;
  await expect
    .poll(async () => {
      await clock.advance(1_000);
      return text.length;
    }, patient)
    .toBeGreaterThan(length);
  expect(text.slice(length)).toMatch(/^: /);
  await close();
  await reading;
});

test("the stream requires coding:read, and the document has its content type", async () => {
  const { url, signedIn } = await setUp();
  const refused = await fetch(`${url}/api/coding/events`, { headers: await signedIn("logs:read") });
  expect(refused.status).toBe(403);
  expect((await fetch(`${url}/api/coding/events`)).status).toBe(401);
  const document: unknown = await (await fetch(`${url}/openapi.json`)).json();
  expect(document).toMatchObject({
    paths: {
      "/api/coding/events": { get: { responses: { 200: { content: { "text/event-stream": expect.anything() } } } } },
    },
  });
});

test("streams are limited: the next one is refused until one ends", async () => {
  const { url, token } = await setUp();
  const { token: bearer } = await token();
  const readers = await Promise.all(Array.from({ length: 5 }, () => readEvents(url, { token: bearer })));
  await expect(readEvents(url, { token: bearer })).rejects.toThrow("429");
  readers[0]?.close();
  await expect
    .poll(
      () =>
        readEvents(url, { token: bearer }).then(
          () => true,
          () => false,
        ),
      patient,
    )
    .toBe(true);
});
