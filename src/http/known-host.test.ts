import { describe, expect, test } from "vitest";
import { startHttpServer } from "../../test/support/http-server.ts";
import { type RawAnswer, rawRequest } from "../../test/support/raw-http.ts";
import { folderRoutes, type HttpConfig, healthRoutes } from "./index.ts";

/** A server whose `POST /api/folders` changes state; the answers to raw requests to it. */
async function setUp(config: Partial<HttpConfig> = {}) {
  const server = await startHttpServer(({ folders }) => [healthRoutes, folderRoutes({ folders })], config);
  const { authorization } = await server.signedIn("admin");
  const get = (host: string | null, more: readonly string[] = []): Promise<RawAnswer> =>
    rawRequest({ host: "127.0.0.1", port: server.port }, [
      "GET /healthz HTTP/1.1",
      ...(host === null ? [] : [`Host: ${host}`]),
      ...more,
    ]);
  const post = (host: string, origin: string | null): Promise<RawAnswer> =>
    rawRequest(
      { host: "127.0.0.1", port: server.port },
      [
        "POST /api/folders HTTP/1.1",
        `Host: ${host}`,
        `Authorization: ${authorization}`,
        "Content-Type: application/json",
        ...(origin === null ? [] : [`Origin: ${origin}`]),
      ],
      JSON.stringify({ path: server.work, scopes: ["coding"] }),
    );
  return { ...server, get, post };
}

const refused = { status: 403, body: expect.stringContaining('"code":"origin_not_allowed"') };

describe("a request's Host", () => {
  test("is a loopback name with the listening port", async () => {
    const { get, port } = await setUp();
    for (const host of [`localhost:${port}`, `LocalHost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`]) {
      expect(await get(host), host).toMatchObject({ status: 200 });
    }
  });

  test("with any other name is refused, as in DNS rebinding", async () => {
    const { get, port } = await setUp();
    for (const host of [
      `evil.example:${port}`,
      "evil.example",
      "localhost",
      `localhost:${port + 1}`,
      `localhost.evil.example:${port}`,
      `evil.example#localhost:${port}`,
      `127.0.0.1.evil.example:${port}`,
      `127.0.0.2:${port}`,
      `0.0.0.0:${port}`,
      `[::]:${port}`,
      `:${port}`,
    ]) {
      expect(await get(host), host).toMatchObject(refused);
    }
  });

  test("must not be missing, empty or repeated", async () => {
    const { get, port } = await setUp();
    expect((await get(null)).status).toBe(400);
    expect((await get("")).status).toBe(403);
    expect(await get("evil.example", [`Host: localhost:${port}`])).toMatchObject(refused);
    expect(await get(`localhost:${port}`, ["Host: evil.example"])).toMatchObject(refused);
  });

  test("is checked on every route: with a valid token, and on unknown paths", async () => {
    const { post, port } = await setUp();
    expect(await post("evil.example", null)).toMatchObject(refused);
    const nowhere = ["GET /nowhere HTTP/1.1", `Host: evil.example:${port}`];
    expect(await rawRequest({ host: "127.0.0.1", port }, nowhere)).toMatchObject(refused);
  });

  test("cannot be bypassed by an absolute URL in the request line", async () => {
    const { port } = await setUp();
    const ask = (url: string, host: string): Promise<RawAnswer> =>
      rawRequest({ host: "127.0.0.1", port }, [`GET ${url} HTTP/1.1`, `Host: ${host}`]);
    const own = `localhost:${port}`;
    expect(await ask("http://evil.example/healthz", own)).toMatchObject(refused);
    expect(await ask(`http://${own}/healthz`, "evil.example")).toMatchObject(refused);
    expect((await ask(`http://${own}/healthz`, own)).status).toBe(200);
  });

  test("can be the base URL's, with and without its default port", async () => {
    const { get, port } = await setUp({ baseUrl: "https://agents.example.org" });
    expect((await get("agents.example.org")).status).toBe(200);
    expect((await get("agents.example.org:443")).status).toBe(200);
    expect((await get(`localhost:${port}`)).status).toBe(200);
    expect(await get(`agents.example.org:${port}`)).toMatchObject(refused);
    expect(await get("www.agents.example.org")).toMatchObject(refused);
  });

  test("can be the listening address, but not a wildcard", async () => {
    const bound = await setUp({ hosts: ["127.0.0.2"] });
    const toBound = { host: "127.0.0.2", port: bound.port };
    const own = ["GET /healthz HTTP/1.1", `Host: 127.0.0.2:${bound.port}`];
    expect((await rawRequest(toBound, own)).status).toBe(200);
    const wild = await setUp({ hosts: ["0.0.0.0"] });
    expect(await wild.get(`0.0.0.0:${wild.port}`)).toMatchObject(refused);
    expect((await wild.get(`localhost:${wild.port}`)).status).toBe(200);
  });
});

describe("a request's Origin", () => {
  test("must be the gateway's own or absent on everything that changes state", async () => {
    const { post, port, folders } = await setUp();
    expect((await post(`localhost:${port}`, null)).status).toBe(201);
    expect((await post(`localhost:${port}`, `http://localhost:${port}`)).status).toBe(201);
    expect((await post(`[::1]:${port}`, `http://[::1]:${port}`)).status).toBe(201);
    expect(await folders.list()).toHaveLength(1);
  });

  test("of another site is refused before anything happens, even with a valid token", async () => {
    const { post, port, folders } = await setUp();
    for (const origin of [
      "http://evil.example",
      "null",
      "",
      `https://localhost:${port}`,
      `http://localhost:${port + 1}`,
      `http://127.0.0.1:${port}`,
      `http://localhost:${port}.evil.example`,
      `http://localhost:${port} http://evil.example`,
    ]) {
      expect(await post(`localhost:${port}`, origin), origin).toMatchObject(refused);
    }
    expect(await folders.list()).toEqual([]);
  });

  test("is not checked for reads: the browser hides the answer from the page", async () => {
    const { get, port } = await setUp();
    const answer = await get(`localhost:${port}`, ["Origin: http://evil.example"]);
    expect(answer.status).toBe(200);
    expect(Object.keys(answer.headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
    expect(answer.headers["cross-origin-resource-policy"]).toBe("same-origin");
  });

  test("can be the base URL's, with its own scheme only", async () => {
    const { post } = await setUp({ baseUrl: "https://agents.example.org" });
    expect((await post("agents.example.org", "https://agents.example.org")).status).toBe(201);
    expect(await post("agents.example.org", "http://agents.example.org")).toMatchObject(refused);
  });

  test("is checked even without authentication, and so is Host", async () => {
    const { post, get, port } = await setUp({ auth: "none" });
    expect(await post(`localhost:${port}`, "http://evil.example")).toMatchObject(refused);
    expect(await get("evil.example")).toMatchObject(refused);
    expect((await post(`localhost:${port}`, null)).status).toBe(201);
  });
});
