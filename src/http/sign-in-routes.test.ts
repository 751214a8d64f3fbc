import { describe, expect, test } from "vitest";
import { looseSchema } from "../../test/support/echo-server.ts";
import { startHttpServer } from "../../test/support/http-server.ts";
import { type RawAnswer, rawRequest } from "../../test/support/raw-http.ts";
import { signInBrowser } from "../../test/support/signed-in-browser.ts";
import { scopes } from "../wire/access.ts";
import { signInLinkSchema } from "../wire/sign-in.ts";
import { terminalTicketSchema } from "../wire/terminal.ts";
import { signInRoutes, ticketRoutes } from "./index.ts";

const gateway = { id: "g", version: "1.2.3", baseUrl: "https://agents.example.org" };

async function setUp() {
  const server = await startHttpServer(({ accounts }) => [
    signInRoutes({ accounts, gateway: () => gateway }),
    ticketRoutes(accounts),
  ]);
  const { accountId } = await server.accounts.owner();
  const own = `http://127.0.0.1:${server.port}`;
  const link = async () => (await server.accounts.signIn.createLink(accountId)).link;
  const signIn = (headers: readonly string[], body: string): Promise<RawAnswer> =>
    rawRequest(
      { host: "127.0.0.1", port: server.port },
      ["POST /api/sign-in HTTP/1.1", `Host: 127.0.0.1:${server.port}`, ...headers],
      body,
    );
  return { ...server, accountId, own, link, signIn };
}

const json = "Content-Type: application/json";
const bodyOf = ({ body }: RawAnswer) => looseSchema.parse(JSON.parse(body));

describe("POST /api/sign-in", () => {
  test("gives a cookie and a key for a link, once", async () => {
    const { link, own, signIn, accounts, accountId } = await setUp();
    const body = JSON.stringify({ link: await link() });
    const answer = await signIn([json, `Origin: ${own}`, "User-Agent: A phone", "Sec-Fetch-Site: same-origin"], body);
    expect(answer.status).toBe(200);
    expect(bodyOf(answer)).toEqual({ key: expect.stringMatching(/^[\w-]{43}$/), expiresAt: expect.any(String) });
    expect(answer.headers["set-cookie"]).toMatch(
      /^postern_session_\d+=[\w-]{43}; Path=\/; .*HttpOnly; SameSite=Strict$/,
    );
    expect(answer.body).not.toContain(/=([\w-]+)/.exec(answer.headers["set-cookie"] ?? "")?.[1]);
    expect(await accounts.browsers.list(accountId)).toMatchObject([{ userAgent: "A phone" }]);
    const again = await signIn([json, `Origin: ${own}`], body);
    expect(again).toMatchObject({ status: 401, body: expect.stringContaining("postern login-link") });
    expect(again.headers["set-cookie"]).toBe(undefined);
  });

  test("accepts only the gateway's own pages: without its Origin the link is not checked", async () => {
    const { link, own, port, signIn, accounts, accountId } = await setUp();
    const body = JSON.stringify({ link: await link() });
    for (const headers of [
      [],
      ["Origin: null"],
      ["Origin: http://evil.example"],
      [`Origin: http://127.0.0.1:${port + 1}`],
      [`Origin: http://localhost:${port}`],
      [`Origin: ${own}`, "Sec-Fetch-Site: cross-site"],
      [`Origin: ${own}`, "Sec-Fetch-Site: same-site"],
    ]) {
      const answer = await signIn([json, ...headers], body);
      expect([answer.status, bodyOf(answer)["code"]], headers.join()).toEqual([403, "origin_not_allowed"]);
    }
    expect(await accounts.browsers.list(accountId)).toEqual([]);
    expect((await signIn([json, `Origin: ${own}`], body)).status).toBe(200);
  });

  test("accepts only JSON with a link", async () => {
    const { link, own, signIn } = await setUp();
    const given = await link();
    for (const type of ["text/plain", "application/x-www-form-urlencoded"]) {
      expect((await signIn([`Content-Type: ${type}`, `Origin: ${own}`], JSON.stringify({ link: given }))).status).toBe(
        415,
      );
    }
    for (const body of [{ link: "" }, { link: "x".repeat(201) }, { link: 1 }, { link: given, more: 1 }, {}]) {
      expect((await signIn([json, `Origin: ${own}`], JSON.stringify(body))).status, JSON.stringify(body)).toBe(400);
    }
    expect((await signIn([json, `Origin: ${own}`], JSON.stringify({ link: "unknown" }))).status).toBe(401);
    expect((await signIn([json, `Origin: ${own}`], JSON.stringify({ link: given }))).status).toBe(200);
  });
});

