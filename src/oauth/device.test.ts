import { expect, test } from "vitest";
import { startAuthorizationServer } from "../../test/support/authorization-server.ts";
import { describeOnBothStores, type OpenTestStore } from "../../test/support/database.ts";
import { errorCode } from "../../test/support/error-code.ts";
import { oauthPaths } from "../wire/oauth.ts";
import { deviceGrant } from "./client-metadata.ts";

async function setUp(openStore: OpenTestStore) {
  const server = await startAuthorizationServer(await openStore());
  const clientId = await server.newClient({
    redirect_uris: undefined,
    grant_types: [deviceGrant, "refresh_token"],
  });
  const { status, body } = await server.post(oauthPaths.deviceAuthorization, {
    client_id: clientId,
    scope: "coding:read coding:drive",
    resource: `${server.baseUrl}/mcp`,
  });
  expect({ status, body }).toMatchObject({
    status: 200,
    body: { verification_uri: `${server.baseUrl}${oauthPaths.device}`, expires_in: 600 },
  });
  const userCode = String(body["user_code"]);
  const poll = () =>
    server.post(oauthPaths.token, {
      grant_type: deviceGrant,
      client_id: clientId,
      device_code: String(body["device_code"]),
    });
  return { ...server, server, clientId, userCode, poll };
}

describeOnBothStores("the device grant", (openStore) => {
  test("issues tokens to a device once its code is approved, with the selected scopes", async () => {
    const { oauth, owner, userCode, poll, clientId, notes } = await setUp(openStore);
    expect(userCode).toMatch(/^[B-Z]{4}-[B-Z]{4}$/);
    expect(await poll()).toMatchObject({ status: 400, body: { error: "authorization_pending" } });
    expect(await oauth.describeDevice(` ${userCode.toLowerCase().replace("-", " ")}`, owner)).toEqual({
      client: { clientId, name: "A test", origin: "registered" },
      destination: null,
      scopes: [
        { scope: "coding:read", ticked: true },
        { scope: "coding:drive", ticked: false },
      ],
    });
    await oauth.decideDevice({ userCode, action: "allow", scopes: ["coding:read"] }, owner);
    const { status, body } = await poll();
    expect({ status, body }).toMatchObject({ status: 200, body: { scope: "coding:read" } });
    const token = await oauth.tokens.find(String(body["access_token"]));
    expect(token).toMatchObject({ scopes: new Set(["coding:read"]), resource: "mcp", accountId: owner.accountId });
    expect(await oauth.apps.list(owner.accountId)).toMatchObject([{ clientId, host: null, scopes: ["coding:read"] }]);
    expect(notes.map(({ action }) => action)).toEqual(["client_registered", "app_allowed", "app_token_issued"]);
    expect(await poll()).toMatchObject({ status: 400, body: { error: "invalid_grant" } });
  });

  test("reports to the device that its code was denied", async () => {
    const { oauth, owner, userCode, poll } = await setUp(openStore);
    await oauth.decideDevice({ userCode, action: "deny", scopes: [] }, owner);
    expect(await poll()).toMatchObject({ status: 400, body: { error: "access_denied" } });
    expect(await errorCode(oauth.describeDevice(userCode, owner))).toBe("invalid_request");
  });

  test("is decided once, and never for more scopes than the account holds or the device requested", async () => {
    const { oauth, owner, userCode } = await setUp(openStore);
    const decide = (scopes: readonly ("coding:read" | "coding:drive" | "logs:read")[], decider = owner) =>
      errorCode(oauth.decideDevice({ userCode, action: "allow", scopes }, decider));
    expect(await decide(["logs:read"])).toBe("invalid_request");
    expect(await decide([])).toBe("invalid_request");
    expect(await decide(["coding:drive"], { ...owner, scopes: new Set(["coding:read"]) })).toBe("insufficient_scope");
    const both = await Promise.all([decide(["coding:read"]), decide(["coding:read"])]);
    expect(both).toEqual(expect.arrayContaining(["invalid_request", null]));
    expect(await oauth.apps.list(owner.accountId)).toHaveLength(1);
    expect(await errorCode(oauth.decideDevice({ userCode: "BBBB-BBBB", action: "deny", scopes: [] }, owner))).toBe(
      "invalid_request",
    );
  });
});
