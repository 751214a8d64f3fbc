import { expect, test } from "vitest";
import { z } from "zod";
import { createFakeOAuth } from "../../test/support/fake-oauth.ts";
import { startHttpServer } from "../../test/support/http-server.ts";
import { signInBrowser } from "../../test/support/signed-in-browser.ts";
import { scopes } from "../wire/access.ts";
import { addedAccountSchema, auditPageSchema } from "../wire/accounts.ts";
import { addedClientSchema } from "../wire/oauth.ts";
import {
  accountRoutes,
  appRoutes,
  auditRoutes,
  clientRoutes,
  eventRoutes,
  signInRoutes,
  tokenRoutes,
} from "./index.ts";

async function setUp() {
  const oauth = createFakeOAuth();
  const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
  const server = await startHttpServer(({ accounts }) => [
    accountRoutes({ accounts, baseUrl: () => "https://agents.example.org" }),
    auditRoutes(accounts),
    tokenRoutes(accounts),
    signInRoutes({ accounts, gateway: () => ({ id: "g", version: "1", baseUrl: "http://localhost" }) }),
    clientRoutes({ clients: oauth.clients, audit: accounts.audit }),
    appRoutes(oauth),
    eventRoutes({
      log,
      // A stream that sends no event and ends when the request does.
      stream: ({ signal }) =>
        (async function* () {
          yield { kind: "position", id: "1" } as const;
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
        })(),
      sessionIdsOf: async () => [],
    }),
  ]);
  const callAs =
    (headers: Readonly<Record<string, string>>) =>
    async (
      method: string,
      path: string,
      body?: unknown,
    ): Promise<{ readonly status: number; readonly body: unknown }> => {
      const type = body === undefined ? {} : { "content-type": "application/json" };
      const answer = await fetch(`${server.url}${path}`, {
        method,
        headers: { "user-agent": "curl", ...headers, ...type },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await answer.text();
      return { status: answer.status, body: text === "" ? null : JSON.parse(text) };
    };
  return { ...server, oauth, callAs, call: callAs(await server.signedIn("admin", "coding:read")) };
}

test("an account is added with a link for its first browser, gets more links, and is removed; all of it is audited", async () => {
  const { call, accounts } = await setUp();
  const added = await call("POST", "/api/accounts", { name: "anna", scopes: ["coding:read"] });
  expect(added.status).toBe(201);
  const { accountId, signInLink } = addedAccountSchema.parse(added.body);
  const link = /^https:\/\/agents\.example\.org\/sign-in#([\w-]{43})$/.exec(signInLink.url)?.[1] ?? "";
  const { cookie, key } = await accounts.signIn.redeem(link, { userAgent: "" });
  const principal = await accounts.authenticate({ kind: "browser", cookies: [cookie], key });
  expect(principal).toMatchObject({ accountId, scopes: new Set(["coding:read"]) });

  const another = await call("POST", `/api/accounts/${accountId}/sign-in-links`);
  expect(another).toMatchObject({ status: 201, body: { url: expect.stringContaining("/sign-in#") } });
  expect(await call("POST", "/api/accounts/unknown/sign-in-links")).toMatchObject({ status: 404 });
  expect(await call("GET", "/api/accounts")).toMatchObject({
    body: {
      accounts: [
        { name: "owner", isOwner: true },
        { accountId, name: "anna", scopes: ["coding:read"] },
      ],
    },
  });
  for (const [wrong, status] of [
    [{ name: "anna", scopes: ["coding:read"] }, 409],
    [{ name: "bob", scopes: ["admin"] }, 400],
    [{ name: "bob", scopes: [] }, 400],
    [{ name: "", scopes: ["coding:read"] }, 400],
  ] as const) {
    expect(await call("POST", "/api/accounts", wrong), JSON.stringify(wrong)).toMatchObject({ status });
  }
  const { accountId: ownerId } = await accounts.owner();
  expect(await call("DELETE", `/api/accounts/${ownerId}`)).toMatchObject({ status: 400 });
  expect(await call("DELETE", `/api/accounts/${accountId}`)).toMatchObject({ status: 204 });
  expect(await call("DELETE", `/api/accounts/${accountId}`)).toMatchObject({
    status: 404,
    body: { code: "account_not_found" },
  });
  const audit = await call("GET", "/api/audit?kind=account");
  expect(auditPageSchema.parse(audit.body).entries).toMatchObject([
    { action: "account_removed", subject: accountId, details: { name: "anna" }, account: { name: "owner" } },
    {
      action: "account_added",
      subject: accountId,
      details: { name: "anna", scopes: ["coding:read"] },
      address: "127.0.0.1",
      userAgent: "curl",
    },
  ]);
  expect(JSON.stringify(audit.body)).not.toContain(link);
  const links = await call("GET", "/api/audit?kind=sign_in");
  expect(auditPageSchema.parse(links.body).entries[0]).toMatchObject({
    action: "sign_in_link_created",
    subject: accountId,
    details: { name: "anna" },
    account: { name: "owner" },
  });
});

test("callers can grant only what they hold: tokens, accounts and sign-in links of a token are limited to its scopes", async () => {
  const { call, callAs, signedIn, accounts, ...server } = await setUp();
  const anna = await accounts.directory.add({ name: "anna", scopes: ["coding:read", "coding:drive"] });
  for (const [path, body, scope] of [
    ["/api/tokens", { name: "x", scopes: ["admin", "coding:drive"] }, "coding:drive"],
    ["/api/accounts", { name: "bob", scopes: ["coding:read", "coding:write"] }, "coding:write"],
    [`/api/accounts/${anna.accountId}/sign-in-links`, undefined, "coding:drive"],
    ["/api/sign-in-links", undefined, "coding:write"],
  ] as const) {
    const refused = await call("POST", path, body);
    expect(refused, path).toMatchObject({ status: 403, body: { code: "insufficient_scope", scope } });
    const browser = await signInBrowser({ ...server, accounts });
    expect((await browser.send("POST", path, body === undefined ? {} : { body })).status, path).toBe(201);
  }
  const all = await signedIn(...scopes);
  expect(await callAs(all)("POST", "/api/sign-in-links")).toMatchObject({ status: 201 });
});

test("open connections of a removed account end within five seconds", async () => {
  const { accounts, url } = await setUp();
  const { accountId } = await accounts.directory.add({ name: "anna", scopes: ["coding:read"] });
  const wanted = { name: "x", scopes: ["coding:read"], expiresAt: null, folders: null } as const;
  const { token } = await accounts.tokens.create(accountId, wanted);
  const stream = await fetch(`${url}/api/coding/events`, { headers: { authorization: `Bearer ${token}` } });
  expect(stream.status).toBe(200);
  const begin = Date.now();
  await accounts.directory.remove(accountId);
  await stream.text(); // until it ends
  expect(Date.now() - begin).toBeLessThan(5_000);
});

test("changes are audited with the actor and origin, without secrets", async () => {
  const { call, ...server } = await setUp();
  const made = await call("POST", "/api/tokens", { name: "laptop", scopes: ["coding:read"] });
  const { token, tokenId } = z.object({ token: z.string(), tokenId: z.string() }).parse(made.body);
  await call("DELETE", `/api/tokens/${tokenId}`);
  const [phone, laptop] = [await signInBrowser(server, { userAgent: "A phone" }), await signInBrowser(server)];
  const { browserSessionId } = z
    .object({ browserSessionId: z.string() })
    .parse(JSON.parse((await phone.send("GET", "/api/me")).body));
  await laptop.send("DELETE", `/api/browser-sessions/${browserSessionId}`);
  await laptop.send("POST", "/api/sign-out");
  await fetch(`${server.url}/api/sign-in`, {
    method: "POST",
    headers: { origin: server.url, "content-type": "application/json" },
    body: JSON.stringify({ link: "wrong-secret-link" }),
  });
  const { entries, hasMore } = auditPageSchema.parse((await call("GET", "/api/audit?limit=10")).body);
  expect(hasMore).toBe(false);
  expect(entries.map(({ action, account }) => [action, account?.name ?? null])).toEqual([
    ["sign_in_refused", null],
    ["signed_out", "owner"],
    ["browser_revoked", "owner"],
    ["signed_in", "owner"],
    ["signed_in", "owner"],
    ["token_revoked", "owner"],
    ["token_created", "owner"],
  ]);
  expect(entries.every(({ address }) => address === "127.0.0.1")).toBe(true);
  expect(entries[2]).toMatchObject({ subject: browserSessionId, details: { userAgent: "A phone" } });
  expect(entries[5]).toMatchObject({ subject: tokenId, details: { name: "laptop" } });
  expect(entries[6]).toMatchObject({ subject: tokenId, details: { name: "laptop", scopes: ["coding:read"] } });
  const text = JSON.stringify(entries);
  for (const secret of [token, phone.key, phone.cookie.split("=")[1] ?? "?", "wrong-secret-link"]) {
    expect(text).not.toContain(secret);
  }
  const second = await call("GET", `/api/audit?limit=2&before=${entries[1]?.auditId ?? ""}`);
  expect(auditPageSchema.parse(second.body)).toEqual({ entries: entries.slice(2, 4), hasMore: true });
});

test("clients are added, listed and removed, also one whose id is an address", async () => {
  const { call } = await setUp();
  const added = await call("POST", "/api/oauth/clients", {
    name: "app",
    redirectUris: ["app:/cb"],
    confidential: true,
  });
  expect(added.status).toBe(201);
  const { clientId, clientSecret } = addedClientSchema.parse(added.body);
  const listed = await call("GET", "/api/oauth/clients");
  expect(listed).toMatchObject({ status: 200, body: { clients: [{ clientId, confidential: true }] } });
  expect(JSON.stringify(listed.body)).not.toContain(clientSecret);
  const path = `/api/oauth/clients/${encodeURIComponent(clientId)}`;
  expect(await call("DELETE", path)).toMatchObject({ status: 204 });
  expect(await call("DELETE", path)).toMatchObject({ status: 404, body: { code: "client_not_found" } });
  for (const wrong of [{}, { name: "x", redirectUris: ["nowhere"] }, { name: "x", more: 1 }]) {
    expect(await call("POST", "/api/oauth/clients", wrong), JSON.stringify(wrong)).toMatchObject({ status: 400 });
  }
  const audit = await call("GET", "/api/audit?kind=client");
  expect(auditPageSchema.parse(audit.body).entries).toMatchObject([
    { action: "client_removed", subject: clientId, details: { name: "app" } },
    { action: "client_added", subject: clientId, details: { name: "app", redirectUris: ["app:/cb"] } },
  ]);
  expect(JSON.stringify(audit.body)).not.toContain(clientSecret);
});

test("only the owner sees the accounts and the audit log: another account's browser is refused", async () => {
  const server = await setUp();
  const { accountId } = await server.accounts.directory.add({ name: "anna", scopes: ["coding:read", "coding:drive"] });
  const browser = await signInBrowser(server, { accountId });
  for (const [method, path] of [
    ["GET", "/api/accounts"],
    ["DELETE", `/api/accounts/${accountId}`],
    ["POST", `/api/accounts/${accountId}/sign-in-links`],
    ["GET", "/api/audit"],
    ["GET", "/api/oauth/clients"],
    ["DELETE", "/api/oauth/clients/1"],
    ["GET", "/api/tokens"],
    ["POST", "/api/sign-in-links"],
  ] as const) {
    expect((await browser.send(method, path)).status, `${method} ${path}`).toBe(403);
  }
  expect((await browser.send("GET", "/api/browser-sessions")).status).toBe(200);
});

test("apps are the caller's own, for its browser or its admin token", async () => {
  const { oauth, ...server } = await setUp();
  const { accountId } = await server.accounts.directory.add({ name: "anna", scopes: ["coding:read"] });
  const browser = await signInBrowser(server, { accountId });
  expect(JSON.parse((await browser.send("GET", "/api/oauth/apps")).body)).toMatchObject({
    apps: [{ name: accountId }],
  });
  expect((await browser.send("DELETE", "/api/oauth/apps/a2")).status).toBe(404);
  expect((await browser.send("DELETE", "/api/oauth/apps/a1")).status).toBe(204);
  expect(oauth.disconnected).toEqual([
    { accountId, scopes: new Set(["coding:read"]), from: { address: "127.0.0.1", userAgent: null } },
  ]);
});

test("none of these routes answers a token without the scope admin, or an unauthenticated caller", async () => {
  const { callAs, signedIn, apps, accounts } = await setUp();
  const scopes = ["coding:read", "coding:write", "coding:drive", "logs:read", "logs:write"] as const;
  const { accountId } = await accounts.owner();
  const app = { authorization: `Bearer ${apps.issue({ accountId, scopes }).token}` };
  const limited = await signedIn(...scopes);
  for (const [method, path, body] of [
    ["GET", "/api/accounts", undefined],
    ["POST", "/api/accounts", { name: "x", scopes: ["coding:read"] }],
    ["POST", `/api/accounts/${accountId}/sign-in-links`, undefined],
    ["DELETE", "/api/accounts/1", undefined],
    ["GET", "/api/audit", undefined],
    ["GET", "/api/oauth/clients", undefined],
    ["POST", "/api/oauth/clients", { name: "x" }],
    ["DELETE", "/api/oauth/clients/1", undefined],
    ["GET", "/api/oauth/apps", undefined],
    ["DELETE", "/api/oauth/apps/a1", undefined],
  ] as const) {
    for (const headers of [limited, app]) {
      expect((await callAs(headers)(method, path, body)).status, `${method} ${path}`).toBe(403);
    }
    expect((await callAs({})(method, path, body)).status, `${method} ${path}`).toBe(401);
  }
});
