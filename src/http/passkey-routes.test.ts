import { expect, test } from "vitest";
import { z } from "zod";
import { createAuthenticator } from "../../test/support/authenticator.ts";
import { startHttpServer } from "../../test/support/http-server.ts";
import { type RawAnswer, rawRequest } from "../../test/support/raw-http.ts";
import { signInBrowser } from "../../test/support/signed-in-browser.ts";
import { auditPageSchema, passkeyCeremonySchema, passkeySchema } from "../wire/accounts.ts";
import { signedInSchema } from "../wire/sign-in.ts";
import { auditRoutes, type HttpConfig, passkeyRoutes, signInRoutes } from "./index.ts";

const listSchema = z.object({ passkeys: z.array(passkeySchema) });

async function setUp(config: Partial<HttpConfig> = {}) {
  const place = { baseUrl: "" };
  const server = await startHttpServer(
    ({ accounts }) => [
      signInRoutes({ accounts, gateway: () => ({ id: "g", version: "1", baseUrl: place.baseUrl }) }),
      passkeyRoutes({ accounts, baseUrl: () => place.baseUrl }),
      auditRoutes(accounts),
    ],
    config,
  );
  const origin = config.baseUrl ?? `http://localhost:${server.port}`;
  place.baseUrl = origin;
  const browser = await signInBrowser(server, { origin });
  const authenticator = createAuthenticator({ origin });
  /** Sends a request from a page without a sign-in. */
  const asStranger = (
    path: string,
    body?: object,
    { from = origin }: { readonly from?: string } = {},
  ): Promise<RawAnswer> =>
    rawRequest(
      { host: "127.0.0.1", port: server.port },
      [
        `POST ${path} HTTP/1.1`,
        `Host: ${new URL(from).host}`,
        `Origin: ${from}`,
        "User-Agent: A phone",
        ...(body === undefined ? [] : ["Content-Type: application/json"]),
      ],
      body === undefined ? "" : JSON.stringify(body),
    );
  const register = async (visitor = browser) => {
    const ceremony = passkeyCeremonySchema.parse(jsonOf(await visitor.send("POST", "/api/passkeys/registration")));
    const credential = authenticator.create(ceremony);
    return visitor.send("POST", "/api/passkeys", {
      body: { ceremonyId: ceremony.ceremonyId, credential, name: "phone" },
    });
  };
  return { ...server, origin, browser, authenticator, asStranger, register };
}

const jsonOf = ({ body }: RawAnswer): unknown => JSON.parse(body);
const codeOf = ({ body }: RawAnswer) => z.object({ code: z.string() }).parse(JSON.parse(body)).code;

test("a passkey is created in a signed-in browser, and signs in another one with cookie and key", async () => {
  const { browser, authenticator, asStranger, register, port } = await setUp();
  const made = await register();
  expect([made.status, jsonOf(made)]).toEqual([201, expect.objectContaining({ name: "phone", lastUsedAt: null })]);
  const ceremony = passkeyCeremonySchema.parse(jsonOf(await asStranger("/api/sign-in/passkey/options")));
  const answer = { ceremonyId: ceremony.ceremonyId, credential: authenticator.get(ceremony) };
  const signedIn = await asStranger("/api/sign-in/passkey", answer);
  expect(signedIn.status).toBe(200);
  const { key } = signedInSchema.parse(jsonOf(signedIn));
  expect(signedIn.headers["set-cookie"]).toMatch(
    new RegExp(`^postern_session_${port}=[\\w-]{43}; Path=/; .*HttpOnly; SameSite=Strict$`),
  );
  const [cookie = ""] = (signedIn.headers["set-cookie"] ?? "").split(";", 1);
  const me = await browser.send("GET", "/api/me", { cookie, key });
  expect(jsonOf(me)).toMatchObject({ kind: "browser", account: { name: "owner" } });
  expect((await asStranger("/api/sign-in/passkey", answer)).status).toBe(401); // single use

  const { passkeys } = listSchema.parse(jsonOf(await browser.send("GET", "/api/passkeys")));
  expect(passkeys).toMatchObject([{ name: "phone", lastUsedAt: expect.any(String) }]);
  expect((await browser.send("DELETE", `/api/passkeys/${authenticator.credentialId}`)).status).toBe(204);
  expect(codeOf(await browser.send("DELETE", `/api/passkeys/${authenticator.credentialId}`))).toBe("passkey_not_found");
  expect((await browser.send("GET", "/api/me", { cookie, key })).status).toBe(200); // the browser that signed in with the passkey stays signed in

  const audit = await browser.send("GET", "/api/audit?kind=sign_in");
  const { entries } = auditPageSchema.parse(jsonOf(audit));
  expect(entries.map(({ action, details }) => [action, details["by"] ?? details["name"]])).toEqual([
    ["passkey_removed", "phone"],
    ["sign_in_refused", "passkey"],
    ["signed_in", "passkey"],
    ["passkey_added", "phone"],
    ["signed_in", "link"],
  ]);
  expect(entries[2]).toMatchObject({ address: "127.0.0.1", userAgent: "A phone", account: { name: "owner" } });
  for (const secret of [key, cookie.split("=")[1] ?? "?"]) expect(audit.body).not.toContain(secret);
});

