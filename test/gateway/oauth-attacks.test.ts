import { beforeAll, describe, expect, test } from "vitest";
import { oauthPaths } from "../../src/wire/oauth.ts";
import {
  createOAuthPeer,
  decidingToken,
  manyAddresses,
  newChallenge,
  type OAuthPeer,
  type TestClient,
} from "../support/oauth-client.ts";
import { useGateway } from "../support/use-gateway.ts";

// RFC 9700, attack by attack: those on the request. On codes and tokens: oauth-token-attacks. The consent page's own, in Chromium: src/http and test/web.

const used = useGateway({ agents: false, config: manyAddresses });
let peer: OAuthPeer;
let honest: TestClient;
beforeAll(async () => {
  peer = createOAuthPeer(used.gateway.app.baseUrl, await decidingToken(used.gateway));
  honest = await peer.newClient();
});

const invalidGrant = { status: 400, body: { error: "invalid_grant" } };

describe("RFC 9700 section 4.1 and 4.11.2: the browser is sent nowhere but to a registered redirect", () => {
  const registered = "https://app.example/cb/in?fixed=1";
  const tricks: readonly (readonly [string, string])[] = [
    ["another host", "https://evil.example/cb/in?fixed=1"],
    ["a host with the same prefix", "https://app.example.evil.example/cb/in?fixed=1"],
    ["userinfo before another host", "https://app.example@evil.example/cb/in?fixed=1"],
    ["userinfo before its own host", "https://evil.example@app.example/cb/in?fixed=1"],
    ["a backslash", "https://evil.example\\@app.example/cb/in?fixed=1"],
    ["another path", "https://app.example/cb/out?fixed=1"],
    ["a path through dots", "https://app.example/cb/x/../in?fixed=1"],
    ["a path in another case", "https://app.example/CB/in?fixed=1"],
    ["an encoded slash", "https://app.example/cb%2Fin?fixed=1"],
    ["another query", "https://app.example/cb/in?fixed=1&more=1"],
    ["no query", "https://app.example/cb/in"],
    ["a fragment", "https://app.example/cb/in?fixed=1#here"],
    ["another port", "https://app.example:8443/cb/in?fixed=1"],
    ["another scheme", "http://app.example/cb/in?fixed=1"],
    ["a script", "javascript:alert(1)//https://app.example/cb/in?fixed=1"],
    ["data", "data:text/html,https://app.example/cb/in?fixed=1"],
    ["no scheme", "//app.example/cb/in?fixed=1"],
    ["a line break", "https://app.example/cb/in?fixed=1\r\nset-cookie: a=b"],
  ];
  let client: TestClient;
  beforeAll(async () => {
    client = await peer.newClient({ redirectUri: registered });
  });

  test("the registered one itself is taken, with its query", async () => {
    const { status, location } = await peer.decide(client, newChallenge());
    expect([status, location?.origin, location?.pathname]).toEqual([303, "https://app.example", "/cb/in"]);
    expect(location?.searchParams.get("fixed")).toBe("1");
  });

  test.for(["allow", "deny", "neither"].flatMap((action) => tricks.map((trick) => [action, ...trick] as const)))(
    "on %s: %s",
    async ([action, , redirect_uri]) => {
      const { status, location } = await peer.decide(client, newChallenge(), { action, redirect_uri });
      expect({ status, location }).toEqual({ status: 400, location: null });
    },
  );

  test.for(["allow", "deny"])("on %s: a client that is not known", async (action) => {
    const { status, location } = await peer.decide({ ...client, clientId: "nobody" }, newChallenge(), { action });
    expect({ status, location }).toEqual({ status: 400, location: null });
  });

  test.for(["http://127.0.0.1:4711/callback", "http://127.0.0.1:4712/callback"])(
    "a loopback redirect may have any port (RFC 8252 section 7.3): %s",
    async (redirect_uri) => {
      const { location } = await peer.decide(honest, newChallenge(), { redirect_uri });
      expect(`${location?.origin}${location?.pathname}`).toBe(redirect_uri);
    },
  );

  test.for([
    "http://127.0.0.2/callback",
    "http://127.0.0.1:4711/elsewhere",
    "https://127.0.0.1:4711/callback",
    "http://127.0.0.1:4711@evil.example/callback",
    "http://127.0.0.1.evil.example/callback",
  ])("but nothing else may differ: %s", async (redirect_uri) => {
    const { status, location } = await peer.decide(honest, newChallenge(), { redirect_uri });
    expect({ status, location }).toEqual({ status: 400, location: null });
  });

  test.for([
    "http://app.example/cb",
    "javascript:alert(1)",
    "data:text/html,hello",
    "https://user:pass@app.example/cb",
    "https://app.example/cb#fragment",
    "file:///etc/passwd",
    "about:blank",
  ])("none can be registered for a redirect that no honest client has: %s", async (redirectUri) => {
    const { status, body } = await peer.register({ redirect_uris: [redirectUri], token_endpoint_auth_method: "none" });
    expect([status, body["error"]]).toEqual([400, "invalid_redirect_uri"]);
  });
});

