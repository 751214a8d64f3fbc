import { expect, test } from "vitest";
import { startAuthorizationServer } from "../../test/support/authorization-server.ts";
import { describeOnBothStores } from "../../test/support/database.ts";
import { sha256 } from "../core/ids.ts";
import { oauthPaths } from "../wire/oauth.ts";
import { deviceGrant } from "./client-metadata.ts";

const elsewhere = "https://app.example/callback";

describeOnBothStores("authorizing an app again", (openStore) => {
  test("with the same scopes or more ends nothing, because it can be on two machines", async () => {
    const server = await startAuthorizationServer(await openStore());
    const clientId = await server.newClient();
    const first = await server.letIn(clientId, { scope: "coding:read" });
    await server.letIn(clientId, { scope: "coding:read" });
    await server.letIn(clientId, { scope: "coding:read coding:write" });
    expect(await server.oauth.tokens.find(first.accessToken)).not.toBeNull();
    expect(await server.oauth.apps.list(server.owner.accountId)).toHaveLength(3);
  });

  test("with fewer scopes ends earlier grants for the same destination, and is audited", async () => {
    const store = await openStore();
    const server = await startAuthorizationServer(store);
    const redirects = { redirect_uris: ["http://127.0.0.1/callback", elsewhere] };
    const [clientId, another] = [await server.newClient(redirects), await server.newClient()];
    const first = await server.letIn(clientId, { scope: "coding:read coding:drive" });
    const there = { redirect_uri: elsewhere };
    const { body } = await server.redeem(clientId, await server.allow(clientId, there), there);
    const kept = [String(body["access_token"]), (await server.letIn(another)).accessToken];
    // An app on this machine uses a different port each time.
    const here = { redirect_uri: "http://127.0.0.1:49152/callback" };
    const code = await server.allow(clientId, { ...here, scope: "coding:read" });
    expect(server.notes.findLast(({ action }) => action === "app_allowed")?.details).toEqual({
      name: "A test",
      host: "127.0.0.1:49152",
      scopes: ["coding:read"],
      replaced: 1,
    });
    expect(await server.oauth.tokens.find(first.accessToken)).toBeNull();
    const request = { grant_type: "refresh_token", client_id: clientId, refresh_token: first.refreshToken };
    expect(await server.post(oauthPaths.token, request)).toMatchObject({ body: { error: "invalid_grant" } });
    expect(await server.redeem(clientId, code, here)).toMatchObject({ status: 200, body: { scope: "coding:read" } });
    for (const token of kept) expect(await server.oauth.tokens.find(token)).not.toBeNull();
    expect(await server.oauth.apps.list(server.owner.accountId)).toHaveLength(3);
    await expect(server.allow(clientId, { ...here, scope: "" })).rejects.toThrow("access_denied");
    expect(await server.oauth.apps.list(server.owner.accountId)).toHaveLength(3);
    await server.allow(clientId, { ...there, scope: "coding:read" });
    const [ended = "", other = ""] = kept;
    expect(await server.oauth.tokens.find(ended)).toBeNull();
    expect(await server.oauth.tokens.find(other)).not.toBeNull();
  });

  test("too often ends the least recently used grants with their tokens, and is audited", async () => {
    const store = await openStore();
    const server = await startAuthorizationServer(store);
    const [clientId, another] = [await server.newClient(), await server.newClient()];
    const elsewhereIn = await server.letIn(another);
    const [first, second] = [await server.letIn(clientId), await server.letIn(clientId)];
    const used = await store.db
      .updateTable("oauth_records")
      .set({ last_used_at: Date.now() + 60_000 })
      .where("id_hash", "=", sha256((await server.oauth.tokens.find(first.accessToken))?.app.appId ?? ""))
      .executeTakeFirst();
    expect(used.numUpdatedRows).toBe(1n);
    for (let more = 2; more < 60; more += 1) await server.allow(clientId);
    expect(await server.oauth.tokens.find(second.accessToken)).not.toBeNull();
    await server.allow(clientId);
    expect(await server.oauth.tokens.find(second.accessToken)).toBeNull();
    expect(await server.oauth.tokens.find(first.accessToken)).not.toBeNull();
    expect(await server.oauth.tokens.find(elsewhereIn.accessToken)).not.toBeNull();
    expect(await server.oauth.apps.list(server.owner.accountId)).toHaveLength(51);
    expect(server.notes.findLast(({ action }) => action === "app_allowed")?.details["replaced"]).toBe(11);
  });

  test("as a device, ends the earlier grants of the device", async () => {
    const server = await startAuthorizationServer(await openStore());
    const grants = { grant_types: [deviceGrant, "authorization_code", "refresh_token"] };
    const clientId = await server.newClient(grants);
    const { accessToken } = await server.letIn(clientId);
    const allow = async (scope: "coding:read" | "coding:write") => {
      const { body } = await server.post(oauthPaths.deviceAuthorization, { client_id: clientId });
      const userCode = String(body["user_code"]);
      await server.oauth.decideDevice({ userCode, action: "allow", scopes: [scope] }, server.owner);
      const code = { grant_type: deviceGrant, client_id: clientId, device_code: String(body["device_code"]) };
      return String((await server.post(oauthPaths.token, code)).body["access_token"]);
    };
    const first = await allow("coding:write");
    const second = await allow("coding:read");
    expect(await server.oauth.tokens.find(first)).toBeNull();
    expect(await server.oauth.tokens.find(second)).not.toBeNull();
    expect(await server.oauth.tokens.find(accessToken)).not.toBeNull();
    const allowed = server.notes.filter(({ action }) => action === "app_allowed");
    expect(allowed.map(({ details }) => details["replaced"])).toEqual([undefined, undefined, 1]);
  });
});
