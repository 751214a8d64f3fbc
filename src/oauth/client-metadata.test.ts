import { expect, test } from "vitest";
import {
  type ProtocolAnswer,
  redirectUri,
  startAuthorizationServer,
  type TestAuthorizationServer,
} from "../../test/support/authorization-server.ts";
import { describeOnBothStores } from "../../test/support/database.ts";
import { oauthPaths } from "../wire/oauth.ts";
import type { FetchDocument } from "./ports.ts";

const address = "https://app.example/client.json";

/** Serves documents for `app.example` and `other.example`. The mute hosts never answer, and other hosts fail. */
function createWeb() {
  const fetched: string[] = [];
  const mute = Promise.withResolvers<never>();
  const fetchDocument: FetchDocument = async (url) => {
    fetched.push(url);
    const { host } = new URL(url);
    if (host.startsWith("mute")) return mute.promise;
    if (host !== "app.example" && host !== "other.example") throw new Error("nothing there");
    return {
      status: 200,
      headers: new Map(),
      body: JSON.stringify({ client_id: url, redirect_uris: [redirectUri] }),
    };
  };
  return { fetchDocument, fetched };
}

function refresh(server: TestAuthorizationServer, clientId: string, token = "x"): Promise<ProtocolAnswer> {
  return server.post(oauthPaths.token, { grant_type: "refresh_token", client_id: clientId, refresh_token: token });
}

describeOnBothStores("a client identified by its metadata document", (openStore) => {
  test("that is authorized can refresh and revoke while its host is unreachable, even after a restart", async () => {
    const store = await openStore();
    const before = await startAuthorizationServer(store, createWeb());
    const { refreshToken } = await before.letIn(address);
    const server = await startAuthorizationServer(store);
    const { status, body } = await refresh(server, address, refreshToken);
    expect(status).toBe(200);
    const { access_token: token } = body;
    expect(await server.oauth.tokens.find(String(token))).not.toBeNull();
    const revoked = await server.post(oauthPaths.revocation, { client_id: address, token: String(token) });
    expect(revoked.status).toBe(200);
    expect(await server.oauth.tokens.find(String(token))).toBeNull();
    const off = await startAuthorizationServer(store, { config: { metadataDocuments: "off" } });
    expect(await refresh(off, address)).toMatchObject({ status: 401, body: { error: "invalid_client" } });
  });

  test("that is authorized is not locked out when unknown clients name many documents or unresponsive hosts", async () => {
    const web = createWeb();
    const server = await startAuthorizationServer(await openStore(), web);
    const { refreshToken } = await server.letIn(address);
    for (let at = 0; at < 200; at += 20) {
      const names = Array.from({ length: 20 }, (_, each) => `https://no${at + each}.example/c`);
      await Promise.all(names.map((name) => refresh(server, name)));
    }
    const hanging = Array.from({ length: 20 }, (_, at) => `https://mute${at}.example/c`);
    for (const name of hanging) void refresh(server, name).catch(() => null);
    await expect.poll(() => web.fetched.filter((url) => url.includes("mute"))).toHaveLength(8);
    const { body } = await refresh(server, address, refreshToken);
    expect(body).toMatchObject({ refresh_token: expect.any(String) });
    // An account can still authorize clients: a known one, whose document is fetched again, and a new one.
    const asked = web.fetched.filter((url) => url === address).length;
    await server.letIn(address);
    expect(web.fetched.filter((url) => url === address)).toHaveLength(asked + 1);
    await server.letIn("https://other.example/c");
  });

  test("that is not authorized is fetched once at a time per host", async () => {
    const web = createWeb();
    const server = await startAuthorizationServer(await openStore(), web);
    const hangs = refresh(server, "https://mute.example/1").catch(() => null);
    await expect.poll(() => web.fetched).toHaveLength(1);
    expect(await refresh(server, "https://mute.example/2")).toMatchObject({ status: 401 });
    expect(await refresh(server, "https://app.example/new.json")).toMatchObject({ body: { error: "invalid_grant" } });
    expect(web.fetched).toEqual(["https://mute.example/1", "https://app.example/new.json"]);
    expect(await Promise.race([hangs, Promise.resolve("hangs")])).toBe("hangs");
  });
});