describe("RFC 9700 section 4.8: PKCE cannot be left out", () => {
  test.for<readonly [string, Readonly<Record<string, string | null>>]>([
    ["no challenge", { code_challenge: null, code_challenge_method: null }],
    ["a method without a challenge", { code_challenge: null }],
    ["plain, of a public client", { code_challenge_method: "plain" }],
    ["an absent method, which means plain, of a public client", { code_challenge_method: null }],
    ["an unknown method", { code_challenge_method: "S512" }],
    ["an empty challenge", { code_challenge: "" }],
    ["a challenge that is too short", { code_challenge: "short" }],
  ])("downgrade by %s", async ([, fields]) => {
    const { status, location } = await peer.decide(honest, newChallenge(), fields);
    expect(status).toBe(303);
    expect(location?.searchParams.get("error")).toBe("invalid_request");
    expect(location?.searchParams.has("code")).toBe(false);
  });

  test("a verifier for a code without a challenge is refused, so it cannot be injected into a client with PKCE", async () => {
    const client = await peer.newClient({ confidential: true, redirectUri: "https://app.example/cb" });
    const bare = { code_challenge: null, code_challenge_method: null };
    const code = await peer.code(client, newChallenge(), bare);
    const answer = await peer.redeem(client, code, { code_verifier: newChallenge().verifier });
    expect(answer).toMatchObject(invalidGrant);
    const again = await peer.code(client, newChallenge(), bare);
    expect((await peer.redeem(client, again, {})).status).toBe(200);
  });

  test("a plain challenge of a confidential client matches only itself", async () => {
    const client = await peer.newClient({ confidential: true, redirectUri: "https://app.example/cb" });
    const { verifier } = newChallenge();
    for (const code_challenge_method of ["plain", null]) {
      const fields = { code_challenge: verifier, code_challenge_method };
      const code = await peer.code(client, newChallenge(), fields);
      expect(await peer.redeem(client, code, { code_verifier: newChallenge().verifier })).toMatchObject(invalidGrant);
      const good = await peer.code(client, newChallenge(), fields);
      expect((await peer.redeem(client, good, { code_verifier: verifier })).status).toBe(200);
    }
  });
});

describe("RFC 9700 section 4.4: mix-up", () => {
  test.for(["allow", "deny"])("who answered stands in the answer, on %s (RFC 9207)", async (action) => {
    const { location } = await peer.decide(honest, newChallenge(), { action });
    expect(location?.searchParams.getAll("iss")).toEqual([peer.issuer]);
    expect(location?.searchParams.getAll("state")).toEqual(["the-state"]);
  });

  test("the metadata says so", async () => {
    const metadata = await (await fetch(`${peer.issuer}${oauthPaths.metadata}`)).json();
    expect(metadata).toMatchObject({ issuer: peer.issuer, authorization_response_iss_parameter_supported: true });
  });
});

