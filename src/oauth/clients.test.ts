import { createServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { redirectUri, startAuthorizationServer } from "../../test/support/authorization-server.ts";
import { describeOnBothStores } from "../../test/support/database.ts";
import { errorCode } from "../../test/support/error-code.ts";
import { createFakeClock } from "../../test/support/fake-clock.ts";
import { createSecretBox } from "../platform/secret-box.ts";
import { oauthPaths } from "../wire/oauth.ts";
import { deviceGrant } from "./client-metadata.ts";
import type { FetchDocument } from "./ports.ts";

const address = "https://app.example/client.json";

/** A fake web with one document, which the test can change. */
function createWeb() {
  let document: Readonly<Record<string, unknown>> | null = {
    client_id: address,
    client_name: "Document",
    redirect_uris: [redirectUri],
    grant_types: ["authorization_code", "refresh_token", "implicit"],
  };
  const fetched: string[] = [];
  const fetchDocument: FetchDocument = async (url) => {
    fetched.push(url);
    if (document === null) throw new Error("away");
    return {
      status: 200,
      headers: new Map([["cache-control", "max-age=600"]]),
      body: JSON.stringify(document),
    };
  };
  return {
    fetchDocument,
    fetched,
    say: (next: typeof document) => {
      document = next;
    },
  };
}

/** A server that counts connections. */
async function openDoor() {
  let knocks = 0;
  const door = createServer((socket) => {
    knocks += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => door.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => void (await new Promise((resolve) => door.close(resolve))));
  const address = door.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return { address: `https://127.0.0.1:${port}/x`, knocks: () => knocks };
}

describeOnBothStores("clients", (openStore) => {
  test("never cause a fetch of the URLs they name, and keep only supported metadata", async () => {
    const store = await openStore();
    const web = createWeb();
    const server = await startAuthorizationServer(store, web);
    const door = await openDoor();
    const trap = {
      redirect_uris: ["https://evil.example/cb"],
      sector_identifier_uri: door.address,
      jwks_uri: door.address,
      request_uris: [door.address],
      initiate_login_uri: door.address,
      backchannel_logout_uri: door.address,
      invented: "x",
    };
    const { status, body } = await server.register({ ...trap, contacts: ["a@b.example"] });
    expect({ status, body }).toMatchObject({ status: 201, body: { contacts: ["a@b.example"] } });
    web.say({ ...trap, client_id: address, redirect_uris: [redirectUri] });
    await server.letIn(address);
    const rows = await store.db.selectFrom("oauth_clients").select("metadata").execute();
    expect(rows).toHaveLength(2);
    for (const text of [JSON.stringify(body), ...rows.map(({ metadata }) => metadata)]) {
      expect(text).not.toContain("127.0.0.1:");
      expect(text).not.toContain("invented");
    }
    expect(door.knocks()).toBe(0);
  });

  test("are refused with too much metadata, or with an unsupported authentication method", async () => {
    const server = await startAuthorizationServer(await openStore());
    const long = { redirect_uris: Array.from({ length: 5 }, (_, at) => `https://a.example/${at}${"x".repeat(1_900)}`) };
    const keys = { token_endpoint_auth_method: "private_key_jwt", jwks_uri: "https://a.example/keys" };
    for (const [metadata, said] of [
      [long, "8192 bytes"],
      [keys, "token_endpoint_auth_method"],
    ] as const) {
      expect(await server.register(metadata)).toMatchObject({
        status: 400,
        body: { error: "invalid_client_metadata", error_description: expect.stringContaining(said) },
      });
    }
  });

  test("register themselves and get what they need; unsupported metadata is ignored", async () => {
    const store = await openStore();
    const server = await startAuthorizationServer(store);
    const { status, body } = await server.register({
      grant_types: undefined,
      scope: "openid offline_access coding:read",
      application_type: "web",
      token_endpoint_auth_method: undefined,
    });
    expect({ status, body }).toMatchObject({
      status: 201,
      body: {
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        scope: "coding:read",
        token_endpoint_auth_method: "client_secret_basic",
        client_secret: expect.stringMatching(/^[\w-]{43}$/),
        client_id_issued_at: expect.any(Number),
      },
    });
    expect(body).not.toHaveProperty("registration_access_token");
    const [row] = await store.db.selectFrom("oauth_clients").selectAll().execute();
    expect(row?.metadata).not.toContain(String(body["client_secret"]));
    const device = await server.register({ redirect_uris: [], grant_types: [deviceGrant] });
    expect(device).toMatchObject({ status: 201, body: { response_types: [], grant_types: [deviceGrant] } });
    expect(server.notes.map(({ action }) => action)).toEqual(["client_registered", "client_registered"]);
    expect(await server.oauth.clients.list()).toMatchObject([{ origin: "registered" }, { origin: "registered" }]);
  });

  test("are refused with unsafe redirects", async () => {
    const server = await startAuthorizationServer(await openStore());
    const refused = [
      "http://example.org/cb",
      "http://10.0.0.1/cb",
      "javascript:alert(1)",
      "data:text/html,x",
      "https://a:b@example.org/cb",
      "https://example.org/cb#x",
      "nothing",
      "https://example.org/c\rb",
      "https://example.org/c\nb",
      "https://example.org/c\tb",
      "https://example.org/cb\0",
      " https://example.org/cb",
      "com.example.app:/c\nb",
      "ws://127.0.0.1/cb",
      "wss://example.org/cb",
      "ftp://example.org/cb",
      "file:///etc/passwd",
      "blob:https://example.org/x",
      "about:blank",
      "vbscript:x",
      "intent://scan/#Intent;end",
      "intent:x",
      "myapp:/cb",
      "com.:/cb",
      "com.example.app://user@host/cb",
      "com.example.app:/cb#x",
      'com.example.app:/cb"x',
      "com.example.app:/c b",
      "com.example.app:/cb\r\nset-cookie: a=b",
      "com.example.app:/cb\0",
      "com.example.äpp:/cb",
      "https://example.org\\@evil.example/cb",
      "https:example.org/cb",
      "https:/example.org/cb",
      "https:///example.org/cb",
      "https://ex%61mple.org/cb",
      "https://example.org/<x>",
      "https://пример.example/cb",
      "http://127.1/cb",
      "http://0x7f.0.0.1/cb",
      "http://2130706433/cb",
      "http://0.0.0.0/cb",
      "http://127.0.0.1.example.org/cb",
      "http://localhost.example.org/cb",
      "http://[::ffff:127.0.0.1]/cb",
      "http://[0:0:0:0:0:0:0:1]/cb",
      ".com:/cb",
      `https://example.org/${"x".repeat(2_000)}`,
    ];
    for (const uri of refused) {
      expect([uri, await server.register({ redirect_uris: [uri] })]).toMatchObject([uri, { status: 400 }]);
      const wanted = { name: "x", redirectUris: [uri], confidential: false };
      expect(await errorCode(server.oauth.clients.add(wanted))).toBe("invalid_request");
    }
    const many = Array.from({ length: 21 }, (_, index) => `https://example.org/${index}`);
    expect((await server.register({ redirect_uris: many })).status).toBe(400);
    expect(await server.oauth.clients.list()).toEqual([]);
  });

  test("register redirects to this machine, by https, and to schemes of their own domain", async () => {
    const server = await startAuthorizationServer(await openStore());
    for (const uri of [
      "http://127.0.0.1/cb",
      "http://127.0.0.1:49152/cb",
      "http://[::1]/cb",
      "http://localhost:3000/cb",
      "https://example.org/cb?x=1",
      "com.example.app:/oauth/cb",
      "com.example.app-2://cb",
    ]) {
      expect([uri, (await server.register({ redirect_uris: [uri] })).status]).toEqual([uri, 201]);
    }
  });

  test("do not register themselves when registration is disabled", async () => {
    const server = await startAuthorizationServer(await openStore(), { config: { registration: "off" } });
    expect(await server.oauth.metadata()).not.toHaveProperty("registration_endpoint");
    const answer = await fetch(`${server.baseUrl}${oauthPaths.registration}`, { method: "POST" });
    expect(answer.status).toBe(404);
  });

  test("are added and removed by the owner, with everything they were issued", async () => {
    const server = await startAuthorizationServer(await openStore());
    const { clients } = server.oauth;
    const added = await clients.add({ name: "Bot", redirectUris: [redirectUri], confidential: true });
    expect(added).toMatchObject({ name: "Bot", origin: "added", confidential: true, redirectUris: [redirectUri] });
    const { clientSecret, ...shown } = added;
    expect(clientSecret).toMatch(/^[\w-]{43}$/);
    expect(await clients.list()).toEqual([shown]);
    const code = await server.allow(added.clientId);
    await clients.remove(added.clientId);
    expect(await clients.list()).toEqual([]);
    expect(await server.oauth.apps.list(server.owner.accountId)).toEqual([]);
    expect(await server.redeem(added.clientId, code)).toMatchObject({ status: 401, body: { error: "invalid_client" } });
    expect(await errorCode(clients.remove(added.clientId))).toBe("client_not_found");
  });

  test("are identified by their document, which is fetched again when it expires", async () => {
    const web = createWeb();
    const clock = createFakeClock(Date.now());
    const server = await startAuthorizationServer(await openStore(), { ...web, clock });
    await server.letIn(address);
    expect(web.fetched).toEqual([address]);
    expect(await server.oauth.clients.list()).toMatchObject([
      { clientId: address, name: "Document", origin: "document", confidential: false, redirectUris: [redirectUri] },
    ]);
    expect(await server.oauth.apps.list(server.owner.accountId)).toMatchObject([{ name: "Document" }]);
    const shown = await server.oauth.describe(
      new URLSearchParams({
        client_id: address,
        scope: "coding:drive",
        code_challenge: "x".repeat(43),
        code_challenge_method: "S256",
      }),
      server.owner,
    );
    expect(shown).toMatchObject({
      request: { client: { origin: "document" }, scopes: [{ scope: "coding:drive", ticked: false }] },
    });
    await clock.advance(601_000);
    web.say(null);
    await server.letIn(address); // its host is temporarily unreachable
    await clock.advance(11_000);
    web.say({ client_id: address, redirect_uris: ["https://app.example/cb"] });
    await expect(server.allow(address)).rejects.toMatchObject({ code: "invalid_request" });
    expect(web.fetched).toHaveLength(3);
  });

  test("are not identified by a document that is not theirs, contains a secret, or is disabled", async () => {
    const store = await openStore();
    const web = createWeb();
    const clock = createFakeClock(Date.now());
    const server = await startAuthorizationServer(store, { ...web, clock });
    const bad = [
      { client_id: "https://app.example/other.json", redirect_uris: [redirectUri] },
      { client_id: address, redirect_uris: [redirectUri], client_secret: "x" },
      { client_id: address, redirect_uris: [redirectUri], token_endpoint_auth_method: "client_secret_post" },
      { client_id: address, redirect_uris: ["http://example.org/cb"] },
      { client_id: address, redirect_uris: "x" },
      {},
    ];
    for (const document of bad) {
      web.say(document);
      await expect(server.allow(address)).rejects.toMatchObject({ code: "invalid_request" });
      await clock.advance(24 * 60 * 60_000);
    }
    const addresses = [
      "https://app.example",
      "https://app.example/",
      "https://a@app.example/c",
      "https://app.example/c#x",
      "https://app.example/a/../c",
      "ftp://app.example/c",
      `https://app.example/${"x".repeat(600)}`,
    ];
    const before = web.fetched.length;
    for (const clientId of addresses) {
      await expect(server.allow(clientId)).rejects.toMatchObject({ code: "invalid_request" });
    }
    expect(web.fetched).toHaveLength(before);
    const closed = await startAuthorizationServer(store, { ...createWeb(), config: { metadataDocuments: "off" } });
    await expect(closed.allow(address)).rejects.toMatchObject({ code: "invalid_request" });
  });

  test("that were never authorized are limited to a thousand, and the oldest is removed", async () => {
    const store = await openStore();
    const server = await startAuthorizationServer(store);
    const used = await server.newClient();
    await server.letIn(used);
    const added = await server.oauth.clients.add({ name: "Mine", redirectUris: [], confidential: false });
    await store.db.updateTable("oauth_clients").set({ created_at: 0 }).execute();
    const unused = Array.from({ length: 1_000 }, (_, at) => ({
      client_id: `unused ${at}`,
      origin: "registered" as const,
      name: "x",
      metadata: "{}",
      created_at: 1 + at,
      last_used_at: null,
    }));
    for (const half of [unused.slice(500), unused.slice(0, 500)]) {
      await store.db.insertInto("oauth_clients").values(half).execute();
    }
    const newest = await server.newClient();
    const left = new Set((await server.oauth.clients.list()).map(({ clientId }) => clientId));
    expect(left.size).toBe(1_002);
    expect([used, added.clientId, newest, "unused 1"].filter((id) => !left.has(id))).toEqual([]);
    expect(left.has("unused 0")).toBe(false);
  });

  test("whose secret cannot be decrypted are unknown, with no other effect", async () => {
    const store = await openStore();
    const server = await startAuthorizationServer(store);
    const fields = { name: "Bot", redirectUris: [redirectUri], confidential: true };
    const { clientId, clientSecret } = await server.oauth.clients.add(fields);
    const other = await startAuthorizationServer(store, { secrets: createSecretBox(Buffer.alloc(32)) });
    const request = { grant_type: "refresh_token", client_id: clientId, refresh_token: "x" };
    const refused = { status: 401, body: { error: "invalid_client" } };
    expect(await other.post(oauthPaths.token, request, clientSecret ?? "")).toMatchObject(refused);
    expect(await other.oauth.clients.list()).toMatchObject([{ clientId }]);
  });
});
