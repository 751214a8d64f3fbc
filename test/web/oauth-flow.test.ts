import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { connectedAppSchema, oauthPaths } from "../../src/wire/oauth.ts";
import { signInUrl, useBrowser } from "../support/browser.ts";
import { awaitCallback } from "../support/oauth-callback.ts";
import { decidingToken } from "../support/oauth-client.ts";
import { beginJourney, type Journey } from "../support/oauth-journey.ts";
import { createMcpApp, listThroughMcp, mcpConnection } from "../support/oauth-mcp-app.ts";
import { useGateway } from "../support/use-gateway.ts";

// From the 401 of /mcp to a tool's answer and out again, the owner deciding in real Chromium.

const used = useGateway({ agents: false });
const browser = useBrowser();
let mcpUrl = "";
beforeAll(() => {
  mcpUrl = `${used.gateway.app.baseUrl}${oauthPaths.mcp}`;
});

const native = { client_name: "Nightly bot", token_endpoint_auth_method: "none" } as const;

/** As the owner, who looks at what is connected and throws all of it out. */
async function disconnectAll(): Promise<void> {
  const { url } = used.gateway;
  const headers = { authorization: `Bearer ${await decidingToken(used.gateway)}` };
  const listed = await fetch(`${url}/api/oauth/apps`, { headers });
  const { apps } = z.object({ apps: z.array(connectedAppSchema) }).parse(await listed.json());
  for (const { appId } of apps) {
    const gone = await fetch(`${url}/api/oauth/apps/${encodeURIComponent(appId)}`, { method: "DELETE", headers });
    expect(gone.status).toBe(204);
  }
}

async function press(page: Page, answer: "Allow" | "Deny"): Promise<void> {
  await page.getByRole("button", { name: new RegExp(`^${answer}`) }).click();
}

describe("the owner, signed in, looks at who asks and for what, and", () => {
  let journey: Journey;
  beforeAll(async () => {
    journey = await beginJourney(mcpUrl);
  });

  test("allows it: with oauth4webapi, from registering to being thrown out", async () => {
    const visit = await browser.visit(await signInUrl(used.gateway));
    const { redirectUri, arrived } = await awaitCallback();
    const client = await journey.register({ ...native, redirect_uris: ["http://127.0.0.1/callback"] });
    const errand = await journey.begin(client, { redirectUri });
    await visit.page.goto(errand.url.href);
    await expect.poll(() => visit.page.textContent("body")).toContain("Nightly bot");
    await press(visit.page, "Allow");
    const tokens = await errand.finish(await arrived);
    await visit.page.getByText("Back in the app").waitFor();
    expect(tokens.scope.split(" ").toSorted((one, two) => one.localeCompare(two))).toEqual([
      "coding:read",
      "coding:write",
    ]);
    expect(await listThroughMcp(mcpUrl, tokens.accessToken)).toBe(0);
    const refreshed = await journey.refresh(client, tokens.refreshToken);
    expect(await listThroughMcp(mcpUrl, refreshed.accessToken)).toBe(0);
    await journey.revoke(client, refreshed.accessToken);
    await expect(listThroughMcp(mcpUrl, refreshed.accessToken)).rejects.toThrow(/401|[Uu]nauthorized/);
  });

  test("denies it: the app is told so, and gets nothing", async () => {
    const visit = await browser.visit(await signInUrl(used.gateway));
    const { redirectUri, arrived } = await awaitCallback();
    const client = await journey.register({ ...native, redirect_uris: ["http://127.0.0.1/callback"] });
    const errand = await journey.begin(client, { redirectUri });
    await visit.page.goto(errand.url.href);
    await press(visit.page, "Deny");
    const answer = await arrived;
    expect(Object.fromEntries(answer.searchParams)).toMatchObject({
      error: "access_denied",
      state: errand.url.searchParams.get("state"),
      iss: journey.server.issuer,
    });
    await expect(errand.finish(answer)).rejects.toMatchObject({ error: "access_denied" });
  });

  test("signs in first, when the browser is not: and comes back to the same request", async () => {
    const stranger = await browser.stranger();
    const { redirectUri, arrived } = await awaitCallback();
    const client = await journey.register({ ...native, redirect_uris: ["http://127.0.0.1/callback"] });
    const errand = await journey.begin(client, { redirectUri });
    await stranger.page.goto(errand.url.href);
    await stranger.page.waitForURL((url) => url.pathname === "/sign-in");
    // The link opens in the same browser, as it does for who reads it in the terminal; the page that waited goes on.
    const waiting = stranger.page;
    const other = await stranger.context.newPage();
    await other.goto(await signInUrl(used.gateway));
    await other.waitForURL(new URL("/", used.gateway.app.baseUrl).href);
    await waiting.waitForURL((url) => url.pathname === errand.url.pathname);
    await press(waiting, "Allow");
    expect((await errand.finish(await arrived)).accessToken).not.toBe("");
  });
});

test("the MCP SDK's own client is let in by consent, works, refreshes by itself, and is out when its app is disconnected", async () => {
  const visit = await browser.visit(await signInUrl(used.gateway));
  const { redirectUri, arrived } = await awaitCallback();
  const app = createMcpApp(redirectUri);
  await expect(listThroughMcp(mcpUrl, app)).rejects.toMatchObject({ name: "UnauthorizedError" });
  await visit.page.goto(app.sentTo()?.href ?? "");
  await press(visit.page, "Allow");
  await mcpConnection(mcpUrl, app).transport.finishAuth((await arrived).searchParams);
  expect(await listThroughMcp(mcpUrl, app)).toBe(0);
  app.spoilAccessToken();
  expect(await listThroughMcp(mcpUrl, app)).toBe(0);
  const { access_token: accessToken = "" } = app.tokens() ?? {};
  await disconnectAll();
  await expect.poll(() => listThroughMcp(mcpUrl, accessToken).catch(String)).toMatch(/401|[Uu]nauthorized/);
  await expect(listThroughMcp(mcpUrl, app), "it has to ask anew").rejects.toMatchObject({ name: "UnauthorizedError" });
});
