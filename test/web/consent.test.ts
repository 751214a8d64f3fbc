import { once } from "node:events";
import { createServer } from "node:http";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { oauthPaths } from "../../src/wire/oauth.ts";
import { expectFlawless, lookAt, signInUrl, useBrowser, type Visit } from "../support/browser.ts";
import { beginErrand, beginOnDevice } from "../support/consent-errand.ts";
import { createWorld, startGateway } from "../support/gateway.ts";
import { awaitCallback } from "../support/oauth-callback.ts";
import { startTlsFront } from "../support/tls-front.ts";
import { useGateway } from "../support/use-gateway.ts";

const foreignName = "elsewhere.example";

const used = useGateway({ agents: false });
const browser = useBrowser([
  `--host-resolver-rules=MAP ${foreignName} 127.0.0.1`,
  // Newer browsers ask before a page reaches the loopback; the gateway has to be safe in those that do not.
  "--disable-features=LocalNetworkAccessChecks",
  "--ignore-certificate-errors",
]);

/** A page of somebody else: whatever is put into it. */
let foreignPage = "<!doctype html><title>Elsewhere</title>";
const foreign = createServer((_request, response) => {
  response.setHeader("content-type", "text/html");
  response.end(foreignPage);
});
let foreignUrl = "";
beforeAll(async () => {
  foreign.listen(0, "127.0.0.1");
  await once(foreign, "listening");
  const address = foreign.address();
  foreignUrl = `http://${foreignName}:${typeof address === "object" && address !== null ? address.port : 0}/`;
});
afterAll(() => {
  foreign.closeAllConnections();
  foreign.close();
});

async function signedIn(options?: Parameters<typeof browser.visit>[1]): Promise<Visit> {
  const visit = await browser.visit(await signInUrl(used.gateway), options);
  await visit.settled();
  visit.troubles();
  return visit;
}

const allow = (page: Page): Promise<void> => page.getByRole("button", { name: "Allow" }).click();
const deny = (page: Page): Promise<void> => page.getByRole("button", { name: "Deny" }).click();

test("a browser that is not signed in is led to the sign-in and back; what was un-ticked is not given, what drives is not ticked at first", async () => {
  const { redirectUri, arrived } = await awaitCallback();
  const { url, redeem } = await beginErrand(used.gateway, redirectUri);
  const stranger = await browser.stranger();
  await stranger.page.goto(url.href);
  await stranger.page.getByRole("heading", { name: "Sign in to Postern" }).waitFor();
  // The link opens in another tab, and the one that waits goes on by itself.
  const other = await stranger.context.newPage();
  await other.goto(await signInUrl(used.gateway));
  await stranger.page.waitForURL(url.href);
  await stranger.page.getByRole("heading", { name: "Authorize “Nightly bot”?" }).waitFor();
  stranger.troubles();
  await lookAt(stranger, "consent-desktop");
  // The picture in docs/oauth.md.
  await stranger.page.setViewportSize({ width: 560, height: 880 });
  await stranger.page.emulateMedia({ colorScheme: "light" });
  await stranger.shoot("consent");
  const box = (name: RegExp) => stranger.page.getByRole("checkbox", { name });
  await expect.poll(() => box(/coding:drive/).isChecked()).toBe(false);
  await expect.poll(() => box(/coding:write/).isChecked()).toBe(true);
  await box(/coding:write/).uncheck();
  await allow(stranger.page);
  const answer = await arrived;
  expect(answer.searchParams.get("state")).toBe("of the test");
  expect(answer.searchParams.get("iss")).toBe(used.gateway.app.baseUrl);
  expect(await redeem(answer)).toEqual(["coding:read"]);
});

