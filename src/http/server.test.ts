import { request as httpRequest } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import { looseSchema, startEchoServer, toolThat } from "../../test/support/echo-server.ts";
import { manifestRoutes, type RouteModule } from "./index.ts";

describe("a caller", () => {
  test("without credentials gets 401 with a challenge, before the body is read", async () => {
    const { url } = await startEchoServer();
    const ask = (authorization?: string) =>
      fetch(`${url}/api/coding/echo`, {
        method: "POST",
        headers: { "content-type": "text/odd", ...(authorization === undefined ? {} : { authorization }) },
        body: "{",
      });
    const none = await ask();
    const metadata = `resource_metadata="${url}/.well-known/oauth-protected-resource"`;
    expect([none.status, none.headers.get("www-authenticate")]).toEqual([401, `Bearer realm="postern", ${metadata}`]);
    expect(await none.json()).toMatchObject({ code: "unauthenticated", status: 401 });
    const wrong = await ask("Bearer pst_wrong");
    expect([wrong.status, wrong.headers.get("www-authenticate")]).toEqual([
      401,
      `Bearer realm="postern", error="invalid_token", ${metadata}`,
    ]);
  });

  test("without the scope gets 403 that names it", async () => {
    const { url, signedIn } = await startEchoServer();
    const headers = await signedIn("coding:read", "admin");
    const answer = await fetch(`${url}/api/coding/echo`, { method: "POST", headers });
    expect(answer.status).toBe(403);
    expect(answer.headers.get("www-authenticate")).toContain('error="insufficient_scope", scope="coding:write"');
    expect(await answer.json()).toMatchObject({ code: "insufficient_scope", scope: "coding:write" });
  });

  test("is passed to the route", async () => {
    const { post, accounts } = await startEchoServer([
      toolThat(async ({ kind, accountId, tokenId }) => ({ kind, accountId, tokenId })),
    ]);
    const { accountId } = await accounts.owner();
    const [token] = await accounts.tokens.list(accountId);
    expect((await post("/api/coding/act")).body).toEqual({ kind: "token", accountId, tokenId: token?.tokenId });
  });

  test("can be anyone while authentication is off, which is possible on loopback addresses only", async () => {
    const { url } = await startEchoServer([toolThat(async ({ kind, scopes }) => [kind, scopes.has("admin")])], {
      auth: "none",
    });
    const answer = await fetch(`${url}/api/coding/act`, { method: "POST" });
    expect(await answer.json()).toEqual(["open", true]);
    const unsafe = { code: "unsafe_configuration" };
    await expect(startEchoServer([], { auth: "none", hosts: ["127.0.0.1", "0.0.0.0"] })).rejects.toMatchObject(unsafe);
    await expect(startEchoServer([], { auth: "none", hosts: ["::"] })).rejects.toMatchObject(unsafe);
    await expect(startEchoServer([], { auth: "none", hosts: ["127.0.0.1.example.org"] })).rejects.toMatchObject(unsafe);
    await expect(startEchoServer([], { auth: "none", baseUrl: "https://agents.example.org" })).rejects.toMatchObject(
      unsafe,
    );
  });

  test("must be declared by every route: the server refuses to start with a route without allowed callers", async () => {
    const careless: RouteModule = ({ app }) => app.route({ method: "GET", url: "/careless", handler: async () => "x" });
    await expect(startEchoServer([careless])).rejects.toThrow("/careless declares no access");
  });
});

test("the access log holds route patterns, and no paths, queries, bodies or tokens", async () => {
  const { url, headers, logged, say } = await startEchoServer();
  await fetch(`${url}/api/items/private-id?q=private-query`, { headers });
  await fetch(`${url}/private-path?q=private-query`, { headers });
  await fetch(`${url}/%zz-private-path`, { headers });
  await say('{"text":"private-prompt"}');
  await say('{"text":"private-prompt","oops":"private-value"}');
  await vi.waitFor(() => expect(logged.filter((line) => line.includes('"request"'))).toHaveLength(5));
  const all = logged.join("\n");
  expect(all).not.toContain("private");
  expect(all).not.toContain(headers.authorization.slice("Bearer ".length));
  const lines = logged.map((line) => looseSchema.parse(JSON.parse(line)));
  const seen = lines.map(({ method, route, status }) => [method, route, status].join(" "));
  expect(seen).toEqual([
    "GET /api/items/:itemId 200",
    "GET (no route) 404",
    "GET (no route) 400",
    "POST /api/coding/echo 200",
    "POST /api/coding/echo 400",
  ]);
});