test("passkeys work only on the gateway's pages, at its own address", async () => {
  const { browser, asStranger, port, origin } = await setUp();
  for (const path of ["/api/sign-in/passkey/options", "/api/sign-in/passkey"]) {
    const body = path.endsWith("options") ? undefined : { ceremonyId: "x", credential: {} };
    const foreign = await rawRequest(
      { host: "127.0.0.1", port },
      [`POST ${path} HTTP/1.1`, `Host: ${new URL(origin).host}`, "Content-Type: application/json"],
      JSON.stringify(body ?? {}),
    );
    expect([foreign.status, codeOf(foreign)], path).toEqual([403, "origin_not_allowed"]);
  }
  const byNumbers = await asStranger("/api/sign-in/passkey/options", undefined, { from: `http://127.0.0.1:${port}` });
  expect(byNumbers.status).toBe(400);
  expect(byNumbers.body).toContain(`http://localhost:${port}`);
  expect((await browser.send("POST", "/api/passkeys/registration", { origin: null })).status).toBe(403);
});

test("behind a proxy they use the base URL, and the cookie is for https", async () => {
  const { authenticator, asStranger, register } = await setUp({ baseUrl: "https://agents.example.org" });
  expect((await register()).status).toBe(201);
  const ceremony = passkeyCeremonySchema.parse(jsonOf(await asStranger("/api/sign-in/passkey/options")));
  expect(ceremony.options).toMatchObject({ rpId: "agents.example.org" });
  const credential = authenticator.get(ceremony);
  const signedIn = await asStranger("/api/sign-in/passkey", { ceremonyId: ceremony.ceremonyId, credential });
  expect(signedIn.headers["set-cookie"]).toMatch(/^__Host-postern_session=.*; Secure$/);
});

test("an account's passkeys are available to its browsers and admin tokens, not to apps or other tokens", async () => {
  const { accounts, apps, browser, origin, register, url, signedIn, ...server } = await setUp();
  await register();
  const guest = await accounts.directory.add({ name: "guest", scopes: ["coding:read"] });
  const guestBrowser = await signInBrowser({ ...server, accounts }, { origin, accountId: guest.accountId });
  expect(jsonOf(await guestBrowser.send("GET", "/api/passkeys"))).toEqual({ passkeys: [] });
  const { ceremonyId } = passkeyCeremonySchema.parse(
    jsonOf(await guestBrowser.send("POST", "/api/passkeys/registration")),
  );
  const stolen = await browser.send("POST", "/api/passkeys", { body: { ceremonyId, credential: {}, name: "x" } });
  expect(stolen.status).toBe(400);

  const { accountId } = await accounts.owner();
  const { token: app } = apps.issue({ accountId, scopes: ["coding:read", "coding:write"], resource: "all" });
  const limited = await signedIn("coding:read", "coding:write", "coding:drive");
  for (const headers of [{ authorization: `Bearer ${app}` }, limited]) {
    for (const [method, path] of [
      ["GET", "/api/passkeys"],
      ["DELETE", "/api/passkeys/x"],
      ["POST", "/api/passkeys/registration"],
    ] as const) {
      expect((await fetch(`${url}${path}`, { method, headers })).status, `${method} ${path}`).toBe(403);
    }
  }
  const admin = await signedIn("admin");
  expect((await fetch(`${url}/api/passkeys`, { headers: admin })).status).toBe(200);
  const made = await fetch(`${url}/api/passkeys/registration`, { method: "POST", headers: { ...admin, origin: url } });
  expect([made.status, await made.json()]).toEqual([400, expect.objectContaining({ code: "invalid_request" })]);
});

test("a valid passkey signs in, however many invalid responses came from its address", async () => {
  const { accounts, authenticator, asStranger, register } = await setUp();
  await register();
  const wrong = async () => (await asStranger("/api/sign-in/passkey", { ceremonyId: "x", credential: {} })).status;
  for (let at = 0; at < 20; at += 1) expect(await wrong()).toBe(401);
  const noted = await accounts.audit.page({ limit: 200 });
  expect(await wrong()).toBe(429);
  expect(await accounts.audit.page({ limit: 200 }), "nothing more is written down").toEqual(noted);
  const ceremony = passkeyCeremonySchema.parse(jsonOf(await asStranger("/api/sign-in/passkey/options")));
  const credential = authenticator.get(ceremony);
  const { ceremonyId } = ceremony;
  expect((await asStranger("/api/sign-in/passkey", { ceremonyId, credential })).status).toBe(200);
});

test("an invalid passkey response is refused", async () => {
  const { asStranger, browser } = await setUp();
  for (const body of [
    {},
    { ceremonyId: "x" },
    { ceremonyId: "x", credential: 1 },
    { ceremonyId: "x", credential: {}, more: 1 },
  ]) {
    expect((await asStranger("/api/sign-in/passkey", body)).status, JSON.stringify(body)).toBe(400);
  }
  expect((await asStranger("/api/sign-in/passkey", { ceremonyId: "x", credential: {} })).status).toBe(401);
  const unnamed = { ceremonyId: "x", credential: {}, name: "" };
  expect((await browser.send("POST", "/api/passkeys", { body: unnamed })).status).toBe(400);
});
