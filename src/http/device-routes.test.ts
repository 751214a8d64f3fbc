import { expect, test } from "vitest";
import { startHttpServer } from "../../test/support/http-server.ts";
import { type RawAnswer, rawRequest } from "../../test/support/raw-http.ts";
import { scriptedUserCode, scriptOAuth } from "../../test/support/scripted-oauth.ts";
import { signInBrowser } from "../../test/support/signed-in-browser.ts";
import { decisionKeyField, scopeField, tickedScopesField } from "../wire/oauth.ts";
import { decisionRoutes } from "./decision-routes.ts";
import { signInRoutes } from "./sign-in-routes.ts";

async function openScene(changes: Parameters<typeof scriptOAuth>[0] = {}) {
  const scripted = scriptOAuth(changes);
  const server = await startHttpServer(({ accounts }) => [
    signInRoutes({ accounts, gateway: () => ({ id: "g", version: "0", baseUrl: "http://localhost" }) }),
    decisionRoutes({ oauth: scripted.oauth, accounts, auth: "on" }),
  ]);
  const browser = await signInBrowser(server);
  const send = (head: readonly string[], body = ""): Promise<RawAnswer> =>
    rawRequest({ host: "127.0.0.1", port: server.port }, [...head, `Host: 127.0.0.1:${server.port}`], body);
  const ofPage = ["Accept: text/html", `Cookie: ${browser.cookie}`];
  return {
    ...scripted,
    server,
    get: (query = "", headers: readonly string[] = ofPage) => send([`GET /oauth/device${query} HTTP/1.1`, ...headers]),
    post: (
      form: Readonly<Record<string, string>>,
      headers: readonly string[] = [...ofPage, `Origin: ${server.url}`],
      key = browser.key,
    ) =>
      send(
        ["POST /oauth/device HTTP/1.1", "Content-Type: application/x-www-form-urlencoded", ...headers],
        new URLSearchParams({ ...form, ...(key !== "" && { [decisionKeyField]: key }) }).toString(),
      ),
  };
}

test("the page asks for the code, and shows its request however the code was typed", async () => {
  const { get } = await openScene();
  const empty = await get();
  expect(empty.status).toBe(200);
  expect(empty.body).toContain('name="user_code"');
  expect(empty.headers["content-security-policy"]).toContain("frame-ancestors 'none'");
  for (const typed of ["BCDF-GHJK", "bcdfghjk", "%20bcdf%20ghjk", "b-c-d-f-g-h-j-k"]) {
    const { status, body } = await get(`?user_code=${typed}`);
    expect(status).toBe(200);
    expect(body).toContain("Does the device show this code?");
    expect(body).toContain("BCDF-GHJK");
    expect(body).toContain("Nightly bot");
  }
});

test("a wrong code shows an error and the form again; other input is shown harmlessly", async () => {
  const { get, post } = await openScene();
  for (const typed of ["AAAA-AAAA", `"><script>alert(1)</script>`, "x".repeat(2_000)]) {
    const { status, body } = await get(`?user_code=${encodeURIComponent(typed)}`);
    expect(status).toBe(400);
    expect(body).toContain("No such code");
    expect(body).toContain('aria-invalid="true"');
    expect(body).not.toContain("<script>");
  }
  const posted = await post({ user_code: "AAAA-AAAA", action: "allow" });
  expect(posted.status).toBe(400);
  expect(posted.body).toContain("No such code");
});

test("the device gets the selected scopes or a denial, and the page confirms it", async () => {
  const { post, devices } = await openScene();
  const boxes = { [tickedScopesField]: "ticked" };
  const form = { user_code: "bcdf-ghjk", action: "allow", ...boxes };
  expect((await post(form)).status, "nothing ticked").toBe(400);
  expect(devices).toEqual([]);
  const allowed = await post({ ...form, [scopeField("coding:read")]: "on" });
  expect(allowed.status).toBe(200);
  expect(allowed.body).toContain("The device is connected");
  const denied = await post({ ...form, action: "deny" });
  expect(denied.body).toContain("The device was denied");
  expect(devices).toMatchObject([
    { userCode: scriptedUserCode, action: "allow", scopes: ["coding:read"] },
    { userCode: scriptedUserCode, action: "deny" },
  ]);
  expect((await post({ ...form, action: "maybe" })).status).toBe(400);
});

