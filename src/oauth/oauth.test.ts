import { expect, test } from "vitest";
import { startAuthorizationServer } from "../../test/support/authorization-server.ts";
import { describeOnBothStores } from "../../test/support/database.ts";
import { oauthPaths } from "../wire/oauth.ts";

describeOnBothStores("the authorization server", (openStore) => {
  test("authorizes a client: registration, decision, code, token, refresh", async () => {
    const server = await startAuthorizationServer(await openStore());
    const clientId = await server.newClient();
    const { accessToken, refreshToken } = await server.letIn(clientId);
    const found = await server.oauth.tokens.find(accessToken);
    expect(found).toMatchObject({
      accountId: server.owner.accountId,
      app: { clientId },
      scopes: new Set(["coding:read", "coding:write"]),
      resource: "all",
    });
    const refreshed = await server.post(oauthPaths.token, {
      grant_type: "refresh_token",
      client_id: clientId,
      refresh_token: refreshToken,
    });
    expect(refreshed).toMatchObject({ status: 200, body: { token_type: "Bearer", scope: "coding:read coding:write" } });
    expect(await server.oauth.tokens.find(String(refreshed.body["access_token"]))).not.toBeNull();
  });
});
