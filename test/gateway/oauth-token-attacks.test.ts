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

// RFC 9700, attack by attack: those on codes and tokens.

const used = useGateway({ agents: false, config: manyAddresses });
let peer: OAuthPeer;
/** An authorized client, and one that is not or belongs to another account. */
let honest: TestClient;
let other: TestClient;
beforeAll(async () => {
  peer = createOAuthPeer(used.gateway.app.baseUrl, await decidingToken(used.gateway));
  honest = await peer.newClient();
  other = await peer.newClient({ redirectUri: "http://127.0.0.1/other" });
});

const invalidGrant = { status: 400, body: { error: "invalid_grant" } };

/** What a code is bound to, in the order of a valid redemption. */
async function codeAndVerifier(client = honest): Promise<{ readonly code: string; readonly code_verifier: string }> {
  const challenge = newChallenge();
  return { code: await peer.code(client, challenge), code_verifier: challenge.verifier };
}

function redeem(client: TestClient, { code, ...fields }: Readonly<Record<string, string>>): Promise<FormAnswer> {
  return peer.redeem(client, code ?? "", fields);
}

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
      const statuses = answers.map(({ status, body }) => `${status} ${JSON.stringify(body["error"] ?? "given")}`);
      expect(statuses.toSorted((one, two) => one.localeCompare(two))).toEqual([
        '200 "given"',
        ...Array.from({ length: 19 }, () => '400 "invalid_grant"'),
      ]);
    }
  });
});

describe("RFC 9700 section 4.14: refresh tokens", () => {
  test("replay revokes the whole family, whichever of the two came first", async () => {
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

  test("neither works without a client's credentials or with a wrong secret", async () => {
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

  test("one for another server's resource is not issued", async () => {
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
