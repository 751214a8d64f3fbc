import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { startEchoServer, toolThat } from "../../test/support/echo-server.ts";
import { createFakeClock } from "../../test/support/fake-clock.ts";
import { startTerminalSocket } from "../../test/support/terminal-socket.ts";
import type { RouteModule } from "./index.ts";
import { challenge } from "./problem-response.ts";
import type { Access } from "./route-server.ts";

const wellKnown = "/.well-known/oauth-protected-resource";

/** A server with one route of this access. */
function routeOf(url: string, access: Access, resource?: "mcp"): RouteModule {
  return ({ app, principalOf }) =>
    app.route({
      method: "GET",
      url,
      config: { access, ...(resource === undefined ? {} : { resource }) },
      schema: { hide: true },
      handler: async (request) => ({ kind: principalOf(request).kind }),
    });
}

async function setUp() {
  const server = await startEchoServer([
    routeOf("/mcp", "signed-in", "mcp"),
    routeOf("/mine", "own"),
    toolThat(async () => "done"),
  ]);
  const { accountId } = await server.accounts.owner();
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
  const app = (resource: "all" | "mcp") => server.apps.issue({ accountId, scopes: ["coding:read"], resource });
  const ask = async (path: string, headers: Readonly<Record<string, string>> = {}) => {
    const answer = await fetch(`${server.url}${path}`, {
      method: path.startsWith("/api/coding") ? "POST" : "GET",
      headers,
    });
    return [answer.status, answer.headers.get("www-authenticate")];
  };
  return { ...server, accountId, bearer, app, ask };
}

describe("RFC 9728 section 5.1: a refused caller gets the metadata URL", () => {
  test("without a token there is no error code, and /mcp names the scopes to request", async () => {
    const { ask, url } = await setUp();
    expect(await ask("/api/items/1")).toEqual([401, `Bearer realm="postern", resource_metadata="${url}${wellKnown}"`]);
    expect(await ask("/mcp")).toEqual([
      401,
      `Bearer realm="postern", scope="coding:read coding:write", resource_metadata="${url}${wellKnown}/mcp"`,
    ]);
    expect((await ask("/mcp", { authorization: "Basic eDp5" }))[1]).not.toContain("error");
  });

  test("a malformed, unknown or expired token is invalid_token", async () => {
    const { ask, bearer, app, apps } = await setUp();
    const over = app("all");
    apps.revoke(over.issued.tokenId);
    for (const token of ["pst_unknown", over.token, "a.b.c", "no token", "x".repeat(9_000)]) {
      expect(await ask("/api/items/1", bearer(token)), token).toEqual([
        401,
        expect.stringContaining('error="invalid_token"'),
      ]);
    }
  });

  test("a missing scope is named, with where to get it", async () => {
    const { ask, bearer, app, url } = await setUp();
    expect(await ask("/api/coding/echo", bearer(app("all").token))).toEqual([
      403,
      `Bearer realm="postern", error="insufficient_scope", scope="coding:write", resource_metadata="${url}${wellKnown}"`,
    ]);
  });

  test("the URLs use the request's own host; on the owner's socket there are none", async () => {
    const { port } = await setUp();
    const answer = await fetch(`http://localhost:${port}/mcp`);
    expect(answer.headers.get("www-authenticate")).toContain(`"http://localhost:${port}${wellKnown}/mcp"`);
    const socket = { origin: null, audience: "api", showedToken: false } as const;
    expect(challenge(socket, {})).toBe('Bearer realm="postern"');
    expect(challenge(socket, { error: "insufficient_scope", scope: "admin" })).toBe(
      'Bearer realm="postern", scope="admin"',
    );
  });
});

describe("a token that was given for /mcp", () => {
  test("is valid only there; another token is valid at both", async () => {
    const { ask, bearer, app, token } = await setUp();
    const mcp = bearer(app("mcp").token);
    expect((await ask("/mcp", mcp))[0]).toBe(200);
    for (const path of ["/api/items/1", "/api/coding/act", "/mine"]) {
      expect(await ask(path, mcp), path).toEqual([401, expect.stringContaining('error="invalid_token"')]);
    }
    for (const both of [bearer(app("all").token), bearer(await token("coding:read"))]) {
      expect((await ask("/mcp", both))[0]).toBe(200);
      expect((await ask("/api/coding/act", both))[0]).toBe(200);
    }
  });

  test("opens no WebSocket", async () => {
    const { accounts, apps, open, outcome } = await startTerminalSocket();
    const { accountId } = await accounts.owner();
    const headers = (resource: "all" | "mcp") => {
      const { token } = apps.issue({ accountId, scopes: ["coding:read"], resource });
      return { authorization: `Bearer ${token}` };
    };
    expect(await outcome(open("?session_id=s1", headers("mcp")))).toMatchObject({ code: 4401 });
    await once(open("?session_id=s1", headers("all")), "message");
  });
});

test("an account's own objects are not available to apps, and to tokens only with admin", async () => {
  const { ask, bearer, accountId, apps, token } = await setUp();
  const app = apps.issue({ accountId, scopes: ["coding:read", "coding:drive", "admin"] });
  expect(await ask("/mine", bearer(app.token))).toEqual([403, expect.stringContaining('scope="admin"')]);
  expect((await ask("/mine", bearer(await token("coding:drive"))))[0]).toBe(403);
  expect((await ask("/mine", bearer(await token("admin"))))[0]).toBe(200);
});

describe("open connections end within five seconds", () => {
  // The five seconds count on the gateway's clock; on the test's clock, the effect takes longer.
  const patience = { timeout: 15_000, interval: 20 };

  async function openedBy(
    end: (all: Awaited<ReturnType<typeof startTerminalSocket>>, tokenId: string) => Promise<void>,
    lifeMs?: number,
  ) {
    const clock = createFakeClock(Date.now());
    const all = await startTerminalSocket({}, clock);
    const guest = await all.accounts.directory.add({ name: "guest", scopes: ["coding:read"] });
    const life = lifeMs === undefined ? {} : { lifeMs };
    const { token, issued } = all.apps.issue({ accountId: guest.accountId, scopes: ["coding:read"], ...life });
    const ws = all.open("?session_id=s1", { authorization: `Bearer ${token}` });
    await once(ws, "message");
    let closed: number | null = null;
    ws.once("close", (code) => (closed = code));
    await end(all, issued.tokenId);
    await clock.advance(5_000);
    await expect.poll(() => closed, patience).toBe(4401);
  }

  test("when an app's token is revoked or its app disconnected", () =>
    openedBy(async ({ apps }, tokenId) => apps.revoke(tokenId)));

  test("when it expires", () => openedBy(async () => undefined, 500));

  test("when its account is removed", () =>
    openedBy(async ({ accounts }) => {
      const guest = (await accounts.directory.list()).find(({ name }) => name === "guest");
      await accounts.directory.remove(guest?.accountId ?? "");
    }));
});
