import { beforeAll, describe, expect, test } from "vitest";
import { oauthPaths } from "../../src/wire/oauth.ts";
import { createApiClient } from "../support/gateway.ts";
import {
  createOAuthPeer,
  decidingToken,
  type FormAnswer,
  manyAddresses,
  newChallenge,
  type OAuthPeer,
  type TestClient,
  tokensOf,
} from "../support/oauth-client.ts";
import { useGateway } from "../support/use-gateway.ts";

// RFC 9700, attack by attack. The consent page's own, in Chromium: src/http and test/web.

const used = useGateway({ agents: false, config: manyAddresses });
let peer: OAuthPeer;
/** One that was let in by the owner, and one that was not or is somebody else's. */
let honest: TestClient;
let other: TestClient;
beforeAll(async () => {
  peer = createOAuthPeer(used.gateway.app.baseUrl, await decidingToken(used.gateway));
  honest = await peer.newClient();
  other = await peer.newClient({ redirectUri: "http://127.0.0.1/other" });
});

const invalidGrant = { status: 400, body: { error: "invalid_grant" } };

/** What a code is bound to, told in the order of an honest redemption. */
async function codeAndVerifier(client = honest): Promise<{ readonly code: string; readonly code_verifier: string }> {
  const challenge = newChallenge();
  return { code: await peer.code(client, challenge), code_verifier: challenge.verifier };
}

function redeem(client: TestClient, { code, ...fields }: Readonly<Record<string, string>>): Promise<FormAnswer> {
  return peer.redeem(client, code ?? "", fields);
}

