import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { oauthPaths } from "../../src/wire/oauth.ts";
import { createWorld } from "../support/gateway.ts";
import { createOAuthPeer, decidingToken, manyAddresses, newChallenge } from "../support/oauth-client.ts";
import { serveDocument, testCertificatePath } from "../support/oauth-documents.ts";
import { beginJourney, type Errand, type Journey } from "../support/oauth-journey.ts";
import { createMcpApp, listThroughMcp, type McpApp, mcpConnection } from "../support/oauth-mcp-app.ts";
import { prepareStore } from "../support/prepared-store.ts";
import { serveWorld } from "../support/serving-gateway.ts";
import { useGateway } from "../support/use-gateway.ts";

// Honest apps, from the 401 of /mcp to the tool and out again. The owner decides by a personal token; in Chromium: test/web/oauth-flow.

const used = useGateway({ agents: false, config: manyAddresses });
let ownerToken = "";
beforeAll(async () => {
  ownerToken = await decidingToken(used.gateway);
});

const native = { client_name: "An app", token_endpoint_auth_method: "none", application_type: "native" } as const;

/** The owner allows what the app asks for: its request, sent as the decision. */
async function allow({ url }: Pick<Errand, "url">, token = ownerToken): Promise<URL> {
  const form = new URLSearchParams(url.searchParams);
  form.set("action", "allow");
  const headers = { authorization: `Bearer ${token}` };
  const answer = await fetch(`${url.origin}${url.pathname}`, {
    method: "POST",
    redirect: "manual",
    headers,
    body: form,
  });
  const location = answer.headers.get("location");
  if (answer.status !== 303 || location === null) throw new Error(`${answer.status}: ${await answer.text()}`);
  return new URL(location);
}

async function allowOnDevice(journey: Journey, userCode: string): Promise<number> {
  const answer = await fetch(new URL(oauthPaths.device, journey.server.issuer), {
    method: "POST",
    redirect: "manual",
    headers: { authorization: `Bearer ${ownerToken}` },
    body: new URLSearchParams({ action: "allow", user_code: userCode }),
  });
  await answer.body?.cancel();
  return answer.status;
}

/** The SDK's own client: refused, authorized, working, with an invalid token, and working again. */
async function signInAndWork(mcpUrl: string, app: McpApp, token = ownerToken): Promise<void> {
  await expect(listThroughMcp(mcpUrl, app)).rejects.toMatchObject({ name: "UnauthorizedError" });
  const sentTo = app.sentTo();
  if (sentTo === null) throw new Error("It did not request authorization.");
  const { transport } = mcpConnection(mcpUrl, app);
  await transport.finishAuth((await allow({ url: sentTo }, token)).searchParams);
  expect(await listThroughMcp(mcpUrl, app)).toBe(0);
  const before = app.tokens();
  app.spoilAccessToken();
  expect(await listThroughMcp(mcpUrl, app)).toBe(0);
  expect(app.tokens()?.refresh_token).not.toBe(before?.refresh_token);
}

describe.for(["localhost", "127.0.0.1"])("an app that was given the address http://%s:…/mcp", (host) => {
  const mcpUrl = (): string => used.gateway.url.replace("127.0.0.1", host) + oauthPaths.mcp;

  test("with oauth4webapi: registers, is authorized, works, refreshes, revokes its tokens, and loses access", async () => {
    const journey = await beginJourney(mcpUrl());
    const redirectUri = "http://127.0.0.1:4711/callback";
    const client = await journey.register({ ...native, redirect_uris: [redirectUri] });
    const errand = await journey.begin(client, { redirectUri, scope: "coding:read" });
    const first = await errand.finish(await allow(errand));
    expect(first.scope).toBe("coding:read");
    expect(await listThroughMcp(mcpUrl(), first.accessToken)).toBe(0);
    const second = await journey.refresh(client, first.refreshToken);
    expect(await listThroughMcp(mcpUrl(), second.accessToken)).toBe(0);
    await journey.revoke(client, second.refreshToken);
    await expect(journey.refresh(client, second.refreshToken)).rejects.toMatchObject({ error: "invalid_grant" });
    await journey.revoke(client, second.accessToken);
    await expect(listThroughMcp(mcpUrl(), second.accessToken)).rejects.toThrow(/401|[Uu]nauthorized/);
  });

  test("with the MCP SDK's own client: the same", async () => {
    await signInAndWork(mcpUrl(), createMcpApp("http://127.0.0.1:4711/callback"));
  });
});

