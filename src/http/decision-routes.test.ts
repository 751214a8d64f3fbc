import { describe, expect, test } from "vitest";
import { startHttpServer, type TestHttpServer } from "../../test/support/http-server.ts";
import { type RawAnswer, rawRequest } from "../../test/support/raw-http.ts";
import { type ScriptedOAuth, scriptedRedirect, scriptOAuth } from "../../test/support/scripted-oauth.ts";
import { type SignedInBrowser, signInBrowser } from "../../test/support/signed-in-browser.ts";
import type { Accounts } from "../accounts/index.ts";
import type { Scope } from "../wire/access.ts";
import { decisionKeyField, scopeField, tickedScopesField } from "../wire/oauth.ts";
import { decisionRoutes } from "./decision-routes.ts";
import type { HttpConfig } from "./server.ts";
import { signInRoutes } from "./sign-in-routes.ts";

const request = {
  client_id: "app",
  redirect_uri: scriptedRedirect,
  scope: "coding:read coding:write",
  state: "the state & more",
  code_challenge: "c".repeat(43),
  code_challenge_method: "S256",
};
const allow = { ...request, action: "allow" };
const page = "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8";

/** Differences to an honest request of a page; null leaves a header out. */
interface Post {
  readonly origin?: string | null;
  readonly cookie?: string | null;
  readonly authorization?: string;
  readonly accept?: string | null;
  readonly contentType?: string;
  readonly more?: readonly string[];
}

interface Scene extends ScriptedOAuth {
  readonly server: TestHttpServer;
  readonly browser: SignedInBrowser;
  readonly origin: string;
  post(form: Readonly<Record<string, string>> | string, post?: Post, path?: string): Promise<RawAnswer>;
  get(path: string, headers?: readonly string[]): Promise<RawAnswer>;
}

async function openScene(
  config: Partial<HttpConfig> = {},
  changes: Parameters<typeof scriptOAuth>[0] = {},
  accountsOf: (accounts: Accounts) => Accounts = (accounts) => accounts,
): Promise<Scene> {
  const scripted = scriptOAuth(changes);
  const server = await startHttpServer(
    ({ accounts }) => [
      signInRoutes({ accounts, gateway: () => ({ id: "g", version: "0", baseUrl: "http://localhost" }) }),
      decisionRoutes({ oauth: scripted.oauth, accounts: accountsOf(accounts), auth: config.auth ?? "on" }),
    ],
    config,
  );
  const origin = config.baseUrl ?? server.url;
  const { host } = new URL(origin);
  const browser = await signInBrowser(server, { origin });
  const lines = (headers: Readonly<Record<string, string | null>>): readonly string[] =>
    Object.entries(headers).flatMap(([name, value]) => (value === null ? [] : [`${name}: ${value}`]));
  return {
    ...scripted,
    server,
    browser,
    origin,
    post: (form, post = {}, path = "/oauth/authorize") =>
      rawRequest(
        { host: "127.0.0.1", port: server.port },
        [
          `POST ${path} HTTP/1.1`,
          ...lines({
            Host: host,
            Origin: post.origin === undefined ? origin : post.origin,
            Cookie: post.cookie === undefined ? browser.cookie : post.cookie,
            Accept: post.accept === undefined ? page : post.accept,
            "Content-Type": post.contentType ?? "application/x-www-form-urlencoded",
            Authorization: post.authorization ?? null,
          }),
          ...(post.more ?? []),
        ],
        typeof form === "string" ? form : new URLSearchParams(form).toString(),
      ),
    get: (path, headers = [`Cookie: ${browser.cookie}`]) =>
      rawRequest({ host: "127.0.0.1", port: server.port }, [
        `GET ${path} HTTP/1.1`,
        `Host: ${host}`,
        `Accept: ${page}`,
        ...headers,
      ]),
  };
}