describe("a signed-in browser", () => {
  test("signs out with immediate effect", async () => {
    const server = await setUp();
    const browser = await signInBrowser(server);
    const other = await signInBrowser(server);
    const out = await browser.send("POST", "/api/sign-out");
    expect(out.status).toBe(204);
    expect(out.headers["set-cookie"]).toBe(
      `postern_session_${server.port}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict`,
    );
    expect((await browser.send("GET", "/api/me")).status).toBe(401);
    expect((await browser.send("POST", "/api/sign-out")).status).toBe(401);
    expect((await other.send("GET", "/api/me")).status).toBe(200);
    const headers = await server.signedIn("admin");
    expect((await fetch(`${server.url}/api/sign-out`, { method: "POST", headers })).status).toBe(400);
  });

  test("lists the signed-in browsers, marks itself, and signs others out immediately", async () => {
    const server = await setUp();
    const phone = await signInBrowser(server, { userAgent: "A phone" });
    const laptop = await signInBrowser(server, { userAgent: "A laptop" });
    const listed = bodyOf(await laptop.send("GET", "/api/browser-sessions"))["browserSessions"];
    const record = {
      browserSessionId: expect.any(String),
      createdAt: expect.any(String),
      lastUsedAt: expect.any(String),
      expiresAt: expect.any(String),
    };
    expect(listed).toHaveLength(2);
    expect(listed).toContainEqual({ ...record, userAgent: "A laptop", current: true });
    expect(listed).toContainEqual({ ...record, userAgent: "A phone", current: false });
    const { browserSessionId } = bodyOf(await phone.send("GET", "/api/me"));
    const path = `/api/browser-sessions/${String(browserSessionId)}`;
    expect((await laptop.send("DELETE", path)).status).toBe(204);
    expect((await phone.send("GET", "/api/me")).status).toBe(401);
    expect(bodyOf(await laptop.send("DELETE", path))).toMatchObject({ status: 404, code: "browser_session_not_found" });
  });

  test("creates a link for another browser", async () => {
    const server = await setUp();
    const browser = await signInBrowser(server);
    const answer = await browser.send("POST", "/api/sign-in-links");
    expect(answer.status).toBe(201);
    const { url } = signInLinkSchema.parse(bodyOf(answer));
    expect(url).toMatch(/^https:\/\/agents\.example\.org\/sign-in#[\w-]{43}$/);
    const redeemed = await server.signIn([json, `Origin: ${server.own}`], JSON.stringify({ link: url.split("#")[1] }));
    expect(redeemed.status).toBe(200);
  });

  test("gets tickets for terminals, which end with its sign-in", async () => {
    const server = await setUp();
    const browser = await signInBrowser(server);
    const ask = async (body: object) => browser.send("POST", "/api/coding/terminal-ticket", { body });
    const { ticket, mode } = terminalTicketSchema.parse(bodyOf(await ask({ sessionId: "s1" })));
    expect(mode).toBe("drive");
    const redeemed = await server.accounts.tickets.redeem(ticket);
    expect(redeemed).toMatchObject({ sessionId: "s1", mode: "drive", principal: { kind: "browser" } });
    const second = terminalTicketSchema.parse(bodyOf(await ask({ sessionId: "s1", mode: "observe" })));
    await browser.send("POST", "/api/sign-out");
    await expect(redeemed?.refresh()).rejects.toMatchObject({ code: "unauthenticated" });
    expect(await server.accounts.tickets.redeem(second.ticket)).toBe(null);
  });
});

test("a caller who can only observe gets no ticket to drive", async () => {
  const { url, signedIn } = await setUp();
  const ask = async (body: object, headers: Readonly<Record<string, string>>) => {
    const answer = await fetch(`${url}/api/coding/terminal-ticket`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return { status: answer.status, body: await answer.json() };
  };
  const observer = await signedIn("coding:read");
  expect(await ask({ sessionId: "s1", mode: "drive" }, observer)).toMatchObject({
    status: 403,
    body: { code: "insufficient_scope", scope: "coding:drive" },
  });
  expect(await ask({ sessionId: "s1" }, observer)).toMatchObject({ status: 200, body: { mode: "observe" } });
  expect(await ask({ sessionId: "s1" }, await signedIn("coding:drive"))).toMatchObject({ status: 403 });
  expect(await ask({ sessionId: "s1" }, {})).toMatchObject({ status: 401 });
  expect(await ask({ sessionId: "s1", more: 1 }, observer)).toMatchObject({ status: 400 });
});

test("GET /api/me returns the caller, the account and the scopes", async () => {
  const server = await setUp();
  const browser = await signInBrowser(server);
  const account = { accountId: server.accountId, name: "owner", isOwner: true };
  expect(bodyOf(await browser.send("GET", "/api/me"))).toEqual({
    account,
    kind: "browser",
    scopes: [...scopes],
    folders: null,
    browserSessionId: expect.any(String),
    app: null,
    expiresAt: null,
    gateway,
  });
  const { token } = await server.accounts.tokens.create(server.accountId, {
    name: "one folder",
    scopes: ["coding:write", "coding:read"],
    expiresAt: null,
    folders: [server.work],
  });
  const me = await fetch(`${server.url}/api/me`, { headers: { authorization: `Bearer ${token}` } });
  expect(await me.json()).toEqual({
    account,
    kind: "token",
    scopes: ["coding:read", "coding:write"],
    folders: [server.work],
    browserSessionId: null,
    app: null,
    expiresAt: null,
    gateway,
  });
});

test("none of the routes for other browsers answers without the scope admin", async () => {
  const { url, signedIn } = await setUp();
  const headers = await signedIn("coding:read", "coding:write", "coding:drive", "logs:read", "logs:write");
  for (const [method, path] of [
    ["GET", "/api/browser-sessions"],
    ["DELETE", "/api/browser-sessions/1"],
    ["POST", "/api/sign-in-links"],
  ] as const) {
    expect((await fetch(`${url}${path}`, { method, headers })).status, path).toBe(403);
    expect((await fetch(`${url}${path}`, { method })).status, path).toBe(401);
  }
});
