import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import {
  challenge,
  redirectUri,
  startAuthorizationServer,
  type TestAuthorizationServer,
  verifier,
} from "../../test/support/authorization-server.ts";
import { describeOnBothStores } from "../../test/support/database.ts";
import { errorCode } from "../../test/support/error-code.ts";
import type { Scope } from "../wire/access.ts";
import { oauthPaths } from "../wire/oauth.ts";

type Fields = Readonly<Record<string, string | null>>;

/** The form of a decision, valid unless changed by the test; null omits a field. */
function formOf(clientId: string, fields: Fields = {}): URLSearchParams {
  const all: Fields = {
    action: "allow",
    client_id: clientId,
    redirect_uri: redirectUri,
    scope: "coding:read",
    state: "s t&te",
    code_challenge: challenge,
    code_challenge_method: "S256",
    ...fields,
  };
  const given = Object.entries(all).filter((field): field is [string, string] => field[1] !== null);
  return new URLSearchParams(given);
}

async function decide(server: TestAuthorizationServer, form: URLSearchParams, held?: readonly Scope[]) {
  const { location } = await server.oauth.decide(form, {
    ...server.owner,
    scopes: held === undefined ? server.owner.scopes : new Set(held),
  });
  const url = new URL(location);
  return { url, to: `${url.origin}${url.pathname}`, answer: Object.fromEntries(url.searchParams) };
}