const withKey = ({ browser }: Scene, form: Readonly<Record<string, string>> = allow): Record<string, string> => ({
  ...form,
  [decisionKeyField]: browser.key,
});

async function ownerToken({ server }: Scene, scopes: readonly Scope[]) {
  const { accountId } = await server.accounts.owner();
  const wanted = { name: "decides", scopes, expiresAt: null, folders: null };
  return `Bearer ${(await server.accounts.tokens.create(accountId, wanted)).token}`;
}

/** A page for people, that leads nowhere. */
function expectMistakePage(answer: RawAnswer, status: number): void {
  expect(answer.status).toBe(status);
  expect(answer.headers["content-type"]).toBe("text/html; charset=utf-8");
  expect(answer.headers).not.toHaveProperty("location");
  expect(answer.body).toContain("<h1>");
}

describe("the decision route, signed in with a browser on http", () => {
  test("allow leads to the redirect with what the server gives, as 303, kept by nobody", async () => {
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

  test("the key may come in the header instead", async () => {
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
  ])("%s is a page and leads nowhere, also on deny", async (_what, wrong) => {
    const scene = await openScene();
    for (const action of ["allow", "deny", "else"]) {
      expectMistakePage(await scene.post(withKey(scene, { ...request, ...wrong, action })), 400);
    }
  });

  test("a field given twice is a page and decides nothing; unknown fields, also twice, are ignored; resource may repeat", async () => {
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
  ])("%s is no form: 415", async (contentType, body) => {
    const scene = await openScene();
    expect((await scene.post(body, { contentType })).status).toBe(415);
    expect(scene.seen).toEqual([]);
  });

  test("a form that is larger than any request is 413", async () => {
    const scene = await openScene();
    expect((await scene.post(withKey(scene, { ...allow, state: "x".repeat(40_000) }))).status).toBe(413);
  });

  test("not signed in: 401, and for a browser to the sign-in and back to the same request", async () => {
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

  test("what the browser itself calls cross-site is refused, whatever its Origin says", async () => {
    const scene = await openScene();
    expect((await scene.post(withKey(scene), { more: ["Sec-Fetch-Site: cross-site"] })).status).toBe(403);
    expect(scene.seen).toEqual([]);
  });

  test("the right cookie without the key, or with another key, is refused: 403", async () => {
    const scene = await openScene();
    expect((await scene.post(allow)).status).toBe(403);
    const another = await signInBrowser(scene.server);
    for (const key of ["x", "k".repeat(43), another.key]) {
      expect((await scene.post({ ...allow, [decisionKeyField]: key })).status).toBe(403);
    }
    expect(scene.seen).toEqual([]);
  });

  test("a signed-out browser decides no more", async () => {
    const scene = await openScene();
    const { accountId } = await scene.server.accounts.owner();
    const [session] = await scene.server.accounts.browsers.list(accountId);
    await scene.server.accounts.browsers.revoke(accountId, session?.browserSessionId ?? "");
    expect((await scene.post(withKey(scene), { accept: "*/*" })).status).toBe(401);
  });

  test("what was ticked is granted, and nothing else; nothing ticked grants nothing and asks again", async () => {
    const scene = await openScene();
    const boxes = { [tickedScopesField]: "ticked" };
    const one = { ...boxes, [scopeField("coding:read")]: "on" };
    expect((await scene.post(withKey(scene, { ...allow, ...one }))).status).toBe(303);
    expect(scene.seen[0]?.form).toMatchObject({ scope: "coding:read" });
    const none = await scene.post(withKey(scene, { ...allow, ...boxes }));
    expectMistakePage(none, 400);
    expect(none.body).toContain("Tick at least one");
    expect(none.body, "nothing is ticked anew").not.toMatch(/<input[^>]* checked/);
    expect(scene.seen).toHaveLength(1);
    expect((await scene.post(withKey(scene, { ...request, ...boxes, action: "deny" }))).status).toBe(303);
  });
});

describe("the decision route on https", () => {
  const https = { baseUrl: "https://agents.example.org" };

  test("takes the cookie with our own Origin, without a key and so without JavaScript", async () => {
    const scene = await openScene(https);
    expect(scene.browser.cookie).toMatch(/^__Host-/);
    expect((await scene.post(allow)).status).toBe(303);
    for (const origin of [null, "null", "https://evil.example", "http://agents.example.org"]) {
      expect((await scene.post(allow, { origin })).status).toBe(403);
    }
    expect((await scene.post({ ...allow, [decisionKeyField]: "k".repeat(43) })).status, "a wrong key").toBe(403);
    expect(scene.seen).toHaveLength(1);
  });

  test("takes no cookie that is not bound to the host", async () => {
    const scene = await openScene(https);
    const cookie = scene.browser.cookie.replace("__Host-", "");
    expect((await scene.post(allow, { cookie, accept: "*/*" })).status).toBe(401);
  });

  test("its page needs no script", async () => {
    const scene = await openScene(https);
    const { body } = await scene.get(`/oauth/authorize?${new URLSearchParams(request).toString()}`);
    expect(body).toContain('data-needs-key="false"');
    expect(body).not.toMatch(/<button[^>]* disabled/);
    expect(body).not.toContain("<noscript>");
  });
});

describe("the decision route with a bearer", () => {
  const program = { cookie: null, origin: null, accept: null };

  test("a personal token with admin decides, without Origin, cookie and key; and gives what it holds at most", async () => {
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

  test.each(["app", "jwt"] as const)("the token of an %s is refused, whatever scopes it says it has", async (kind) => {
    const scene = await openScene({}, {}, (accounts) => ({
      ...accounts,
      authenticate: async (shown) => ({ ...(await accounts.authenticate({ kind: "socket" })), ...shown, kind }),
    }));
    const answer = await scene.post(allow, { ...program, authorization: "Bearer of-an-app" });
    expect(answer.status).toBe(403);
    expect(scene.seen).toEqual([]);
  });

  test("an unknown token is 401, and no cookie helps it", async () => {
    const scene = await openScene();
    const answer = await scene.post(withKey(scene), { authorization: `Bearer pst_${"x".repeat(43)}` });
    expect(answer.status).toBe(401);
    expect(answer.headers["www-authenticate"]).toContain('error="invalid_token"');
    expect(scene.seen).toEqual([]);
  });

  test("a page of another origin is refused with a token too", async () => {
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

describe("the consent page", () => {
  const path = `/oauth/authorize?${new URLSearchParams(request).toString()}`;

  test("says who asks, where the answer goes and for what, in nobody's frame, kept by nobody, and sends its form anywhere", async () => {
    const scene = await openScene();
    const { status, headers, body } = await scene.get(path);
    expect(status).toBe(200);
    expect(body).toContain("Nightly bot");
    expect(body).toContain("app.example");
    expect(body).toContain("its own claim");
    expect(body).toMatch(/name="postern_scope.coding:read" checked/);
    expect(body).toMatch(/name="postern_scope.coding:drive" aria/);
    expect(headers).toMatchObject({ "cache-control": "no-store", "referrer-policy": "same-origin" });
    const policy = headers["content-security-policy"] ?? "";
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).toContain("script-src 'self'");
    expect(policy).not.toMatch(/form-action|unsafe/);
  });

  test("is only for who is signed in: else to the sign-in and back", async () => {
    const scene = await openScene();
    const { status, headers } = await scene.get(path, []);
    expect(status).toBe(303);
    expect(headers["location"]).toBe(`/sign-in?to=${encodeURIComponent(path)}`);
  });

  test("another site's link, which leaves the strict cookie behind, is passed on by a page of our own", async () => {
    const scene = await openScene();
    const { status, headers, body } = await scene.get(path, ["Sec-Fetch-Site: cross-site"]);
    expect(status).toBe(200);
    expect(headers).not.toHaveProperty("location");
    expect(body).toContain(`content="0;url=${path.replaceAll("&", "&amp;")}"`);
    expect(body).not.toContain("<form");
  });

  test("a mistake that the client can be told leads to the client; another is a page", async () => {
    const scene = await openScene();
    const told = await scene.get(path.replace("coding%3Aread+coding%3Awrite", "everything"));
    expect(told.status).toBe(303);
    expect(told.headers["location"]).toBe(`${scriptedRedirect}?error=invalid_scope`);
    expectMistakePage(await scene.get(path.replace("client_id=app", "client_id=another")), 400);
    expectMistakePage(await scene.get(`${path}&client_id=app`), 400);
  });

  test("a client that describes itself is known by its host; one of this computer comes with a warning", async () => {
    const client = { clientId: "https://maker.example/app.json", name: "Editor", origin: "document" } as const;
    for (const destination of ["127.0.0.1:4711", "[::1]:80", "localhost", "com.example.editor:"]) {
      const scene = await openScene({}, { client, destination });
      const { body } = await scene.get(path);
      expect(body).toContain("maker.example");
      expect(body).toContain("a program on this computer");
    }
    const scene = await openScene({}, { client, destination: "localhost.evil.example" });
    expect((await scene.get(path)).body).not.toContain("a program on this computer");
  });

  test.each([
    ["markup", `"><script>alert(1)</script><img src=x onerror='alert(2)'>`],
    ["a turned direction", "Postern\u202e gnp.exe\u2066 \u200f"],
    ["ten thousand letters", "a".repeat(10_240)],
    ["nothing", "\u200b\u3164 \u202e"],
    ["an alphabet that looks alike", "Pоstеrn"],
  ])("a name of %s is shown harmlessly", async (_what, name) => {
    const scene = await openScene({}, { client: { clientId: "app", name, origin: "registered" } });
    const { body } = await scene.get(path);
    expect(body).not.toMatch(/<script>|<img/);
    expect(body).not.toMatch(/[\u202a-\u202e\u2066-\u2069\u200b\u200f]/);
    expect(body).not.toContain("a".repeat(61));
    if (name === "Pоstеrn") expect(body).toContain("different alphabets");
    if (name.startsWith("\u200b")) expect(body).toContain("an app without a name");
  });

  test("an account that holds nothing of what is asked for can only deny", async () => {
    const scene = await openScene({}, { scopes: [] });
    const { body } = await scene.get(path);
    expect(body).toContain("nothing that you can allow");
    expect(body).toContain('value="deny"');
    expect(body).not.toContain('value="allow"');
  });

  test("what a request holds comes back escaped and whole", async () => {
    const scene = await openScene();
    const state = `'"><script>&amp;\u{1f600}`;
    const { body } = await scene.get(`/oauth/authorize?${new URLSearchParams({ ...request, state }).toString()}`);
    expect(body).toContain(`value="&#39;&quot;&gt;&lt;script&gt;&amp;amp;\u{1f600}"`);
  });
});

test("where nobody signs in, a page of the gateway decides, and no other", async () => {
  const scene = await openScene({ auth: "none" });
  expect((await scene.get(`/oauth/authorize?${new URLSearchParams(request).toString()}`, [])).status).toBe(200);
  expect((await scene.post(allow, { cookie: null })).status).toBe(303);
  for (const origin of [null, "null", "http://127.0.0.1:1"]) {
    expect((await scene.post(allow, { cookie: null, origin })).status).toBe(403);
  }
});

test("error_uri leads to words about the error, for everybody", async () => {
  const scene = await openScene();
  const { status, body } = await scene.get("/docs/oauth-errors", []);
  expect(status).toBe(200);
  for (const error of ["access_denied", "invalid_request", "invalid_scope"]) expect(body).toContain(`id="${error}"`);
});