test("RFC 8252 section 7.3: it listens on another port than it registered", async () => {
  const journey = await beginJourney(`${used.gateway.app.baseUrl}${oauthPaths.mcp}`);
  const client = await journey.register({ ...native, redirect_uris: ["http://127.0.0.1/callback"] });
  const errand = await journey.begin(client, { redirectUri: "http://127.0.0.1:49152/callback" });
  const { accessToken } = await errand.finish(await allow(errand));
  expect(await listThroughMcp(journey.resource, accessToken)).toBe(0);
});

test("RFC 8628: on a device without a browser, after the owner typed its code elsewhere", async () => {
  const journey = await beginJourney(`${used.gateway.app.baseUrl}${oauthPaths.mcp}`);
  const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";
  const client = await journey.register({
    ...native,
    grant_types: [deviceGrant, "refresh_token"],
    response_types: [],
    redirect_uris: [],
  });
  const device = await journey.beginOnDevice(client);
  expect(new URL(device.page).pathname).toBe(oauthPaths.device);
  await expect(device.look()).rejects.toMatchObject({ error: "authorization_pending" });
  expect(await allowOnDevice(journey, device.userCode)).toBeLessThan(400);
  const first = await device.look();
  expect(await listThroughMcp(journey.resource, first.accessToken)).toBe(0);
  await expect(device.look(), "its code is good once").rejects.toMatchObject({ error: "invalid_grant" });
});

test("RFC 8628 section 5.1: a user code works once, and an unknown one is refused", async () => {
  const journey = await beginJourney(`${used.gateway.app.baseUrl}${oauthPaths.mcp}`);
  const client = await journey.register({
    ...native,
    grant_types: ["urn:ietf:params:oauth:grant-type:device_code", "refresh_token"],
    response_types: [],
    redirect_uris: [],
  });
  const { userCode } = await journey.beginOnDevice(client);
  expect(await allowOnDevice(journey, userCode)).toBeLessThan(400);
  expect(await allowOnDevice(journey, userCode)).toBe(400);
  expect(await allowOnDevice(journey, "BBBB-BBBB")).toBe(400);
});

test("a client whose id is the URL of its metadata document is authorized without registering", async () => {
  const redirectUri = "http://127.0.0.1:4711/callback";
  const { clientId, fetched } = await serveDocument({ ...native, redirect_uris: [redirectUri] });
  const world = await createWorld({
    agents: false,
    config: { ...manyAddresses, allowPrivateAddresses: ["localhost"] },
    env: { NODE_EXTRA_CA_CERTS: testCertificatePath },
  });
  onTestFinished(() => world.close()); // hooks run last first: after its gateway
  const token = await prepareStore(world, []);
  const { server } = await serveWorld(world, token);
  const mcpUrl = `${server.url.replace("127.0.0.1", "localhost")}${oauthPaths.mcp}`;

  const journey = await beginJourney(mcpUrl);
  expect(journey.server.client_id_metadata_document_supported).toBe(true);
  const client = { client_id: clientId };
  const errand = await journey.begin(client, { redirectUri });
  const first = await errand.finish(await allow(errand, token));
  expect(await listThroughMcp(mcpUrl, first.accessToken)).toBe(0);
  const second = await journey.refresh(client, first.refreshToken);
  await journey.revoke(client, second.accessToken);
  await expect(listThroughMcp(mcpUrl, second.accessToken)).rejects.toThrow(/401|[Uu]nauthorized/);

  const app = createMcpApp(redirectUri, { metadataUrl: clientId });
  await signInAndWork(mcpUrl, app, token);
  expect(app.sentTo()?.searchParams.get("client_id")).toBe(clientId);
  expect(fetched()).toBeGreaterThan(0);

  const lying = await serveDocument({ ...native, client_id: clientId, redirect_uris: ["http://127.0.0.1/evil"] });
  const forged = await journey.begin({ client_id: lying.clientId }, { redirectUri: "http://127.0.0.1/evil" });
  await expect(allow(forged, token), "a document that calls itself by another's id").rejects.toThrow(
    /^Error: 400|^400/,
  );
  await server.end("SIGTERM");
});

test("a metadata document on this machine is not even fetched unless the configuration allows it", async () => {
  const redirectUri = "http://127.0.0.1:4711/callback";
  const { clientId, fetched } = await serveDocument({ ...native, redirect_uris: [redirectUri] });
  const peer = createOAuthPeer(used.gateway.app.baseUrl, ownerToken);
  const decision = await peer.decide({ clientId, clientSecret: null, redirectUri }, newChallenge());
  expect([decision.status, decision.location, fetched()]).toEqual([400, null, 0]);
});
