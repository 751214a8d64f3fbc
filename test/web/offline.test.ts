import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { expectFlawless, useBrowser } from "../support/browser.ts";
import { freePort } from "../support/free-port.ts";
import { createWorld, type World } from "../support/gateway.ts";
import { prepareStore } from "../support/prepared-store.ts";
import { serveWorld } from "../support/serving-gateway.ts";
import { expectOnTerminal, openSession, patience } from "../support/session-page.ts";

/** It starts at once and reads what is typed. */
const reader = {
  name: "reader",
  binary: "/bin/sh",
  startArgs: ["-c", 'echo ready; while read -r line; do echo "got $line"; done'],
  readyPattern: "ready",
};

const browser = useBrowser();
let world: World;
let token: string;
beforeAll(async () => {
  world = await createWorld({ agents: false, config: { agents: [reader] } });
  token = await prepareStore(world, ["reader"]);
});
afterAll(() => world.close());

/** Paths of the requests that change something, from now on. */
function actsOf(page: Page): readonly string[] {
  const acts: string[] = [];
  page.on("request", (request) => {
    const { pathname } = new URL(request.url());
    if (/coding_ask|spawn|coding_close|coding_interrupt|coding_answer/.test(pathname)) acts.push(pathname);
  });
  return acts;
}

async function open() {
  const serving = await serveWorld(world, token, { port: await freePort() });
  const link = await serving.api.post<{ readonly url: string }>("/api/sign-in-links", {});
  const spawned = await serving.api.post<{ readonly sessionId: string }>("/api/coding/spawn", {
    agent: "reader",
    dir: world.repository,
  });
  const visit = await browser.visit(link.body.url);
  await visit.setOnline(true);
  return { ...serving, visit, page: visit.page, sessionId: spawned.body.sessionId };
}

test("what is done offline fails at once and says so, and nothing of it happens once the connection is back", async () => {
  const { visit, page, sessionId, api } = await open();
  await openSession(page, sessionId);
  await expectOnTerminal(page, "ready");
  await visit.settled();
  const prompt = page.getByRole("textbox", { name: /^Prompt to/ });
  const acts = actsOf(page);

  await visit.setOnline(false);
  await prompt.fill("delete everything");
  await prompt.press("Enter");
  await page.getByText("You are offline. Nothing was sent, and nothing will be sent later.").waitFor();
  await page.getByRole("button", { name: "Send" }).and(page.locator(":enabled")).waitFor();
  await expect.poll(() => prompt.inputValue()).toBe("delete everything");
  await page.getByText("The gateway cannot be reached.").waitFor();
  await visit.shoot("offline-act-desktop-light");
  expect(acts).toHaveLength(1);

  await visit.setOnline(true);
  await page.getByText("The gateway cannot be reached.").waitFor({ state: "detached", timeout: patience.timeout });
  await visit.settled();
  expect(acts).toHaveLength(1);
  await page.keyboard.press("End");
  expect(visit.troubles().filter((one) => !one.includes("ERR_INTERNET_DISCONNECTED"))).toEqual([]);
  await expectFlawless(visit, "a session after it was offline");
  await api.post("/api/coding/coding_close_all", {});
});

test("a request that is under way when the link goes ends at once, and says that it may have arrived", async () => {
  const { visit, page, sessionId, api } = await open();
  await openSession(page, sessionId);
  await expectOnTerminal(page, "ready");
  await visit.settled();
  await page.route("**/api/coding/coding_ask", () => undefined); // it is never answered
  const prompt = page.getByRole("textbox", { name: /^Prompt to/ });
  await prompt.fill("is anyone there");
  const asked = page.waitForRequest("**/api/coding/coding_ask");
  await prompt.press("Enter");
  await asked;
  await visit.setOnline(false);
  await page.getByText("The gateway did not respond.").waitFor();
  await expect.poll(() => prompt.inputValue()).toBe("is anyone there");
  await api.post("/api/coding/coding_close_all", {});
});

test("a double-click acts once", async () => {
  const { visit, page, sessionId, api } = await open();
  await page.goto(new URL(`/new?dir=${encodeURIComponent(world.repository)}`, page.url()).href);
  const acts = actsOf(page);
  await page.getByRole("button", { name: "Open terminal" }).and(page.locator(":enabled")).waitFor();
  // Both before the page has painted the first.
  await page.getByRole("form", { name: "New session" }).evaluate((form: HTMLFormElement) => {
    form.requestSubmit();
    form.requestSubmit();
  });
  await page.waitForURL(/\/sessions\//);
  expect(acts).toEqual(["/api/coding/spawn"]);
  expect(page.url()).not.toContain(sessionId);
  await visit.settled();
  await api.post("/api/coding/coding_close_all", {});
});

test("while the gateway is away it is said once, and not at all once it is back", async () => {
  const { visit, page, sessionId, server } = await open();
  const port = Number(new URL(server.url).port);
  await openSession(page, sessionId);
  await expectOnTerminal(page, "ready");
  await visit.settled();
  await server.end("SIGKILL");
  const news = page.getByText(/cannot be reached|connection (was|is) lost|connecting again|reconnecting/i);
  await page.getByText("The gateway cannot be reached.").waitFor({ timeout: patience.timeout });
  // Also after the page has tried to read the session again.
  await page.waitForEvent("requestfailed", (request) => request.url().includes("coding_read_session"));
  await page.waitForEvent("requestfailed", (request) => request.url().includes("coding_read_session"));
  await expect.poll(() => news.allTextContents()).toHaveLength(1);
  await visit.shoot("gateway-away-desktop-light");
  const again = await serveWorld(world, token, { port });
  await expect.poll(() => news.count(), patience).toBe(0);
  await expectOnTerminal(page, "ready");
  await visit.shoot("gateway-back-desktop-light");
  await again.api.post("/api/coding/coding_close_all", {});
});
