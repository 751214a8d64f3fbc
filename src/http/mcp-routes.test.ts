import { expect, test } from "vitest";
import { startHttpServer } from "../../test/support/http-server.ts";
import { mcpRoutes } from "./mcp-routes.ts";

const nothing = (): void => undefined;
const log = { debug: nothing, info: nothing, warn: nothing, error: nothing };
const patient = { timeout: 10_000, interval: 20 };

test("open streams count per app, however often its token is renewed; other apps keep their limit", async () => {
  const waiting: PromiseWithResolvers<Response>[] = [];
  const handle = (): Promise<Response> => {
    const answer = Promise.withResolvers<Response>();
    waiting.push(answer);
    return answer.promise;
  };
  const server = await startHttpServer(() => [mcpRoutes({ handle, log, maxOpen: 4, maxOpenOfCaller: 2 })]);
  const { accountId } = await server.accounts.owner();
  const renewed = () => server.apps.issue({ accountId, scopes: ["coding:read"] }).token;
  const call = (bearer: string): Promise<Response> =>
    fetch(`${server.url}/mcp`, { headers: { authorization: `Bearer ${bearer}` } });
  const open = [call(renewed()), call(renewed())];
  await expect.poll(() => waiting.length, patient).toBe(2);
  expect((await call(renewed())).status).toBe(429);
  const other = call(await server.token("coding:read"));
  await expect.poll(() => waiting.length, patient).toBe(3);
  for (const { resolve } of waiting) resolve(new Response(null, { status: 202 }));
  expect((await Promise.all([...open, other])).map(({ status }) => status)).toEqual([202, 202, 202]);
});

test("an answer for a disconnected caller is dropped", async () => {
  const answer = Promise.withResolvers<Response>();
  let signal: AbortSignal | undefined;
  let cancelled = false;
  const handle = (request: { readonly signal: AbortSignal }): Promise<Response> => {
    signal = request.signal;
    return answer.promise;
  };
  const server = await startHttpServer(() => [mcpRoutes({ handle, log })]);
  const leaving = new AbortController();
  const headers = await server.signedIn("coding:read");
  const call = fetch(`${server.url}/mcp`, { headers, signal: leaving.signal }).catch(() => undefined);
  await expect.poll(() => signal, patient).toBeDefined();
  leaving.abort();
  await call;
  await expect.poll(() => signal?.aborted, patient).toBe(true);
  const body = new ReadableStream({ cancel: () => void (cancelled = true) });
  answer.resolve(new Response(body, { headers: { "content-type": "text/event-stream" } }));
  await expect.poll(() => cancelled, patient).toBe(true);
});

test("with any method, a request from another origin is refused; one without an Origin or from our own page is accepted", async () => {
  const handle = async (): Promise<Response> => new Response(null, { status: 202 });
  const server = await startHttpServer(() => [mcpRoutes({ handle, log })]);
  const headers = await server.signedIn("coding:read");
  for (const method of ["GET", "POST", "DELETE"]) {
    const statusFrom = async (origin: Readonly<Record<string, string>>) =>
      (await fetch(`${server.url}/mcp`, { method, headers: { ...headers, ...origin } })).status;
    expect(await statusFrom({ origin: "http://evil.example" }), method).toBe(403);
    expect(await statusFrom({ origin: "null" }), method).toBe(403);
    expect(await statusFrom({ origin: server.url }), method).toBe(202);
    expect(await statusFrom({}), method).toBe(202);
  }
  const stranger = await fetch(`${server.url}/mcp`, { headers: { origin: "http://evil.example" } });
  expect(await stranger.json()).toMatchObject({ status: 403, code: "origin_not_allowed" });
});
