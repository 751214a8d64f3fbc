import { describe, expect, test } from "vitest";
import {
  allow,
  expectMistakePage,
  openScene,
  ownerToken,
  request,
  withKey,
} from "../../test/support/decision-scene.ts";
import { rawRequest } from "../../test/support/raw-http.ts";
import { scriptedRedirect, scriptedUserCode } from "../../test/support/scripted-oauth.ts";
import { signInBrowser } from "../../test/support/signed-in-browser.ts";
import { isGraveScope, scopes } from "../wire/access.ts";
import { decisionKeyField, scopeField, tickedScopesField } from "../wire/oauth.ts";

describe("the decision route, signed in with a browser on http", () => {
  test("allow redirects with the server's result, as an uncached 303", async () => {
    const scene = await openScene();
    const answer = await scene.post(withKey(scene));
    expect(answer.status).toBe(303);
    const location = new URL(answer.headers["location"] ?? "");
    expect(location.origin + location.pathname).toBe(scriptedRedirect);
    expect(Object.fromEntries(location.searchParams)).toEqual({
      code: "the-code",
      state: "the state & more",
      iss: "http://gateway",
    });
    expect(answer.headers).toMatchObject({ "cache-control": "no-store", "referrer-policy": "same-origin" });
    expect(answer.body).toBe("");
    const { accountId } = await scene.server.accounts.owner();
    expect(scene.seen).toMatchObject([{ form: allow, decider: { accountId, from: { address: "127.0.0.1" } } }]);
    expect(Object.keys(scene.seen[0]?.form ?? {}), "the key goes no further").not.toContain(decisionKeyField);
  });

  test("the key can be sent in the header instead", async () => {
    const scene = await openScene();
    expect((await scene.post(allow, { more: [`X-Postern-Key: ${scene.browser.key}`] })).status).toBe(303);
  });

  test.each([
    ["deny", "access_denied"],
    ["approve", "invalid_request"],
    [undefined, "invalid_request"],
  ])("action %s leads to the redirect with %s", async (action, error) => {
    const scene = await openScene();
    const answer = await scene.post(withKey(scene, { ...request, ...(action !== undefined && { action }) }));
    expect(answer.status).toBe(303);
    expect(new URL(answer.headers["location"] ?? "").searchParams.get("error")).toBe(error);
  });

  test.each([
    ["an unknown client", { client_id: "another" }],
    ["a redirect that is not registered", { redirect_uri: "https://evil.example/" }],
  ])("%s shows a page without a redirect, also on deny", async (_what, wrong) => {
    const scene = await openScene();
    for (const action of ["allow", "deny", "else"]) {
      expectMistakePage(await scene.post(withKey(scene, { ...request, ...wrong, action })), 400);
    }
  });

  test("a repeated field shows a page and decides nothing; unknown fields are ignored; resource can repeat", async () => {
    const scene = await openScene();
    const body = new URLSearchParams(withKey(scene)).toString();
    for (const again of ["action=deny", "client_id=app", "state=2", `${decisionKeyField}=x`, "scope=admin"]) {
      expectMistakePage(await scene.post(`${body}&${again}`), 400);
    }
    expect(scene.seen).toEqual([]);
    const more = "else=1&else=2&__proto__=1&resource=https://a.example&resource=https://b.example";
    expect((await scene.post(`${body}&${more}`)).status).toBe(303);
    expect(Object.keys(scene.seen[0]?.form ?? {}).toSorted()).toEqual([...Object.keys(allow), "resource"].toSorted());
  });

  test.each([
    ["application/json", JSON.stringify(allow)],
    ["text/plain", new URLSearchParams(allow).toString()],
    ["multipart/form-data; boundary=x", "--x--"],
  ])("%s is not a form: 415", async (contentType, body) => {
    const scene = await openScene();
    expect((await scene.post(body, { contentType })).status).toBe(415);
    expect(scene.seen).toEqual([]);
  });

  test("a form over the size limit is 413", async () => {
    const scene = await openScene();
    expect((await scene.post(withKey(scene, { ...allow, state: "x".repeat(40_000) }))).status).toBe(413);
  });

  test("not signed in: 401, and a browser is redirected to the sign-in and back to the request", async () => {
    const scene = await openScene();
    for (const cookie of [null, `${scene.browser.cookie.split("=", 1)[0] ?? ""}=${"x".repeat(43)}`]) {
      const told = await scene.post(withKey(scene), { cookie, accept: "application/json" });
      expect(told.status).toBe(401);
      expect(told.headers["www-authenticate"]).toMatch(/^Bearer /);
      const led = await scene.post(withKey(scene), { cookie });
      expect(led.status).toBe(303);
      const to = new URL(led.headers["location"] ?? "", scene.origin);
      expect(to.pathname).toBe("/sign-in");
      const back = new URL(to.searchParams.get("to") ?? "", scene.origin);
      expect(back.pathname).toBe("/oauth/authorize");
      expect(Object.fromEntries(back.searchParams)).toEqual(request);
    }
    expect(scene.seen).toEqual([]);
  });

  test.each([
    ["no Origin", null],
    ["the origin null", "null"],
    ["another origin", "https://evil.example"],
    ["another port of this host", "http://127.0.0.1:1"],
    ["the same host on https", "https"],
  ])("%s is refused, with cookie and key: 403", async (_what, origin) => {
    const scene = await openScene();
    const sent = origin === "https" ? scene.origin.replace("http", "https") : origin;
    expect((await scene.post(withKey(scene), { origin: sent })).status).toBe(403);
    expect(scene.seen).toEqual([]);
  });

  test("a request that the browser marks as cross-site is refused, whatever its Origin", async () => {
    const scene = await openScene();
    expect((await scene.post(withKey(scene), { more: ["Sec-Fetch-Site: cross-site"] })).status).toBe(403);
    expect(scene.seen).toEqual([]);
  });

  test("the right cookie without the key, or with another key, is refused: 403", async () => {
    const scene = await openScene();
    expect((await scene.post(allow)).status).toBe(403);
    const another = await signInBrowser(scene.server);
    for (const key of ["x", "k".repeat(43), another.key]) {
      const { status, body } = await scene.post({ ...allow, [decisionKeyField]: key });
      expect(status).toBe(403);
      const back = `/oauth/authorize?${new URLSearchParams(request).toString()}`;
      expect(body, "the way to sign in and back").toContain(`href="/sign-in?to=${encodeURIComponent(back)}"`);
    }
    expect(scene.seen).toEqual([]);
  });

  test("a signed-out browser cannot decide", async () => {
    const scene = await openScene();
    const { accountId } = await scene.server.accounts.owner();
    const [session] = await scene.server.accounts.browsers.list(accountId);
    await scene.server.accounts.browsers.revoke(accountId, session?.browserSessionId ?? "");
    expect((await scene.post(withKey(scene), { accept: "*/*" })).status).toBe(401);
  });

  test("only the selected scopes are granted; without a selection the page asks again", async () => {
    const scene = await openScene();
    const boxes = { [tickedScopesField]: "ticked" };
    const one = { ...boxes, [scopeField("coding:read")]: "on" };
    expect((await scene.post(withKey(scene, { ...allow, ...one }))).status).toBe(303);
    expect(scene.seen[0]?.form).toMatchObject({ scope: "coding:read" });
    const none = await scene.post(withKey(scene, { ...allow, ...boxes }));
    expectMistakePage(none, 400);
    expect(none.body).toContain("Select at least one");
    expect(none.body, "nothing is selected again").not.toMatch(/<input[^>]* checked/);
    expect(scene.seen).toHaveLength(1);
    expect((await scene.post(withKey(scene, { ...request, ...boxes, action: "deny" }))).status).toBe(303);
  });
});

