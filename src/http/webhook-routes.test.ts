import { expect, test } from "vitest";
import { openSqliteTestStore } from "../../test/support/database.ts";
import { startHttpServer } from "../../test/support/http-server.ts";
import { newSecretBox } from "../../test/support/secret-box.ts";
import { turnEnded } from "../../test/support/session-events.ts";
import { startWebhookReceiver } from "../../test/support/webhook-receiver.ts";
import { createAccounts } from "../accounts/index.ts";
import { systemClock } from "../core/clock.ts";
import { silentLog } from "../core/log.ts";
import { createEvents } from "../events/index.ts";
import { createAddressList, createGuardedFetch, type ResolvedAddress } from "../platform/guarded-fetch.ts";
import { webhookRoutes } from "./index.ts";

async function setUp(
  allowed: readonly string[] = ["127.0.0.1"],
  resolve?: (host: string) => Promise<readonly ResolvedAddress[]>,
) {
  const { db } = await openSqliteTestStore();
  // The two stores here have different owners; webhooks belong to an account in their store.
  const owner = { ...(await createAccounts({ db, clock: systemClock }).owner()), folders: null };
  const events = await createEvents({
    db,
    clock: systemClock,
    log: silentLog,
    secrets: newSecretBox(),
    fetch: createGuardedFetch({
      clock: systemClock,
      allowed: createAddressList(allowed),
      ...(resolve !== undefined && { resolve }),
    }),
    isVisible: async () => true,
  });
  const { webhooks } = events;
  const server = await startHttpServer(() => [
    webhookRoutes({
      webhooks: {
        add: (_owner, wanted) => webhooks.add(owner, wanted),
        list: () => webhooks.list(owner),
        remove: (_owner, webhookId) => webhooks.remove(owner, webhookId),
        deliveries: (_owner, webhookId, options) => webhooks.deliveries(owner, webhookId, options),
        retry: (_owner, webhookId, eventIds) => webhooks.retry(owner, webhookId, eventIds),
        test: (_owner, webhookId) => webhooks.test(owner, webhookId),
      },
    }),
  ]);
  async function call(method: string, path: string, body?: unknown) {
    const response = await fetch(`${server.url}/api/webhooks${path}`, {
      method,
      headers: {
        ...(await server.signedIn("admin")),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const answer: unknown = text === "" ? null : JSON.parse(text);
    return { status: response.status, answer };
  }
  return { ...server, call, events };
}

/** The id in the response that created a webhook. */
function idOf(answer: unknown): string {
  return answer !== null && typeof answer === "object" && "webhookId" in answer ? String(answer.webhookId) : "";
}

test("a webhook is added, listed without its secret, served and removed", async () => {
  const { call, events } = await setUp();
  const receiver = await startWebhookReceiver();
  const added = await call("POST", "", { url: receiver.url, kinds: ["session.turn_ended"] });
  expect(added).toMatchObject({
    status: 201,
    answer: { secret: expect.stringMatching(/^whsec_[\w+/]{43}=$/), waiting: 0 },
  });
  const webhookId = idOf(added.answer);
  const listed = await call("GET", "");
  expect(listed.answer).toMatchObject({ webhooks: [{ webhookId, url: receiver.url, kinds: ["session.turn_ended"] }] });
  expect(JSON.stringify(listed)).not.toContain("whsec_");
  events.publisher.publish({ events: [turnEnded()], memos: new Map() });
  const delivered = async (): Promise<unknown> =>
    (await call("GET", `/${webhookId}/deliveries?state=delivered`)).answer;
  await expect
    .poll(delivered, { timeout: 10_000 })
    .toMatchObject({ deliveries: [{ state: "delivered", attempts: 1 }] });
  expect(await call("POST", `/${webhookId}/test`)).toMatchObject({ status: 200, answer: { ok: true, status: 204 } });
  expect(await call("POST", `/${webhookId}/deliveries/retry`)).toMatchObject({ status: 200, answer: { retried: 0 } });
  expect((await call("DELETE", `/${webhookId}`)).status).toBe(204);
  expect(await call("DELETE", `/${webhookId}`)).toMatchObject({ status: 404, answer: { code: "webhook_not_found" } });
});

test("a URL that no event can reach is refused when it is added", async () => {
  const { call } = await setUp([]);
  const receiver = await startWebhookReceiver();
  for (const url of [
    receiver.url,
    "https://10.0.0.1/",
    "https://[::1]/",
    "https://hooks.invalid/",
    "https://me:secret@example.org/",
    "https://example.org/#there",
  ]) {
    expect(await call("POST", "", { url }), url).toMatchObject({
      status: 422,
      answer: { code: "webhook_url_refused" },
    });
  }
  expect(JSON.stringify(await call("POST", "", { url: receiver.url }))).toContain("allowPrivateAddresses");
  expect(await call("GET", "")).toMatchObject({ answer: { webhooks: [] } });
});

test("a name that becomes private after it was added is refused at each request", async () => {
  const addresses = ["93.184.216.34", "127.0.0.1"];
  const { call } = await setUp([], async () => [{ address: addresses.shift() ?? "127.0.0.1", family: 4 }]);
  const receiver = await startWebhookReceiver();
  const { answer } = await call("POST", "", { url: `https://hooks.company.net:${new URL(receiver.url).port}/` });
  const tried = await call("POST", `/${idOf(answer)}/test`);
  expect(tried).toMatchObject({ status: 200, answer: { ok: false, status: null } });
  expect(JSON.stringify(tried.answer)).toContain("allowPrivateAddresses");
  expect(receiver.requests).toEqual([]);
});

test("an invalid webhook URL is refused", async () => {
  const { call } = await setUp();
  for (const url of ["ftp://example.org/", "hello"]) {
    expect(await call("POST", "", { url }), url).toMatchObject({ status: 400, answer: { code: "invalid_request" } });
  }
  expect((await call("POST", "", { url: "https://example.org/", kinds: ["session.party"] })).status).toBe(400);
  expect((await call("POST", "", { url: "https://example.org/", kind: [] })).status).toBe(400);
});

test("only callers with admin can see and change webhooks", async () => {
  const { url, signedIn } = await setUp();
  for (const [method, path] of [
    ["GET", ""],
    ["POST", ""],
    ["DELETE", "/w"],
    ["GET", "/w/deliveries"],
    ["POST", "/w/deliveries/retry"],
    ["POST", "/w/test"],
  ]) {
    const headers = await signedIn("coding:read", "coding:write", "coding:drive");
    expect((await fetch(`${url}/api/webhooks${path}`, { method: method ?? "", headers })).status).toBe(403);
  }
});