test("answers are not cached, sniffed or framed", async () => {
  const { url } = await startEchoServer();
  const { headers } = await fetch(`${url}/healthz`);
  expect(headers.get("cache-control")).toBe("no-store");
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
  expect(headers.get("server")).toBe(null);
});

test("the manifest is answered with 304 when the caller has it already", async () => {
  let agents = ["claude-code"];
  const { url, headers, signedIn } = await startEchoServer([manifestRoutes({ manifest: async () => ({ agents }) })]);
  const first = await fetch(`${url}/manifest`, { headers });
  const etag = first.headers.get("etag") ?? "";
  expect(await first.json()).toEqual({ agents });
  const again = async (tag: string) =>
    (await fetch(`${url}/manifest`, { headers: { ...headers, "if-none-match": tag } })).status;
  expect(await again(etag)).toBe(304);
  expect(await again(`"other", W/${etag}`)).toBe(304);
  expect(await again("*")).toBe(304);
  expect(await again('"other"')).toBe(200);
  agents = ["claude-code", "codex"];
  expect(await again(etag)).toBe(200);
  expect((await fetch(`${url}/manifest`)).status).toBe(401);
  expect((await fetch(`${url}/manifest`, { headers: await signedIn("admin") })).status).toBe(403);
});

describe("a call that waits", () => {
  const waiting = (seen: { reason?: unknown; started?: boolean }) =>
    toolThat((_principal, signal) => {
      seen.started = true;
      return new Promise<unknown>((resolve) =>
        signal.addEventListener("abort", () => {
          seen.reason = signal.reason;
          resolve({ said: "what there was" });
        }),
      );
    });

  test("is aborted when its client disconnects", async () => {
    const seen: { reason?: unknown; started?: boolean } = {};
    const { port, headers, logged } = await startEchoServer([waiting(seen)]);
    const request = httpRequest({ host: "127.0.0.1", port, path: "/api/coding/act", method: "POST", headers });
    request.on("error", () => undefined); // it is destroyed below
    request.end();
    await vi.waitFor(() => expect(seen.started).toBe(true));
    expect(seen.reason).toBe(undefined);
    request.destroy();
    await vi.waitFor(() => expect(seen.reason).toMatchObject({ code: "client_gone" }));
    expect(logged.filter((line) => line.includes('"error"'))).toEqual([]);
  });

  test("is answered with its partial result when the gateway stops, without delay", async () => {
    const seen: { reason?: unknown; started?: boolean } = {};
    const { post, close, url } = await startEchoServer([waiting(seen)]);
    await fetch(`${url}/healthz`); // leaves a connection open for the next request
    const answer = post("/api/coding/act");
    await vi.waitFor(() => expect(seen.started).toBe(true));
    const startedAt = performance.now();
    await close();
    expect(performance.now() - startedAt).toBeLessThan(1_000);
    expect(await answer).toMatchObject({ status: 200, body: { said: "what there was" } });
    expect(seen.reason).toMatchObject({ code: "gateway_stopping" });
    await expect(fetch(`${url}/healthz`)).rejects.toThrow();
  });

  test("can throw the reason: then the answer is 503 with a retry time", async () => {
    const started = Promise.withResolvers<void>();
    const { post, close } = await startEchoServer([
      toolThat(async (_principal, signal) => {
        started.resolve();
        await sleep(60_000, undefined, { signal }).catch(() => undefined);
        signal.throwIfAborted();
      }),
    ]);
    const answer = post("/api/coding/act");
    await started.promise;
    await close();
    const { status, body, headers } = await answer;
    expect([status, body["code"], headers.get("retry-after")]).toEqual([503, "gateway_stopping", "1"]);
  });

  test("and ignores its signal is cut off after the grace period", async () => {
    const started = Promise.withResolvers<void>();
    const { post, close } = await startEchoServer([
      toolThat(() => {
        started.resolve();
        return new Promise(() => undefined);
      }),
    ]);
    const answer = post("/api/coding/act").catch((error: unknown) => error);
    await started.promise;
    await close();
    expect(await answer).toBeInstanceOf(Error);
  });
});
