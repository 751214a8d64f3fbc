import { request as httpRequest } from "node:http";
import { describe, expect, test } from "vitest";
import { startHttpServer } from "../../test/support/http-server.ts";
import { rawRequest } from "../../test/support/raw-http.ts";
import { signInBrowser } from "../../test/support/signed-in-browser.ts";
import { folderRoutes, type HttpConfig, signInRoutes, ticketRoutes } from "./index.ts";

const gateway = { id: "g", version: "1.2.3", baseUrl: "http://localhost:7177" };

/** A server whose `POST /api/folders` changes state, and a browser that is signed in to it. */
async function setUp(config: Partial<HttpConfig> = {}, origin?: string) {
  const server = await startHttpServer(
    ({ accounts, folders }) => [
      folderRoutes({ folders }),
      signInRoutes({ accounts, gateway: () => gateway }),
      ticketRoutes(accounts),
    ],
    config,
  );
  const browser = await signInBrowser(server, origin === undefined ? {} : { origin });
  const own = origin ?? `http://127.0.0.1:${server.port}`;
  const folder = { path: server.work, scopes: ["coding"] };
  const send = async (...[method, path, request]: Parameters<typeof browser.send>) =>
    (await browser.send(method, path, request)).status;
  return { ...server, own, browser, folder, send };
}

const refused = { status: 403, body: expect.stringContaining('"code":"origin_not_allowed"') };
const notSignedIn = { status: 401, body: expect.stringContaining('"code":"unauthenticated"') };

describe("a browser's sign-in", () => {
  test("needs both its cookie and its key", async () => {
    const { browser, send, folder, folders, own } = await setUp();
    expect(await send("GET", "/api/me")).toBe(200);
    expect(await browser.send("GET", "/api/me", { key: null })).toMatchObject(notSignedIn);
    expect(await browser.send("GET", "/api/me", { cookie: null })).toMatchObject(notSignedIn);
    for (const part of [{ key: null }, { cookie: null }, { cookie: null, key: null }]) {
      expect(await send("POST", "/api/folders", { ...part, body: folder }), JSON.stringify(part)).toBe(401);
      expect(await send("GET", "/api/me", { ...part, origin: own }), JSON.stringify(part)).toBe(401);
    }
    expect(await folders.list()).toEqual([]);
    expect(await send("POST", "/api/folders", { body: folder })).toBe(201);
  });

  test("belongs to one browser: its cookie is not valid with another browser's key", async () => {
    const { send, ...server } = await setUp();
    const other = await signInBrowser(server);
    expect(await send("GET", "/api/me", { key: other.key })).toBe(401);
    expect(await send("GET", "/api/me", { cookie: other.cookie })).toBe(401);
    expect(await send("GET", "/api/me", { more: [`x-postern-key: ${other.key}`] })).toBe(401);
  });

  test("works despite cookies of the same name that another port has set", async () => {
    const { send, browser } = await setUp();
    const name = browser.cookie.split("=")[0] ?? "";
    expect(await send("GET", "/api/me", { cookie: `${name}=planted; a=b; ${browser.cookie};c` })).toBe(200);
    expect(await send("GET", "/api/me", { cookie: `x${browser.cookie}; a=${browser.cookie}` })).toBe(401);
    expect(await send("GET", "/api/me", { cookie: `${name}=x; `.repeat(500) })).toBe(401);
  });

  test("changes state only with the gateway's own Origin", async () => {
    const { browser, port, folder, folders } = await setUp();
    for (const origin of [null, "null", "", `http://127.0.0.1:${port + 1}`, `http://localhost:${port}`]) {
      expect(await browser.send("POST", "/api/folders", { origin, body: folder }), `${origin}`).toMatchObject(refused);
    }
    expect(await folders.list()).toEqual([]);
    for (const path of ["/api/sign-out", "/api/sign-in-links", "/api/coding/terminal-ticket"]) {
      expect(await browser.send("POST", path, { origin: null }), path).toMatchObject(refused);
    }
    expect(await browser.send("DELETE", "/api/browser-sessions/x", { origin: null })).toMatchObject(refused);
    expect(await browser.send("DELETE", "/api/browser-sessions/x")).toMatchObject({ status: 404 });
  });

  test("cannot be used to read by a page of another origin", async () => {
    const { browser, port, own } = await setUp();
    const other = `http://127.0.0.1:${port + 1}`;
    expect(await browser.send("GET", "/api/me", { origin: other })).toMatchObject(refused);
    for (const site of ["cross-site", "same-site", "none", "x"]) {
      const request = { more: [`Sec-Fetch-Site: ${site}`] };
      expect(await browser.send("GET", "/api/me", request), site).toMatchObject(refused);
      expect(await browser.send("GET", "/api/me", { ...request, origin: own }), site).toMatchObject(refused);
      expect(await browser.send("POST", "/api/sign-out", request), site).toMatchObject(refused);
    }
    const same = await browser.send("GET", "/api/me", { origin: own, more: ["Sec-Fetch-Site: same-origin"] });
    expect(same).toMatchObject({ status: 200 });
  });

  test("is not valid under another host name, as in DNS rebinding", async () => {
    const { browser, port } = await setUp();
    const host = `evil.example:${port}`;
    expect(await browser.send("GET", "/api/me", { host })).toMatchObject(refused);
    expect(await browser.send("POST", "/api/sign-out", { host, origin: `http://${host}` })).toMatchObject(refused);
    expect(await browser.send("GET", "/api/me")).toMatchObject({ status: 200 });
  });

  test("is ignored when a token is sent, even a weaker or invalid one", async () => {
    const { send, signedIn, token } = await setUp();
    const { authorization } = await signedIn("coding:read");
    expect(await send("GET", "/api/folders", { more: [`Authorization: ${authorization}`] })).toBe(403);
    expect(await send("GET", "/api/me", { more: ["Authorization: Bearer pst_wrong"] })).toBe(401);
    const admin = [`Authorization: Bearer ${await token("admin")}`];
    expect(await send("GET", "/api/folders", { cookie: null, key: null, more: admin })).toBe(200);
  });

  test("coexists with that of a gateway on another port of the host", async () => {
    const one = await setUp();
    const two = await setUp();
    const cookie = `${one.browser.cookie}; ${two.browser.cookie}`;
    expect(one.browser.cookie).toContain(`_${one.port}=`);
    expect(await one.send("GET", "/api/me", { cookie })).toBe(200);
    expect(await two.send("GET", "/api/me", { cookie })).toBe(200);
  });

  test("is never logged", async () => {
    const { browser, logged, accounts } = await setUp();
    const { accountId } = await accounts.owner();
    const { link } = await accounts.signIn.createLink(accountId);
    await browser.send("POST", "/api/sign-in", { body: { link } });
    await browser.send("POST", "/api/sign-in", { body: { link, more: link } });
    await browser.send("GET", "/api/me", { cookie: null });
    await expect.poll(() => logged.filter((line) => line.includes('"request"')).length).toBe(4);
    const all = logged.join("\n");
    for (const secret of [link, browser.key, browser.cookie.split("=")[1] ?? "?"]) expect(all).not.toContain(secret);
  });
});

