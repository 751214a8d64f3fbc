import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { type ClientOptions, createClient, type PosternClient, PosternClientError } from "./index.ts";

type Handler = (response: ServerResponse, request: IncomingMessage) => void;

/** A client of a server that answers with `handle`, and the requests that the server received. */
async function clientOf(handle: Handler, options: Partial<ClientOptions> = {}) {
  const requests: { readonly line: string; readonly headers: IncomingMessage["headers"]; readonly body: string }[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      requests.push({ line: `${request.method} ${request.url}`, headers: request.headers, body });
      handle(response, request);
    });
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const close = (): void => {
    server.closeAllConnections();
    server.close();
  };
  onTestFinished(close);
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  return { client: createClient({ baseUrl: `http://127.0.0.1:${port}/`, ...options }), requests, close };
}

function json(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Handler {
  return (response) => response.writeHead(status, headers).end(JSON.stringify(body));
}

async function failureOf(call: Promise<unknown>): Promise<PosternClientError> {
  const error: unknown = await call.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (error instanceof PosternClientError) return error;
  throw new Error(`Not a client error: ${String(error)}`);
}

test("a tool's input is its body, and a route's fields are in its path and query", async () => {
  const { client, requests } = await clientOf(json(200, { ok: true }), { token: "pst_1", headers: { "x-a": "b" } });
  await client.codingAsk({ dir: "/code", prompt: "Hi" });
  await client.readLog({ logId: "a/b" });
  await client.searchLogs({ q: "x & y", limit: undefined });
  await client.deleteLog({ logId: "1", id: "1" });
  await client.request("GET /api/news/{id}", { query: { id: "7", since: 1 } });
  await client.signOut();
  expect(requests.map(({ line, body }) => `${line} ${body}`)).toEqual([
    'POST /api/coding/coding_ask {"dir":"/code","prompt":"Hi"}',
    "GET /api/v1/logs/a%2Fb ",
    "GET /api/v1/search?q=x+%26+y ",
    'DELETE /api/v1/logs/1 {"id":"1"}',
    "GET /api/news/7?since=1 ",
    "POST /api/sign-out ",
  ]);
  expect(requests[0]?.headers).toMatchObject({
    authorization: "Bearer pst_1",
    "content-type": "application/json",
    "x-a": "b",
  });
  expect(requests[1]?.headers["content-type"]).toBe(undefined);
});

test.each(["", ".", ".."])("the id %j, which would change the route, is refused", async (logId) => {
  const { client, requests } = await clientOf(json(200, {}));
  expect((await failureOf(client.deleteLog({ logId, id: "1" }))).code).toBe("invalid_request");
  expect(requests).toEqual([]);
});

test("a problem is parsed into its code, status, detail, fields and time of the next attempt", async () => {
  const problem = {
    type: "/docs/problems#rate_limited",
    title: "Too many requests",
    status: 429,
    code: "rate_limited",
    detail: "Too many.",
    errors: [{ path: "dir", message: "Too small" }, "noise"],
    sessionId: "s1",
  };
  const { client } = await clientOf(json(429, problem, { "retry-after": "7" }));
  expect(await failureOf(client.codingListAgents())).toMatchObject({
    code: "rate_limited",
    status: 429,
    message: "Too many.",
    detail: "Too many.",
    retryAfterMs: 7_000,
    fields: [{ path: "dir", message: "Too small" }],
    details: { sessionId: "s1" },
  });
});

test.each([
  ["a proxy's page", 502, "<html>"],
  ["a page instead of JSON", 200, "<html>"],
  ["another object", 404, '{"error":"no"}'],
])("%s is unreadable", async (_what, status, body) => {
  const { client } = await clientOf((response) => response.writeHead(status).end(body));
  expect(await failureOf(client.getMe())).toMatchObject({ code: "unreadable_answer", status });
});

test("the answer is checked by the caller's schema", async () => {
  const { client } = await clientOf(json(200, { count: 1, more: true }));
  const count = await client.request("GET /a", {}, { output: z.object({ count: z.number() }) });
  expect(count).toEqual({ count: 1 });
  const wrong = client.request("GET /a", {}, { output: z.object({ count: z.string() }) });
  expect(await failureOf(wrong)).toMatchObject({ code: "unreadable_answer", status: 200 });
});

test("without a gateway, a call fails as unreachable", async () => {
  const { client, close } = await clientOf(json(200, {}));
  close();
  expect(await failureOf(client.getMe())).toMatchObject({ code: "unreachable", status: 0 });
});

test("a call ends at its time limit, which begins after the wait that it asks for", async () => {
  const { client } = await clientOf(() => undefined, { timeoutMs: 30 });
  expect((await failureOf(client.getMe())).code).toBe("timeout");
  const startedAt = performance.now();
  expect((await failureOf(client.codingReadSession({ sessionId: "s", waitMs: 100 }))).code).toBe("timeout");
  expect(performance.now() - startedAt).toBeGreaterThan(120);
});

test("a call can be without a time limit", async () => {
  const { client } = await clientOf((response) => setTimeout(() => response.end("{}"), 50), { timeoutMs: Infinity });
  expect(await client.getMe()).toEqual({});
});

test("the time limit holds for an answer that stops halfway", async () => {
  const { client } = await clientOf((response) => void response.write("{"), { timeoutMs: 50 });
  expect((await failureOf(client.getMe())).code).toBe("timeout");
});

test("an aborted call rejects with the reason of its signal", async () => {
  const controller = new AbortController();
  const { client } = await clientOf(() => controller.abort(new Error("Enough.")));
  await expect(client.getMe({}, { signal: controller.signal })).rejects.toThrow("Enough.");
});

const ids = ["01M7ZA2SG9NK1X0GTPCY33DG0A", "01M7ZA2SG9NK1X0GTPCY33DG0B"] as const;

function ended(id: string): string {
  const event = { kind: "session.turn_ended", id, at: "2025-01-01T00:00:00Z", sessionId: "s1", agent: "a", dir: "/c" };
  return `id: ${id}\nevent: session.turn_ended\ndata: ${JSON.stringify(event)}\n\n`;
}

async function take(client: PosternClient, count: number, states: string[] = []): Promise<readonly string[]> {
  const taken: string[] = [];
  const pause = () => Promise.resolve();
  for await (const event of client.events({ sessionId: "s1", pause, onState: (state) => states.push(state) })) {
    taken.push(event.id);
    if (taken.length === count) break;
  }
  return taken;
}

test("events continue after the last one when the connection is lost", async () => {
  let connections = 0;
  const { client, requests } = await clientOf((response) => {
    connections += 1;
    if (connections === 2)
      return void response.writeHead(503).end(JSON.stringify({ code: "gateway_stopping", detail: "" }));
    response.writeHead(200, { "content-type": "text/event-stream" });
    if (connections === 1) response.write(ended(ids[0]), () => response.destroy());
    else response.write(ended(ids[1]));
  });
  const states: string[] = [];
  expect(await take(client, 2, states)).toEqual(ids);
  expect(requests.map(({ line, headers }) => [line, headers["last-event-id"]])).toEqual([
    ["GET /api/coding/events?sessionId=s1", undefined],
    ["GET /api/coding/events?sessionId=s1", ids[0]],
    ["GET /api/coding/events?sessionId=s1", ids[0]],
  ]);
  expect(states).toEqual(["connecting", "live", "offline", "offline", "live"]);
});

test("the connection closes when the loop ends", async () => {
  const closed = Promise.withResolvers<void>();
  const { client } = await clientOf((response) => {
    response.on("close", closed.resolve);
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(ended(ids[0]));
  });
  expect(await take(client, 1)).toEqual([ids[0]]);
  await closed.promise;
});

test("events end with an error when the gateway refuses", async () => {
  const { client } = await clientOf(json(403, { code: "insufficient_scope", detail: "No." }));
  expect((await failureOf(take(client, 1))).code).toBe("insufficient_scope");
});

test("an application can replace the errors of methods and events", async () => {
  const refuse = json(403, { code: "insufficient_scope", detail: "No." });
  const { client } = await clientOf(refuse, { mapError: (error) => new Error("Mine.", { cause: error }) });
  await expect(client.getMe()).rejects.toThrow("Mine.");
  await expect(take(client, 1)).rejects.toThrow("Mine.");
});