describeOnBothStores("a decision", (openStore) => {
  test("to allow redirects the browser with a code, the state and the issuer", async () => {
    const server = await startAuthorizationServer(await openStore());
    const clientId = await server.newClient();
    const { to, answer } = await decide(server, formOf(clientId));
    expect(to).toBe(redirectUri);
    expect(answer).toEqual({ code: expect.stringMatching(/^[\w-]{43}$/), state: "s t&te", iss: server.baseUrl });
    expect(server.notes.at(-1)).toMatchObject({
      action: "app_allowed",
      accountId: server.owner.accountId,
      details: { name: "A test", host: "127.0.0.1", scopes: ["coding:read"] },
      from: server.owner.from,
    });
  });

  test("to deny, or an invalid one, is reported to the client with all the details it needs", async () => {
    const server = await startAuthorizationServer(await openStore());
    const clientId = await server.newClient();
    const told = async (fields: Fields, held?: readonly Scope[]) => {
      const { to, answer } = await decide(server, formOf(clientId, fields), held);
      expect(to).toBe(redirectUri);
      expect(answer).toMatchObject({ state: "s t&te", iss: server.baseUrl, error_description: expect.any(String) });
      expect(answer["error_uri"]).toBe(`${server.baseUrl}/docs/oauth-errors#${answer["error"]}`);
      expect(answer["code"]).toBeUndefined();
      return answer["error"];
    };
    expect(await told({ action: "deny" })).toBe("access_denied");
    expect(server.notes.at(-1)).toMatchObject({ action: "app_denied", subject: clientId });
    expect(await told({ action: null })).toBe("invalid_request");
    expect(await told({ action: "allow " })).toBe("invalid_request");
    expect(await told({ scope: "coding:read coding:fly" })).toBe("invalid_scope");
    expect(await told({ scope: "admin" })).toBe("invalid_scope");
    expect(await told({ scope: "openid coding:read" })).toBe("invalid_scope");
    expect(await told({ action: "deny", scope: "admin" })).toBe("invalid_scope");
    expect(await told({ code_challenge: null, code_challenge_method: null })).toBe("invalid_request");
    expect(await told({ code_challenge_method: null })).toBe("invalid_request");
    expect(await told({ code_challenge: verifier, code_challenge_method: "plain" })).toBe("invalid_request");
    expect(await told({ code_challenge: "short" })).toBe("invalid_request");
    expect(await told({ response_type: "token" })).toBe("unsupported_response_type");
    expect(await told({ resource: "https://example.org/mcp" })).toBe("invalid_target");
    expect(await told({ resource: `${server.baseUrl}/mcp?x=1` })).toBe("invalid_target");
    expect(await told({ scope: "coding:drive" }, ["coding:read"])).toBe("access_denied");
    expect(await told({ scope: "" })).toBe("access_denied");
    expect(await server.oauth.apps.list(server.owner.accountId)).toEqual([]);
  });

  test("never redirects when client or redirect are unknown, even when it denies", async () => {
    const server = await startAuthorizationServer(await openStore());
    const clientId = await server.newClient();
    const two = await server.newClient({ redirect_uris: [redirectUri, "com.example.app:/done"] });
    const https = await server.newClient({ redirect_uris: ["https://app.example/cb"] });
    const refused: readonly (readonly [string, Fields])[] = [
      ["nobody", {}],
      ["", {}],
      ["https://127.0.0.1/client", {}],
      [two, { redirect_uri: null }],
      [clientId, { redirect_uri: "https://evil.example/callback" }],
      [clientId, { redirect_uri: "http://127.0.0.1@evil.example/callback" }],
      [clientId, { redirect_uri: "http://evil@127.0.0.1/callback" }],
      [clientId, { redirect_uri: "http://127.0.0.1/callback/../other" }],
      [clientId, { redirect_uri: "http://127.0.0.1/callback?x=1" }],
      [clientId, { redirect_uri: "http://127.0.0.1/callback#x" }],
      [clientId, { redirect_uri: "https://127.0.0.1/callback" }],
      [clientId, { redirect_uri: "http://127.0.0.1.evil.example/callback" }],
      [clientId, { redirect_uri: "http://localhost/callback" }],
      [clientId, { redirect_uri: "javascript:alert(1)//" }],
      [https, { redirect_uri: "https://app.example:8443/cb" }],
      [https, { redirect_uri: "https://app.example/cb/" }],
      [https, { redirect_uri: "http://app.example/cb" }],
    ];
    for (const [client, fields] of refused) {
      for (const action of ["allow", "deny", "what"]) {
        const form = formOf(client, { ...fields, action });
        expect([client, fields, action, await errorCode(server.oauth.decide(form, server.owner))]).toEqual([
          client,
          fields,
          action,
          "invalid_request",
        ]);
      }
    }
    const repeated = formOf(clientId);
    repeated.append("redirect_uri", redirectUri);
    expect(await errorCode(server.oauth.decide(repeated, server.owner))).toBe("invalid_request");
  });

  test("never uses a redirect that no client can register, whether from a document or stored earlier", async () => {
    const refused = [
      "intent:x",
      "myapp:/cb",
      "ws://127.0.0.1/cb",
      "com.example.app:/c\nb",
      "http://127.1/cb",
      "https:a.example/",
    ];
    const address = "https://app.example/client.json";
    for (const uri of refused) {
      const store = await openStore();
      const server = await startAuthorizationServer(store, {
        fetchDocument: async () => ({
          status: 200,
          headers: new Map(),
          body: JSON.stringify({ client_id: address, redirect_uris: [redirectUri, uri] }),
        }),
      });
      const kept = await server.newClient();
      await store.db
        .updateTable("oauth_clients")
        .set({
          metadata: JSON.stringify({ client_id: kept, redirect_uris: [uri], token_endpoint_auth_method: "none" }),
        })
        .where("client_id", "=", kept)
        .execute();
      for (const client of [kept, address]) {
        for (const action of ["allow", "deny"]) {
          const form = formOf(client, { redirect_uri: uri, action });
          expect([uri, client, await errorCode(server.oauth.decide(form, server.owner))]).toEqual([
            uri,
            client,
            "invalid_request",
          ]);
        }
      }
    }
  });

  test("uses the only registered redirect by default, and any port of this machine", async () => {
    const server = await startAuthorizationServer(await openStore());
    const clientId = await server.newClient();
    expect((await decide(server, formOf(clientId, { redirect_uri: null }))).to).toBe(redirectUri);
    const elsewhere = "http://127.0.0.1:49152/callback";
    const { url, to } = await decide(server, formOf(clientId, { redirect_uri: elsewhere }));
    expect(to).toBe(elsewhere);
    const code = url.searchParams.get("code") ?? "";
    expect((await server.redeem(clientId, code, { redirect_uri: elsewhere })).status).toBe(200);
    const app = await server.newClient({ redirect_uris: ["com.example.app:/done"] });
    const { url: scheme } = await decide(server, formOf(app, { redirect_uri: "com.example.app:/done" }));
    expect(scheme.href).toMatch(/^com\.example\.app:\/done\?code=/);
  });

  test("grants the selected scopes that the account holds, and the default when none were requested", async () => {
    const server = await startAuthorizationServer(await openStore());
    const clientId = await server.newClient();
    const given = async (fields: Fields, held?: readonly Scope[]) => {
      const { answer } = await decide(server, formOf(clientId, fields), held);
      return (await server.redeem(clientId, answer["code"] ?? "")).body["scope"];
    };
    expect(await given({ scope: null })).toBe("coding:read coding:write");
    expect(await given({ scope: "logs:read coding:drive" })).toBe("coding:drive logs:read");
    expect(await given({ scope: "coding:read coding:drive" }, ["coding:read", "logs:read"])).toBe("coding:read");
    const narrow = await server.newClient({ scope: "coding:read openid profile" });
    const { answer } = await decide(server, formOf(narrow, { scope: null }));
    expect((await server.redeem(narrow, answer["code"] ?? "")).body["scope"]).toBe("coding:read");
    expect((await decide(server, formOf(narrow, { scope: "coding:write" }))).answer["error"]).toBe("invalid_scope");
  });

  test("binds the code to the resource, under any of our origins", async () => {
    const server = await startAuthorizationServer(await openStore());
    const clientId = await server.newClient();
    const other = server.baseUrl.replace("localhost", "127.0.0.1");
    const resourceOf = async (asked: Fields, redeemed: Readonly<Record<string, string>>) => {
      const { answer } = await decide(server, formOf(clientId, asked));
      const { body } = await server.redeem(clientId, answer["code"] ?? "", redeemed);
      const token = await server.oauth.tokens.find(String(body["access_token"]));
      return token?.resource ?? body["error"];
    };
    expect(await resourceOf({}, {})).toBe("all");
    expect(await resourceOf({ resource: server.baseUrl }, { resource: `${other}/` })).toBe("all");
    expect(await resourceOf({ resource: `${server.baseUrl}/mcp` }, { resource: `${other}/mcp` })).toBe("mcp");
    expect(await resourceOf({ resource: `${other}/mcp` }, {})).toBe("mcp");
    expect(await resourceOf({ resource: `${other}/mcp` }, { resource: server.baseUrl })).toBe("invalid_target");
    expect(await resourceOf({}, { resource: "https://example.org" })).toBe("invalid_target");
  });

  test("accepts S256, plain or no challenge from a client with a secret", async () => {
    const server = await startAuthorizationServer(await openStore());
    const { clientId, clientSecret } = await server.oauth.clients.add({
      name: "A bot",
      redirectUris: [redirectUri],
      confidential: true,
    });
    const redeem = async (fields: Fields, proof: Readonly<Record<string, string>>, secret = clientSecret) => {
      const { answer } = await decide(server, formOf(clientId, fields));
      const { status, body } = await server.post(
        oauthPaths.token,
        {
          grant_type: "authorization_code",
          client_id: clientId,
          code: answer["code"] ?? "",
          redirect_uri: redirectUri,
          ...proof,
        },
        secret ?? "",
      );
      return status === 200 ? 200 : body["error"];
    };
    const none = { code_challenge: null, code_challenge_method: null };
    const plain = { code_challenge: verifier, code_challenge_method: "plain" };
    const silent = { code_challenge: verifier, code_challenge_method: null };
    expect(await redeem({}, { code_verifier: verifier })).toBe(200);
    expect(await redeem(plain, { code_verifier: verifier })).toBe(200);
    expect(await redeem(silent, { code_verifier: verifier })).toBe(200);
    expect(await redeem(none, {})).toBe(200);
    expect(await redeem(plain, { code_verifier: challenge })).toBe("invalid_grant");
    expect(await redeem(plain, {})).toBe("invalid_grant");
    // A verifier for a code without a challenge means that an attacker removed the challenge from the request.
    expect(await redeem(none, { code_verifier: verifier })).toBe("invalid_grant");
    expect(await redeem({}, { code_verifier: verifier }, "wrong")).toBe("invalid_client");
    expect(createHash("sha256").update(verifier).digest("base64url")).toBe(challenge);
  });

  test("is described beforehand: the client, the scopes, and which are preselected", async () => {
    const server = await startAuthorizationServer(await openStore());
    const clientId = await server.newClient({ client_name: "Nice\u202e\n app " });
    const form = formOf(clientId, { action: null, scope: "coding:drive coding:read", prompt: "consent" });
    expect(await server.oauth.describe(form, server.owner)).toEqual({
      request: {
        client: { clientId, name: "Nice app", origin: "registered" },
        destination: "127.0.0.1",
        scopes: [
          { scope: "coding:read", ticked: true },
          { scope: "coding:drive", ticked: false },
        ],
      },
    });
    const mine = await server.oauth.clients.add({ name: "Mine", redirectUris: [redirectUri], confidential: false });
    const shown = await server.oauth.describe(formOf(mine.clientId, { scope: "coding:drive logs:read" }), {
      ...server.owner,
      scopes: new Set(["coding:drive"]),
    });
    expect(shown).toMatchObject({ request: { scopes: [{ scope: "coding:drive", ticked: true }] } });
    const wrong = await server.oauth.describe(formOf(clientId, { scope: "x" }), server.owner);
    expect(wrong).toMatchObject({ location: expect.stringContaining("error=invalid_scope") });
    expect(await errorCode(server.oauth.describe(formOf("nobody"), server.owner))).toBe("invalid_request");
    expect(await server.oauth.apps.list(server.owner.accountId)).toEqual([]);
  });
});