describe("RFC 9700 section 4.1 and 4.11.2: the browser is sent nowhere but to a registered redirect", () => {
  const registered = "https://app.example/cb/in?fixed=1";
  const tricks: readonly (readonly [string, string])[] = [
    ["another host", "https://evil.example/cb/in?fixed=1"],
    ["a host that begins like it", "https://app.example.evil.example/cb/in?fixed=1"],
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

describe("RFC 9700 section 4.5: an authorization code is good for whom it was given to", () => {
  test.for(["verifier of another request", "no verifier"])("injected with the %s", async (what) => {
    const { code } = await codeAndVerifier();
    const fields = what === "no verifier" ? {} : { code_verifier: newChallenge().verifier };
    expect(await peer.redeem(honest, code, fields)).toMatchObject(invalidGrant);
  });

  test("injected at another client", async () => {
    const { code, code_verifier } = await codeAndVerifier();
    const answer = await peer.redeem(other, code, { code_verifier, redirect_uri: honest.redirectUri });
    expect(answer).toMatchObject(invalidGrant);
  });

  test.for(["http://127.0.0.1:1/callback", "http://127.0.0.1/callback/"])(
    "injected with the redirect %s",
    async (redirect_uri) => {
      expect(await redeem(honest, { ...(await codeAndVerifier()), redirect_uri })).toMatchObject(invalidGrant);
    },
  );

  test("redeemed for a resource that was not asked for", async () => {
    const challenge = newChallenge();
    const resource = `${peer.issuer}${oauthPaths.mcp}`;
    const code = await peer.code(honest, challenge, { resource });
    const answer = await redeem(honest, { code, code_verifier: challenge.verifier, resource: peer.issuer });
    expect(answer.status).toBe(400);
    expect(["invalid_target", "invalid_grant"]).toContain(answer.body["error"]);
  });

  test("guessed, empty or far too long", async () => {
    for (const code of ["guess", "0".repeat(43), "x".repeat(5_000), "' or 1=1 --", "\u0000"]) {
      const { status, body } = await peer.redeem(honest, code, { code_verifier: newChallenge().verifier });
      expect([status, body["error"]], code).toEqual([400, "invalid_grant"]);
    }
  });
});

describe("RFC 6749 section 4.1.2: a code is good once", () => {
  test("code replay: it is refused, and what it had given ends", async () => {
    const once = await codeAndVerifier();
    const { accessToken, refreshToken } = tokensOf(await redeem(honest, once));
    expect(await peer.use(accessToken)).toBe(200);
    expect(await redeem(honest, once)).toMatchObject(invalidGrant);
    expect(await peer.use(accessToken)).toBe(401);
    expect(await peer.refresh(honest, refreshToken)).toMatchObject(invalidGrant);
  });

  test("also what was got by refreshing it ends", async () => {
    const once = await codeAndVerifier();
    const first = tokensOf(await redeem(honest, once));
    const second = tokensOf(await peer.refresh(honest, first.refreshToken));
    await redeem(honest, once);
    expect([await peer.use(first.accessToken), await peer.use(second.accessToken)]).toEqual([401, 401]);
  });

  test("of twenty that redeem one code at the same time exactly one gets tokens", async () => {
    for (let round = 0; round < 3; round += 1) {
      const { code, ...rest } = await codeAndVerifier();
      const answers = await Promise.all(Array.from({ length: 20 }, () => redeem(honest, { code, ...rest })));
      const statuses = answers.map(({ status, body }) => `${status} ${String(body["error"] ?? "")}`.trim());
      expect(statuses.toSorted((one, two) => one.localeCompare(two))).toEqual([
        "200",
        ...Array.from({ length: 19 }, () => "400 invalid_grant"),
      ]);
    }
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

  test("a verifier for a code that had no challenge is refused: nobody can inject it into a client with PKCE", async () => {
    const client = await peer.newClient({ confidential: true, redirectUri: "https://app.example/cb" });
    const bare = { code_challenge: null, code_challenge_method: null };
    const code = await peer.code(client, newChallenge(), bare);
    const answer = await peer.redeem(client, code, { code_verifier: newChallenge().verifier });
    expect(answer).toMatchObject(invalidGrant);
    const again = await peer.code(client, newChallenge(), bare);
    expect((await peer.redeem(client, again, {})).status).toBe(200);
  });

  test("a plain challenge of a confidential client is answered by itself only", async () => {
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

describe("RFC 9700 section 4.14: refresh tokens", () => {
  test("replay ends the whole family, whoever of the two came first", async () => {
    const first = await peer.letIn(honest);
    const second = tokensOf(await peer.refresh(honest, first.refreshToken));
    expect(second.refreshToken).not.toBe(first.refreshToken);
    expect(await peer.refresh(honest, first.refreshToken)).toMatchObject(invalidGrant);
    expect(await peer.refresh(honest, second.refreshToken)).toMatchObject(invalidGrant);
    expect([await peer.use(first.accessToken), await peer.use(second.accessToken)]).toEqual([401, 401]);
  });

  test("of ten that use one at the same time at most one gets tokens", async () => {
    const { refreshToken } = await peer.letIn(honest);
    const answers = await Promise.all(Array.from({ length: 10 }, () => peer.refresh(honest, refreshToken)));
    expect(answers.filter(({ status }) => status === 200).length).toBe(1);
    for (const answer of answers) if (answer.status !== 200) expect(answer).toMatchObject(invalidGrant);
  });

  test("refreshing never widens what was allowed", async () => {
    const { refreshToken } = await peer.letIn(honest, { scope: "coding:read" });
    const { status, body } = await peer.refresh(honest, refreshToken, { scope: "coding:read coding:write" });
    expect([status, body["error"]]).toEqual([400, "invalid_scope"]);
  });

  test("another client's is refused, and stays good", async () => {
    const { refreshToken } = await peer.letIn(honest);
    expect(await peer.refresh(other, refreshToken)).toMatchObject(invalidGrant);
    expect((await peer.refresh(honest, refreshToken)).status).toBe(200);
  });
});

describe("a client has no say over another's tokens (RFC 7009 section 2.1, RFC 7662 section 2.1)", () => {
  test.for(["public", "confidential"])("a %s one can neither look at them nor end them", async (kind) => {
    const stranger = await peer.newClient({ confidential: kind === "confidential" });
    const { accessToken, refreshToken } = await peer.letIn(honest);
    for (const token of [accessToken, refreshToken]) {
      expect((await peer.post(oauthPaths.introspection, stranger, { token })).body["active"]).not.toBe(true);
      await peer.post(oauthPaths.revocation, stranger, { token });
    }
    expect(await peer.use(accessToken)).toBe(200);
    expect((await peer.refresh(honest, refreshToken)).status).toBe(200);
  });

  test("its own it can look at, and end at once", async () => {
    const { accessToken, refreshToken } = await peer.letIn(honest);
    const looked = await peer.post(oauthPaths.introspection, honest, { token: accessToken });
    expect(looked.body).toMatchObject({ active: true, client_id: honest.clientId, scope: "coding:read coding:write" });
    expect((await peer.post(oauthPaths.revocation, honest, { token: accessToken })).status).toBe(200);
    expect(await peer.use(accessToken)).toBe(401);
    expect((await peer.post(oauthPaths.introspection, honest, { token: accessToken })).body).toEqual({ active: false });
    expect((await peer.post(oauthPaths.revocation, honest, { token: refreshToken })).status).toBe(200);
    expect(await peer.refresh(honest, refreshToken)).toMatchObject(invalidGrant);
  });

  test("nobody without a client's credentials can do either, nor with a wrong secret", async () => {
    const confidential = await peer.newClient({ confidential: true });
    const { accessToken } = await peer.letIn(confidential);
    const wrong = { ...confidential, clientSecret: "wrong" };
    for (const path of [oauthPaths.introspection, oauthPaths.revocation]) {
      for (const client of [null, wrong, { ...confidential, clientSecret: null }]) {
        const { status, body } = await peer.post(path, client, { token: accessToken });
        expect([400, 401]).toContain(status);
        expect(["invalid_client", "invalid_request"]).toContain(body["error"]);
      }
    }
    expect(await peer.use(accessToken)).toBe(200);
  });
});

describe("RFC 9700 section 4.10: a token is good where it was asked for", () => {
  test("one for /mcp is nothing at the API", async () => {
    const resource = `${peer.issuer}${oauthPaths.mcp}`;
    const { accessToken } = await peer.letIn(honest, { resource });
    expect([401, 403]).toContain(await peer.use(accessToken));
  });

  test("one for somebody else's resource is not given", async () => {
    const { location } = await peer.decide(honest, newChallenge(), { resource: "https://evil.example/mcp" });
    expect(location?.searchParams.get("error")).toBe("invalid_target");
  });

  test("what is no access token is none: a code, a refresh token, a client's id", async () => {
    const { code } = await codeAndVerifier();
    const { refreshToken } = await peer.letIn(honest);
    for (const bearer of [code, refreshToken, honest.clientId]) expect(await peer.use(bearer)).toBe(401);
  });

  test("RFC 9700 section 4.3: none is taken from an address", async () => {
    const { accessToken } = await peer.letIn(honest);
    const response = await fetch(`${peer.issuer}/manifest?access_token=${accessToken}`);
    expect(response.status).toBe(401);
  });

  test("no app gets admin, and none can let others in", async () => {
    const { location } = await peer.decide(honest, newChallenge(), { scope: "coding:read admin" });
    expect(location?.searchParams.get("error")).toBe("invalid_scope");
    const { accessToken } = await peer.letIn(honest);
    const asApp = createOAuthPeer(peer.issuer, accessToken);
    const decision = await asApp.decide(honest, newChallenge());
    expect([decision.status, decision.location]).toEqual([403, null]);
    expect((await createApiClient(peer.issuer, accessToken).get("/api/tokens")).status).toBe(403);
  });
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