/** A request by a page on another port: the browser adds our cookie, and the page's origin if it sends one. */
test("a page on another port of the host, which gets the cookie, can do nothing with it", async () => {
  const { browser, port, folder, folders, accounts, send } = await setUp();
  const { accountId } = await accounts.owner();
  const origin = `http://127.0.0.1:${port + 1}`;
  const site = "Sec-Fetch-Site: same-site";
  const page = { origin, key: null, more: [site] };
  // An image, a script, a frame or a link has no Origin, `fetch` has one, and an old browser has no Sec-Fetch-Site.
  for (const request of [{ ...page, origin: null }, page, { key: null }, { key: null, origin }]) {
    for (const path of ["/api/me", "/api/folders", "/api/browser-sessions"]) {
      expect(await send("GET", path, request), path).toBe(401);
    }
  }
  // A form, `sendBeacon`, `fetch` with a body that needs no preflight, and a preflight itself.
  for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/json"]) {
    for (const path of ["/api/folders", "/api/sign-out", "/api/sign-in-links", "/api/coding/terminal-ticket"]) {
      const posted = await browser.send("POST", path, { ...page, more: [site, `Content-Type: ${type}`], body: folder });
      expect(posted.status, `${type} ${path}`).toBe(403);
    }
  }
  const preflight = await browser.send("OPTIONS", "/api/folders", {
    ...page,
    more: ["Access-Control-Request-Method: POST", "Access-Control-Request-Headers: x-postern-key"],
  });
  expect(preflight.status).toBe(403);
  expect(Object.keys(preflight.headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
  expect(await folders.list()).toEqual([]);
  expect(await accounts.browsers.list(accountId)).toHaveLength(1);
});

describe("with a base URL of https, behind a proxy that speaks http to the gateway", () => {
  const base = "https://agents.example.org";

  test("the cookie is for https and this host alone", async () => {
    const { browser, send, own } = await setUp({ baseUrl: base }, base);
    expect(browser.setCookie).toMatch(
      /^__Host-postern_session=[\w-]{43}; Path=\/; Max-Age=34560000; HttpOnly; SameSite=Strict; Secure$/,
    );
    expect(await send("GET", "/api/me")).toBe(200);
    expect(await send("POST", "/api/sign-in-links")).toBe(201);
    const plain = browser.cookie.replace("__Host-", "");
    expect(await send("GET", "/api/me", { cookie: plain })).toBe(401);
    expect(await send("POST", "/api/sign-in-links", { origin: own.replace("https", "http") })).toBe(403);
    const out = await browser.send("POST", "/api/sign-out");
    expect(out.headers["set-cookie"]).toBe(
      "__Host-postern_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict; Secure",
    );
  });

  test("the loopback names still use plain http", async () => {
    const { browser, send } = await setUp({ baseUrl: base });
    expect(browser.setCookie).toMatch(
      /^postern_session_\d+=[\w-]{43}; Path=\/; Max-Age=34560000; HttpOnly; SameSite=Strict$/,
    );
    expect(await send("GET", "/api/me")).toBe(200);
    expect(await send("GET", "/api/me", { host: "agents.example.org" })).toBe(401);
  });
});

test("the owner's socket and a gateway without authentication need no sign-in, and ignore one", async () => {
  const { browser, socketPath } = await setUp();
  const status = await new Promise((resolve, reject) => {
    const headers = { host: "localhost", ...browser.headers };
    const outgoing = httpRequest({ socketPath, path: "/api/me", headers, agent: false }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    outgoing.on("error", reject);
    outgoing.end();
  });
  expect(status).toBe(200);
  const open = await startHttpServer(({ accounts }) => [signInRoutes({ accounts, gateway: () => gateway })], {
    auth: "none",
  });
  const me = await rawRequest({ host: "127.0.0.1", port: open.port }, [
    "GET /api/me HTTP/1.1",
    `Host: localhost:${open.port}`,
  ]);
  expect(me).toMatchObject({ status: 200, body: expect.stringContaining('"kind":"open"') });
});