test("the sign-in, key and Origin are required as by the decision route", async () => {
  const { get, post, server, devices } = await openScene();
  const form = { user_code: scriptedUserCode, action: "allow" };
  const stranger = await get(`?user_code=${scriptedUserCode}`, ["Accept: text/html"]);
  expect(stranger.headers["location"]).toBe(
    `/sign-in?to=${encodeURIComponent(`/oauth/device?user_code=${scriptedUserCode}`)}`,
  );
  expect((await post(form, ["Accept: text/html", `Origin: ${server.url}`])).headers["location"]).toMatch(
    /^\/sign-in\?/,
  );
  expect((await post(form, ["Accept: */*", `Origin: ${server.url}`])).status).toBe(401);
  const signedIn = await signInBrowser(server);
  const cookie = `Cookie: ${signedIn.cookie}`;
  expect((await post(form, [cookie])).status, "no Origin").toBe(403);
  expect((await post(form, [cookie, "Origin: https://evil.example"])).status).toBe(403);
  expect((await post(form, [cookie, `Origin: ${server.url}`], "")).status, "no key").toBe(403);
  expect(devices).toEqual([]);
});

test("a program with an admin token decides; by default it grants the requested scopes except coding:drive", async () => {
  // Everything is preselected, as for a client that the owner added.
  const scopes = (["coding:read", "coding:write", "coding:drive"] as const).map((scope) => ({ scope, ticked: true }));
  const { post, server, devices } = await openScene({ scopes });
  const bearer = async (...scopes: readonly ["admin" | "coding:read"]) =>
    Object.entries(await server.signedIn(...scopes)).map(([name, value]) => `${name}: ${value}`);
  const form = { user_code: scriptedUserCode, action: "allow" };
  expect((await post(form, await bearer("coding:read"), "")).status).toBe(403);
  expect((await post(form, await bearer("admin"), "")).status).toBe(204);
  for (const scope of ["coding:drive nonsense", "coding:read admin"]) {
    const answer = await post({ ...form, scope }, await bearer("admin"), "");
    expect([answer.status, JSON.parse(answer.body)]).toMatchObject([400, { code: "invalid_request" }]);
  }
  expect((await post({ ...form, scope: "coding:drive" }, await bearer("admin"), "")).status).toBe(204);
  const unknown = await post({ ...form, user_code: "AAAA" }, await bearer("admin"), "");
  expect(unknown.status).toBe(400);
  expect(JSON.parse(unknown.body)).toMatchObject({ code: "invalid_request" });
  expect(devices.map(({ scopes }) => scopes)).toEqual([["coding:read", "coding:write"], ["coding:drive"]]);
});

test("looking at codes is not counted, so no page can use up the owner's attempts", async () => {
  const { get, post } = await openScene();
  for (let at = 0; at < 40; at += 1) expect((await get("?user_code=AAAA-AAAA")).status).toBe(400);
  expect((await post({ user_code: scriptedUserCode, action: "deny" })).status).toBe(200);
  for (let at = 0; at < 10; at += 1) expect((await post({ user_code: "AAAA", action: "allow" })).status).toBe(400);
  expect((await post({ user_code: "AAAA", action: "allow" })).status).toBe(429);
});

test("a wrong key shows a link to sign in and return", async () => {
  const { post } = await openScene();
  const { status, body } = await post({ user_code: scriptedUserCode, action: "allow" }, undefined, "k".repeat(43));
  expect(status).toBe(403);
  expect(body).toContain(`href="/sign-in?to=${encodeURIComponent(`/oauth/device?user_code=${scriptedUserCode}`)}"`);
});