describe("RFC 9700 section 2.1.2 and RFC 9101: no other way to ask", () => {
  test.for(["token", "id_token", "code token", "code id_token", "none"])(
    "response_type %s gives nothing",
    async (response_type) => {
      const { location, status } = await peer.decide(honest, newChallenge(), { response_type });
      const answer = `${location?.search ?? ""}${location?.hash ?? ""}`;
      expect([303, 400]).toContain(status);
      expect(answer).not.toMatch(/access_token|id_token=|code=/);
    },
  );

  test.for(["fragment", "form_post", "web_message", "query.jwt"])("response_mode %s changes nothing", async (mode) => {
    const { status, location } = await peer.decide(honest, newChallenge(), { response_mode: mode });
    expect([status, location?.hash]).toEqual([303, ""]);
  });

  test("request and request_uri are not taken", async () => {
    const request = `${Buffer.from('{"alg":"none"}').toString("base64url")}.${Buffer.from('{"scope":"coding:drive"}').toString("base64url")}.`;
    for (const fields of [{ request }, { request_uri: "https://evil.example/request" }]) {
      const { status, location } = await peer.decide(honest, newChallenge(), fields);
      expect(status).toBe(303);
      const code = location?.searchParams.get("code") ?? null;
      if (code !== null) continue; // as if it was not there, RFC 6749 section 3.1
      expect(location?.searchParams.get("error")).toMatch(/^request(_uri)?_not_supported$|^invalid_request$/);
    }
  });

  test.for(["password", "client_credentials", "implicit", "urn:ietf:params:oauth:grant-type:jwt-bearer"])(
    "grant_type %s gives nothing (RFC 9700 section 2.4)",
    async (grant_type) => {
      const fields = { grant_type, username: "owner", password: "owner", assertion: "a.b.c", scope: "admin" };
      const { status, body } = await peer.post(oauthPaths.token, honest, fields);
      expect(status).toBe(400);
      expect(["unsupported_grant_type", "unauthorized_client"]).toContain(body["error"]);
    },
  );
});

describe("RFC 9700 section 4.12: 307", () => {
  test("an answer to a form is 303, so that no browser sends the form on", async () => {
    for (const fields of [{}, { action: "deny" }, { action: null }, { scope: "nonsense" }, { code_challenge: null }]) {
      expect((await peer.decide(honest, newChallenge(), fields)).status).toBe(303);
    }
  });
});

describe("RFC 9700 section 4.7: CSRF on the decision", () => {
  const form = (): URLSearchParams =>
    new URLSearchParams({
      action: "allow",
      client_id: honest.clientId,
      redirect_uri: honest.redirectUri,
      code_challenge: newChallenge().challenge,
      code_challenge_method: "S256",
    });

  test.for(["https://evil.example", "null", "http://localhost:1"])("a form of %s decides nothing", async (origin) => {
    const response = await fetch(`${peer.issuer}${oauthPaths.authorize}`, {
      method: "POST",
      redirect: "manual",
      headers: { origin },
      body: form(),
    });
    expect([401, 403]).toContain(response.status);
    expect(response.headers.get("location") ?? "").not.toContain("code=");
  });

  test("nor does one without any sign-in", async () => {
    const response = await fetch(`${peer.issuer}${oauthPaths.authorize}`, {
      method: "POST",
      redirect: "manual",
      body: form(),
    });
    expect([response.status, response.headers.get("location")]).toEqual([401, null]);
  });

  test("nor one that the page's address carries: only a form decides", async () => {
    const owner = await decidingToken(used.gateway);
    const response = await fetch(`${peer.issuer}${oauthPaths.authorize}?${form().toString()}`, {
      redirect: "manual",
      headers: { authorization: `Bearer ${owner}` },
    });
    expect(response.headers.get("location") ?? "").not.toContain("code=");
  });

  test("a field given twice is refused (RFC 6749 section 3.1), and what is no form too", async () => {
    const authorization = `Bearer ${await decidingToken(used.gateway)}`;
    const send = async (body: string, type: string): Promise<readonly [number, string | null]> => {
      const headers = { authorization, "content-type": type };
      const response = await fetch(`${peer.issuer}${oauthPaths.authorize}`, {
        method: "POST",
        redirect: "manual",
        headers,
        body,
      });
      return [response.status, response.headers.get("location")];
    };
    const twice = `${form().toString()}&redirect_uri=${encodeURIComponent("https://evil.example/")}`;
    expect(await send(twice, "application/x-www-form-urlencoded")).toEqual([400, null]);
    expect(await send(`${form().toString()}&action=deny`, "application/x-www-form-urlencoded")).toEqual([400, null]);
    expect(await send(JSON.stringify(Object.fromEntries(form())), "application/json")).toEqual([415, null]);
  });
});
