import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { z } from "zod";
import { oauthPaths } from "../../src/wire/oauth.ts";
import { beyondTheEdge, expectFlawless, lookAt, signInUrl, useBrowser, type Visit } from "../support/browser.ts";
import { awaitCallback } from "../support/oauth-callback.ts";
import { beginJourney } from "../support/oauth-journey.ts";
import { listThroughMcp } from "../support/oauth-mcp-app.ts";
import { patience } from "../support/session-page.ts";
import { useGateway } from "../support/use-gateway.ts";

const used = useGateway({ agents: false });
const browser = useBrowser();

async function open(page: Page, path: string, heading: string): Promise<void> {
  await page.goto(new URL(path, used.gateway.app.baseUrl).href);
  await page.getByRole("heading", { level: 1, name: heading }).waitFor();
}

/** A device in Chromium that keeps passkeys and says yes to everything. */
async function giveAuthenticator({ context, page }: Visit): Promise<void> {
  const devtools = await context.newCDPSession(page);
  await devtools.send("WebAuthn.enable");
  await devtools.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
}

/** What stands in a field to be copied. */
function shown(page: Page, label: string): Promise<string> {
  return page.getByRole("dialog").getByLabel(label, { exact: true }).innerText();
}

test("a link in a browser that is signed in already asks first, and is not used up by staying", async () => {
  const { app } = used.gateway;
  const visit = await browser.visit(await signInUrl(used.gateway));
  const { page } = visit;
  const anna = await app.accounts.directory.add({ name: "anna", scopes: ["coding:read"] });
  const { url } = await app.accounts.signIn.createUrl(anna.accountId, app.baseUrl);
  for (const answer of ["Stay signed in", "Use link"]) {
    await page.goto("about:blank");
    await page.goto(url);
    await page.getByText("You are signed in as owner. Sign in as the link’s account?").waitFor();
    expect(await app.accounts.browsers.list(anna.accountId)).toEqual([]);
    await expectFlawless(visit, "a link for somebody else");
    await page.getByRole("button", { name: answer }).click();
    await page.getByRole("heading", { level: 1, name: "Sessions" }).waitFor();
  }
  expect(await app.accounts.browsers.list(anna.accountId)).toHaveLength(1);
  await app.accounts.directory.remove(anna.accountId);
});