describe("the decision route on https", () => {
  const https = { baseUrl: "https://agents.example.org" };

  test("accepts the cookie with our own Origin and without a key, so without JavaScript; but then grants no scope that runs programs", async () => {
    const scene = await openScene(https);
    expect(scene.browser.cookie).toMatch(/^__Host-/);
    expect((await scene.post(allow)).status).toBe(303);
    for (const origin of [null, "null", "https://evil.example", "http://agents.example.org"]) {
      expect((await scene.post(allow, { origin })).status).toBe(403);
    }
    expect((await scene.post({ ...allow, [decisionKeyField]: "k".repeat(43) })).status, "a wrong key").toBe(403);
    expect(scene.seen).toHaveLength(1);
    expect(scene.seen[0]?.decider.scopes).toEqual(new Set(scopes.filter((scope) => !isGraveScope(scope))));
    expect((await scene.post(withKey(scene))).status).toBe(303);
    expect(scene.seen[1]?.decider.scopes).toEqual(new Set(scopes));
  });

  test("does not grant a device coding:drive with the cookie alone", async () => {
    const scene = await openScene(https);
    const form = { user_code: scriptedUserCode, action: "allow", scope: "coding:drive" };
    for (const sent of [form, withKey(scene, form)]) await scene.post(sent, {}, "/oauth/device");
    expect(scene.deviceDeciders.map(({ scopes: held }) => held.has("coding:drive"))).toEqual([false, true]);
  });

  test("accepts only a cookie that is bound to the host", async () => {
    const scene = await openScene(https);
    const cookie = scene.browser.cookie.replace("__Host-", "");
    expect((await scene.post(allow, { cookie, accept: "*/*" })).status).toBe(401);
  });

  test("its page needs no script", async () => {
    const scene = await openScene(https);
    const { body } = await scene.get(`/oauth/authorize?${new URLSearchParams(request).toString()}`);
    expect(body).toContain('data-needs-key="false"');
    expect(body).not.toMatch(/<button[^>]* disabled/);
    expect(body.match(/<noscript>/g), "one, for what drives").toHaveLength(1);
    expect(body).toMatch(/<noscript>.*“.+” cannot be allowed without JavaScript\./);
  });
});