test("on a phone, and on the narrowest, everything is in sight without scrolling sideways; deny is told to the client", async () => {
  const { redirectUri, arrived } = await awaitCallback();
  const { url } = await beginErrand(used.gateway, redirectUri, {
    name: "An assistant with quite a long name, which wraps on a phone",
  });
  const visit = await signedIn({ device: "phone" });
  await visit.page.goto(url.href);
  await lookAt(visit, "consent-phone");
  await visit.page.setViewportSize({ width: 320, height: 640 });
  expect(await visit.page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(320);
  await visit.page.getByRole("button", { name: "Deny" }).scrollIntoViewIfNeeded();
  await visit.shoot("consent-320");
  await deny(visit.page);
  const answer = await arrived;
  expect(answer.searchParams.get("error")).toBe("access_denied");
  expect(answer.searchParams.get("code")).toBeNull();
});

test("the keyboard is enough, nothing ticked is told, and the chosen appearance counts", async () => {
  const { redirectUri, arrived } = await awaitCallback();
  const { url, redeem } = await beginErrand(used.gateway, redirectUri, { scope: "coding:read" });
  const visit = await signedIn();
  await visit.page.evaluate("localStorage.setItem('postern.theme', 'dark')");
  await visit.page.goto(url.href);
  expect(await visit.page.evaluate("getComputedStyle(document.body).backgroundColor")).toBe("rgb(17, 20, 21)");
  await visit.page.keyboard.press("Tab");
  await visit.page.keyboard.press("Space");
  await visit.page.keyboard.press("Tab");
  expect(await visit.page.evaluate("document.activeElement.textContent")).toBe("Deny");
  await visit.page.keyboard.press("Tab");
  await visit.page.locator("button[value=allow][aria-disabled=false]").waitFor();
  await visit.page.keyboard.press("Enter");
  await visit.page.getByRole("alert").getByText("Select at least one").waitFor();
  await expectFlawless(visit, "nothing ticked");
  await visit.page.getByRole("checkbox").check();
  await visit.page.locator("button[value=allow][aria-disabled=false]").focus();
  await visit.page.keyboard.press("Enter");
  expect(await redeem(await arrived)).toEqual(["coding:read"]);
});

test("a link on another site leads a signed-in browser to the page, without another sign-in", async () => {
  const { url } = await beginErrand(used.gateway, "https://app.example/callback");
  const visit = await signedIn();
  foreignPage = `<!doctype html><title>Elsewhere</title><a href="${url.href.replaceAll("&", "&amp;")}">Connect</a>`;
  await visit.page.goto(foreignUrl);
  const paths: string[] = [];
  visit.page.on("framenavigated", (frame) => paths.push(new URL(frame.url()).pathname));
  await visit.page.getByText("Connect").click();
  await visit.page.getByRole("heading", { name: "Authorize “Nightly bot”?" }).waitFor();
  expect(visit.page.url()).toBe(url.href);
  // The strict cookie stayed behind the first time: a page of ours led on.
  expect(paths).toEqual([oauthPaths.authorize, oauthPaths.authorize]);
});

test("clickjacking: in a frame of another site the page shows nothing", async () => {
  const { url } = await beginErrand(used.gateway, "https://app.example/callback");
  const visit = await signedIn();
  foreignPage = `<!doctype html><title>Elsewhere</title><iframe src="${url.href.replaceAll("&", "&amp;")}"></iframe>`;
  await visit.page.goto(foreignUrl);
  await visit.settled();
  const [, frame] = visit.page.frames();
  expect(await frame?.getByText("Allow").count()).toBe(0);
  expect(frame?.url()).toBe("chrome-error://chromewebdata/");
});

test("cross-site request forgery: a form of another site's page decides nothing, with the cookie and even the key", async () => {
  const { redirectUri, arrived } = await awaitCallback();
  const { url } = await beginErrand(used.gateway, redirectUri);
  const visit = await signedIn();
  const key = z.string().parse(await visit.page.evaluate("localStorage.getItem('postern.key')"));
  const fields = [...url.searchParams, ["action", "allow"], ["postern_key", key]] as const;
  const inputs = fields.map(([name, value]) => `<input name="${name}" value="${value}">`).join("");
  const action = `${url.origin}${url.pathname}`;
  foreignPage = `<!doctype html><title>Elsewhere</title><form method="post" action="${action}">${inputs}<button>Win a prize</button></form>`;
  // Another port of the same host gets the strict cookie too.
  for (const place of [foreignUrl, foreignUrl.replace(foreignName, "localhost")]) {
    await visit.page.goto(place);
    const answer = visit.page.waitForResponse((response) => response.url().startsWith(action));
    await visit.page.getByRole("button").click();
    expect((await answer).status()).toBe(403);
    expect(visit.page.url()).not.toContain("code=");
  }
  expect(await Promise.race([arrived, Promise.resolve("nothing arrived")])).toBe("nothing arrived");
  await visit.page.getByText("Request from another page").waitFor();
  visit.troubles();
  await lookAt(visit, "oauth-refused");
});

test("a browser whose key is gone signs in anew, and comes back", async () => {
  const { url } = await beginErrand(used.gateway, "https://app.example/callback");
  const visit = await signedIn();
  await visit.page.evaluate("localStorage.removeItem('postern.key')");
  await visit.page.goto(url.href);
  await visit.page.getByRole("heading", { name: "Sign in to Postern" }).waitFor();
  await visit.page.goto(await signInUrl(used.gateway));
  await visit.page.getByRole("heading", { name: "Authorize “Nightly bot”?" }).waitFor();
});

test("mistakes are told in the same look, and nobody is sent anywhere", async () => {
  const { url } = await beginErrand(used.gateway, "https://app.example/callback");
  const visit = await signedIn({ device: "phone" });
  url.searchParams.set("client_id", "nobody");
  const answer = await visit.page.goto(url.href);
  expect(answer?.status()).toBe(400);
  expect(visit.page.url()).toBe(url.href);
  visit.troubles(); // that the page is a mistake's, the browser itself tells as an error
  await lookAt(visit, "oauth-mistake");
});

test("of two clicks, each gives one code at most, and the client is left with one that is good", async () => {
  const { redirectUri, arrived } = await awaitCallback();
  const { url, redeem } = await beginErrand(used.gateway, redirectUri);
  const visit = await signedIn();
  const posts: string[] = [];
  visit.page.on("request", (request) => request.method() === "POST" && posts.push(request.url()));
  await visit.page.goto(url.href);
  await visit.page.locator("button[value=allow][aria-disabled=false]").dblclick();
  expect(await redeem(await arrived)).toEqual(["coding:read", "coding:write"]);
  expect(posts.filter((post) => post.endsWith(oauthPaths.authorize))).toHaveLength(1);
});

test("without JavaScript, over https, a browser that is signed in decides with the cookie alone, but on nothing that drives", async () => {
  const front = await startTlsFront();
  const world = await createWorld({ agents: false, config: { baseUrl: front.url } });
  const gateway = await startGateway(world);
  onTestFinished(async () => {
    await gateway.close();
    await world.close();
    front.close();
  });
  front.leadTo(Number(new URL(gateway.url).port));
  const { redirectUri, arrived } = await awaitCallback();
  const { url, redeem } = await beginErrand(gateway, redirectUri);
  expect(url.origin).toBe(front.url);
  const visit = await browser.visit(await signInUrl(gateway));
  const plain = await browser.stranger({ javaScript: false });
  await plain.context.addCookies(await visit.context.cookies());
  await plain.page.goto(url.href);
  await plain.page.getByRole("heading", { name: "Authorize “Nightly bot”?" }).waitFor();
  await plain.page.getByText(/^“.*” cannot be allowed without JavaScript\.$/).waitFor();
  await plain.page.getByRole("checkbox", { name: /coding:read/ }).uncheck();
  await plain.page.getByRole("checkbox", { name: /coding:write/ }).uncheck();
  await allow(plain.page);
  await plain.page.getByRole("alert").getByText("Select at least one").waitFor();
  expect(await plain.page.getByRole("checkbox", { name: /coding:drive/ }).count()).toBe(0);
  await plain.page.goto(url.href);
  await plain.page.getByRole("checkbox", { name: /coding:drive/ }).check();
  await plain.page.getByRole("checkbox", { name: /coding:write/ }).uncheck();
  await allow(plain.page);
  expect(await redeem(await arrived)).toEqual(["coding:read"]);
});

describe("a device that shows a code", () => {
  test("is let in by who types it, in any case and without its dash", async () => {
    const device = await beginOnDevice(used.gateway);
    const visit = await signedIn();
    await visit.page.goto(device.verification_uri);
    await lookAt(visit, "device-code");
    await visit.page.getByLabel("Code").fill("aaaa aaaa");
    await visit.page.keyboard.press("Enter");
    await visit.page.getByRole("alert").waitFor();
    visit.troubles(); // that the page is a mistake's, the browser itself tells as an error
    await lookAt(visit, "device-wrong");
    await visit.page.getByLabel("Code").fill(device.user_code.toLowerCase().replaceAll("-", ""));
    await visit.page.getByRole("button", { name: "Continue" }).click();
    await visit.page.getByText(device.user_code, { exact: true }).waitFor();
    await lookAt(visit, "device-decide");
    await visit.page.getByRole("checkbox", { name: /coding:write/ }).uncheck();
    expect(await device.ask()).toBe("authorization_pending");
    await allow(visit.page);
    await visit.page.getByRole("heading", { name: "The device is connected" }).waitFor();
    await lookAt(visit, "device-done");
    await expect.poll(() => device.ask(), { timeout: 15_000, interval: 1_000 }).toBe("coding:read");
  });

  test("whose address was opened on a phone is asked for all the same, and can be denied", async () => {
    const device = await beginOnDevice(used.gateway);
    const stranger = await browser.stranger({ device: "phone" });
    await stranger.page.goto(device.verification_uri_complete);
    await stranger.page.getByRole("heading", { name: "Sign in to Postern" }).waitFor();
    await stranger.page.goto(await signInUrl(used.gateway));
    await stranger.page.getByRole("heading", { name: "Does the device show this code?" }).waitFor();
    stranger.troubles();
    await lookAt(stranger, "device-decide-phone");
    await deny(stranger.page);
    await stranger.page.getByRole("heading", { name: "The device was denied" }).waitFor();
    await expect.poll(() => device.ask(), { timeout: 15_000, interval: 1_000 }).toBe("access_denied");
  });
});