test("a passkey that was added in Settings signs in where the link's sign-in has ended, until it is removed", async () => {
  const visit = await browser.visit(await signInUrl(used.gateway));
  const { page } = visit;
  await giveAuthenticator(visit);
  await open(page, "/settings", "Settings");
  await page.getByRole("button", { name: "Add passkey" }).click();
  const name = page.getByRole("dialog").getByLabel("Name");
  await expect.poll(() => name.inputValue()).toMatch(/^Chrome.* on Linux$/);
  await name.fill("The drawer’s key");
  await page.getByRole("button", { name: "Continue" }).click();
  const passkeys = page.getByRole("list", { name: "Passkeys" });
  await passkeys.getByText("The drawer’s key").waitFor();
  await passkeys.getByText("never used").waitFor();

  await page.getByRole("button", { name: "Sign out", exact: true }).click();
  await page.getByRole("heading", { name: "Sign in to Postern" }).waitFor();
  expect(await page.evaluate("localStorage.getItem('postern.key')")).toBeNull();
  await page.getByRole("button", { name: "Sign in with a passkey" }).click();
  await page.getByRole("heading", { level: 1, name: "Sessions" }).waitFor();

  await open(page, "/settings", "Settings");
  await passkeys.getByText(/last used/).waitFor();
  await expectFlawless(visit, "settings with a passkey");
  await page.getByRole("button", { name: "Remove The drawer’s key" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await page.getByText("No passkeys yet. This account signs in with links.").waitFor();
  await page.getByRole("button", { name: "Sign out", exact: true }).click();
  await page.getByRole("button", { name: "Sign in with a passkey" }).click();
  await page.getByRole("alert").waitFor();
  expect(await page.getByRole("alert").innerText()).not.toMatch(/undefined|Error/);
  expect(visit.troubles().filter((trouble) => !trouble.includes("401"))).toEqual([]);

  const numbers = new URL("/sign-in", used.gateway.app.baseUrl);
  numbers.hostname = "127.0.0.1";
  await page.goto(numbers.href);
  const there = page.getByRole("link", { name: "open this page on localhost" });
  await expect.poll(() => there.getAttribute("href")).toBe(new URL("/sign-in", used.gateway.app.baseUrl).href);
  expect(await page.getByRole("button", { name: "Sign in with a passkey" }).count()).toBe(0);
});

test("an account that the owner adds signs in by its link, sees what it may and why not the rest, and is thrown out", async () => {
  const owner = await browser.visit(await signInUrl(used.gateway));
  await open(owner.page, "/accounts", "Accounts");
  await owner.page.getByRole("button", { name: "Add account" }).click();
  await owner.page.getByLabel("Name").fill("Bea");
  await owner.page.getByRole("button", { name: "Add", exact: true }).click();
  await owner.page.getByRole("heading", { name: "A link for Bea" }).waitFor();
  const link = await shown(owner.page, "Link");
  await owner.page.getByRole("button", { name: "Done" }).click();
  await owner.page.getByRole("heading", { name: "Bea" }).waitFor();

  const guest = await browser.visit(link);
  const asked: string[] = [];
  guest.page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  const pages = guest.page.getByRole("navigation", { name: "Pages" });
  await pages.getByRole("link", { name: "Connected apps" }).waitFor();
  expect(await pages.getByRole("link").allInnerTexts()).toEqual([
    "Sessions",
    "Watch",
    "Agents",
    "Connected apps",
    "Settings",
  ]);
  expect(await guest.page.getByRole("link", { name: "New session" }).count()).toBe(0);
  for (const [path, heading] of [
    ["/folders", "Folders"],
    ["/tokens", "Tokens"],
    ["/accounts", "Accounts"],
    ["/audit", "Audit log"],
  ] as const) {
    await open(guest.page, path, heading);
    await guest.page.getByText(/You are signed in as Bea\. This page needs the scope/).waitFor();
  }
  await open(guest.page, "/new", "New session");
  await guest.page.getByText("coding:write").waitFor();
  await open(guest.page, "/apps", "Connected apps");
  await guest.page.getByText("No connected apps").waitFor();
  expect(await guest.page.getByText("Known clients").count()).toBe(0);
  await open(guest.page, "/settings", "Settings");
  await guest.page.getByRole("list", { name: "Signed-in browsers" }).getByText("This browser").waitFor();
  await guest.settled();
  const owners = /^\/api\/(folders|tokens|accounts|audit|oauth\/clients)/;
  expect(asked.filter((path) => owners.test(path))).toEqual([]);
  await expectFlawless(guest, "settings of an account");

  await owner.page.getByRole("button", { name: "Remove Bea" }).click();
  await owner.page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await expect.poll(() => owner.page.getByRole("heading", { name: "Bea" }).count(), patience).toBe(0);
  await guest.page.getByRole("heading", { name: "Sign in to Postern" }).waitFor({ timeout: patience.timeout });
  await expectFlawless(owner, "accounts");
});

test("a token is shown once, works in its folder, and not once it is revoked", async () => {
  const { gateway, world } = used;
  const visit = await browser.visit(await signInUrl(gateway));
  const { page } = visit;
  await open(page, "/tokens", "Tokens");
  await page.getByRole("button", { name: "Create token" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("editor");
  await dialog.getByLabel("Limit to folders").fill(`${world.root}/nowhere`);
  await dialog.getByRole("button", { name: "Create" }).click();
  await dialog.getByText(/nowhere/).waitFor();
  await dialog.getByLabel("Limit to folders").fill(world.repository);
  await dialog.getByRole("button", { name: "Create" }).click();
  await page.getByRole("heading", { name: "The token “editor”" }).waitFor();
  const token = await shown(page, "Token");
  expect(token).toMatch(/^pst_/);
  const status = async (): Promise<number> =>
    (await fetch(`${gateway.url}/api/me`, { headers: { authorization: `Bearer ${token}` } })).status;
  expect(await status()).toBe(200);
  await page.getByRole("button", { name: "Done" }).click();
  await page.getByText(`Only in ${world.repository}`).waitFor();
  expect(await page.content()).not.toContain(token);
  await page.reload();
  await page.getByText(`Only in ${world.repository}`).waitFor();
  expect(await page.content()).not.toContain(token);
  await page.getByRole("button", { name: "Revoke editor" }).click();
  await dialog.getByRole("button", { name: "Revoke" }).click();
  await expect.poll(status, patience).toBe(401);
});

test("a client is added with a secret that is shown once, and removed", async () => {
  const visit = await browser.visit(await signInUrl(used.gateway), { colorScheme: "dark" });
  const { page } = visit;
  await open(page, "/apps", "Connected apps");
  await page.getByRole("button", { name: "Add a client" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("Chat bridge");
  await dialog.getByLabel("Redirect URIs").fill("https://chat.example/callback");
  await dialog.getByLabel("Can keep a secret").check();
  await dialog.getByRole("button", { name: "Add" }).click();
  await page.getByRole("heading", { name: "The client “Chat bridge”" }).waitFor();
  const secret = await shown(page, "Client secret");
  expect(secret.length).toBeGreaterThan(20);
  await expectFlawless(visit, "a client's secret");
  await page.getByRole("button", { name: "Done" }).click();
  await page.getByRole("heading", { name: "Chat bridge" }).waitFor();
  expect(await page.content()).not.toContain(secret);
  await page.getByRole("button", { name: "Remove Chat bridge" }).click();
  await dialog.getByRole("button", { name: "Remove" }).click();
  await expect.poll(() => page.getByRole("heading", { name: "Chat bridge" }).count(), patience).toBe(0);
});

test("an app that was let in shows what it may, and its tokens end as it is disconnected; the list of deeds says both", async () => {
  const mcpUrl = `${used.gateway.app.baseUrl}${oauthPaths.mcp}`;
  const journey = await beginJourney(mcpUrl);
  const { redirectUri, arrived, port } = await awaitCallback();
  const claimed = { client_name: "Nightly\u202Ebot", token_endpoint_auth_method: "none" };
  const client = await journey.register({ ...claimed, redirect_uris: ["http://127.0.0.1/callback"] });
  const errand = await journey.begin(client, { redirectUri });
  const visit = await browser.stranger();
  const { page } = visit;
  await page.goto(errand.url.href);
  await page.getByRole("heading", { name: "Sign in to Postern" }).waitFor();
  // In the tab that waits: the way back is kept.
  await page.goto(await signInUrl(used.gateway));
  await page.getByRole("button", { name: /^Allow/ }).click();
  const { accessToken } = await errand.finish(await arrived);
  expect(await listThroughMcp(mcpUrl, accessToken)).toBe(0);

  await open(page, "/apps", "Connected apps");
  const app = page.getByRole("list", { name: "Connected apps" }).getByRole("listitem").first();
  await app.getByRole("heading", { name: "Nightly bot" }).waitFor();
  await app.getByText(`A program on the browser’s machine (127.0.0.1:${port})`).waitFor();
  await expect.poll(() => app.getByRole("list", { name: "Scopes" }).innerText()).toBe("read sessions\nprompt agents");
  visit.troubles(); // that nobody was signed in, the browser itself told as an error
  await lookAt(visit, "apps-connected-desktop");
  await page.getByRole("button", { name: "Disconnect Nightly bot" }).click();
  await page.getByRole("dialog").getByText("Its tokens stop working immediately").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Disconnect" }).click();
  await page.getByText("No connected apps").waitFor();
  await expect.poll(() => listThroughMcp(mcpUrl, accessToken).catch(String), patience).toMatch(/401|[Uu]nauthorized/);

  await page.keyboard.press("g");
  await page.keyboard.press("w");
  await page.getByRole("heading", { level: 1, name: "Audit log" }).waitFor();
  await page.getByLabel("Kind").selectOption("app");
  for (const deed of [/owner approved Nightly bot/, /owner disconnected Nightly bot/]) {
    await page.getByRole("listitem").filter({ hasText: deed }).first().waitFor();
  }
  await expect.poll(() => page.getByText("signed in with a link").count(), patience).toBe(0);
});

/** The pages of this room that no other test looks at, and what is there when they have what they show. */
const pages = {
  desktop: [
    { name: "accounts", path: "/accounts", shows: "Accounts" },
    { name: "audit", path: "/audit", shows: "Audit log" },
  ],
  phone: [
    { name: "apps", path: "/apps", shows: "Connected apps" },
    { name: "tokens", path: "/tokens", shows: "Tokens" },
    { name: "accounts", path: "/accounts", shows: "Accounts" },
    { name: "audit", path: "/audit", shows: "Audit log" },
    { name: "settings", path: "/settings", shows: "Settings" },
  ],
} as const;

test.for(["desktop", "phone"] as const)(
  "on a %s they are shown in both colours, and nothing moves sideways",
  async (device) => {
    const visit = await browser.visit(await signInUrl(used.gateway), { device });
    if (device === "phone") await visit.page.setViewportSize({ width: 320, height: 700 });
    for (const { name, path, shows } of pages[device]) {
      await open(visit.page, path, shows);
      await visit.settled();
      await lookAt(visit, `${name}-${device}-access`);
      const tooWide = await visit.page.evaluate(beyondTheEdge);
      expect(z.array(z.string()).parse(tooWide), name).toEqual([]);
    }
  },
);

test("one new link is made at a time, and an account that is gone already leaves the list", async () => {
  const { directory } = used.gateway.app.accounts;
  const [anna, ben] = [
    await directory.add({ name: "first of two", scopes: ["coding:read"] }),
    await directory.add({ name: "second of two", scopes: ["coding:read"] }),
  ];
  const { page } = await browser.visit(await signInUrl(used.gateway));
  await open(page, "/accounts", "Accounts");
  const held = Promise.withResolvers<void>();
  await page.route("**/api/accounts/*/sign-in-links", async (route) => {
    await held.promise;
    await route.continue();
  });
  await page.getByRole("button", { name: "New link for first of two" }).click();
  const second = page.getByRole("button", { name: "New link for second of two" });
  await expect.poll(() => second.isDisabled(), patience).toBe(true);
  held.resolve();
  await page.getByRole("dialog").getByRole("heading", { name: "A link for first of two" }).waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Done" }).click();

  await page.getByRole("button", { name: "Remove first of two" }).click();
  await directory.remove(anna.accountId);
  await page.getByRole("dialog").getByRole("button", { name: "Remove", exact: true }).click();
  const row = page.getByRole("list", { name: "Accounts" }).getByText("first of two", { exact: true });
  await expect.poll(() => row.count(), patience).toBe(0);
  await directory.remove(ben.accountId);
});