describe("the decision route with a bearer", () => {
  const program = { cookie: null, origin: null, accept: null };

  test("a personal token with admin decides without Origin, cookie and key; it grants at most its own scopes", async () => {
    const scene = await openScene();
    const authorization = await ownerToken(scene, ["admin", "coding:read"]);
    const answer = await scene.post(allow, { ...program, authorization });
    expect(answer.status).toBe(303);
    expect(new URL(answer.headers["location"] ?? "").searchParams.get("code")).toBe("the-code");
    expect(scene.seen[0]?.decider.scopes).toEqual(new Set(["admin", "coding:read"]));
  });

  test("a personal token without admin is refused: 403 with the reason", async () => {
    const scene = await openScene();
    const authorization = await ownerToken(scene, ["coding:read", "coding:write", "coding:drive"]);
    const answer = await scene.post(allow, { ...program, authorization });
    expect(answer.status).toBe(403);
    expect(answer.headers["www-authenticate"]).toContain("insufficient_scope");
    expect(JSON.parse(answer.body)).toMatchObject({ code: "insufficient_scope" });
    expect(scene.seen).toEqual([]);
  });

  test.each(["app", "jwt"] as const)("the token of an %s is refused, whatever its scopes", async (kind) => {
    const scene = await openScene({}, {}, (accounts) => ({
      ...accounts,
      authenticate: async (shown) => ({ ...(await accounts.authenticate({ kind: "socket" })), ...shown, kind }),
    }));
    const answer = await scene.post(allow, { ...program, authorization: "Bearer of-an-app" });
    expect(answer.status).toBe(403);
    expect(scene.seen).toEqual([]);
  });

  test("an unknown token is 401, even with a valid cookie", async () => {
    const scene = await openScene();
    const answer = await scene.post(withKey(scene), { authorization: `Bearer pst_${"x".repeat(43)}` });
    expect(answer.status).toBe(401);
    expect(answer.headers["www-authenticate"]).toContain('error="invalid_token"');
    expect(scene.seen).toEqual([]);
  });

  test("a page of another origin is refused, even with a token", async () => {
    const scene = await openScene();
    const authorization = await ownerToken(scene, ["admin"]);
    const answer = await scene.post(allow, { ...program, authorization, origin: "https://evil.example" });
    expect(answer.status).toBe(403);
  });

  test("the owner's Unix socket decides", async () => {
    const scene = await openScene();
    const answer = await rawRequest(
      { path: scene.server.socketPath },
      ["POST /oauth/authorize HTTP/1.1", "Host: postern", "Content-Type: application/x-www-form-urlencoded"],
      new URLSearchParams(allow).toString(),
    );
    expect(answer.status).toBe(303);
  });
});

test("without authentication, only a page of the gateway can decide", async () => {
  const scene = await openScene({ auth: "none" });
  expect((await scene.get(`/oauth/authorize?${new URLSearchParams(request).toString()}`, [])).status).toBe(200);
  expect((await scene.post(allow, { cookie: null })).status).toBe(303);
  for (const origin of [null, "null", "http://127.0.0.1:1"]) {
    expect((await scene.post(allow, { cookie: null, origin })).status).toBe(403);
  }
});
