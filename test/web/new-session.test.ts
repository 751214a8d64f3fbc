import { afterAll, beforeAll, expect, test } from "vitest";
import { expectFlawless, signInUrl, useBrowser } from "../support/browser.ts";
import { createWorld, startGateway, type TestGateway, type World } from "../support/gateway.ts";
import { prepareStore } from "../support/prepared-store.ts";
import { patience } from "../support/session-page.ts";

const reader = {
  name: "reader",
  binary: "/bin/sh",
  startArgs: ["-c", "echo ready; while read -r line; do :; done"],
  readyPattern: "ready",
};

const browser = useBrowser();
let world: World;
let gateway: TestGateway;
beforeAll(async () => {
  world = await createWorld({ agents: false, config: { agents: [reader] } });
  await prepareStore(world, ["reader"]);
  gateway = await startGateway(world);
});
afterAll(async () => {
  await gateway.close();
  await world.close();
});

test("what was filled in for a new session is there after a reload, and the way back from the session leads to where one came from", async () => {
  const visit = await browser.visit(await signInUrl(gateway));
  const { page } = visit;
  await page.getByRole("link", { name: "Agents" }).click();
  await page.getByRole("heading", { level: 1, name: "Agents" }).waitFor();
  await page.getByRole("link", { name: "New session" }).first().click();
  const form = page.getByRole("form", { name: "New session" });
  await form.getByLabel("Folder").fill(world.repository);
  await form.getByLabel("First prompt").fill("A long prompt\nthat took a while to write");
  await form.getByLabel("Model").fill("some-model");
  await page.reload();
  await expect
    .poll(() => form.getByLabel("First prompt").inputValue(), patience)
    .toBe("A long prompt\nthat took a while to write");
  await expect.poll(() => form.getByLabel("Folder").inputValue()).toBe(world.repository);
  await expect.poll(() => form.getByLabel("Model").inputValue()).toBe("some-model");
  await visit.shoot("new-session-draft-desktop-light");
  await expectFlawless(visit, "a new session's draft");

  await form.getByLabel("First prompt").fill("");
  await form.getByLabel("Model").fill("");
  await form.getByRole("button", { name: "Open terminal" }).click();
  await page.waitForURL(/\/sessions\//, patience);
  await page.goBack();
  await page.getByRole("heading", { level: 1, name: "Agents" }).waitFor();
  // The draft has become a session.
  await page.getByRole("link", { name: "New session" }).first().click();
  await form.waitFor();
  await expect.poll(() => form.getByLabel("First prompt").inputValue()).toBe("");
  await gateway.api.post("/api/coding/coding_close_all", {});
});

test("while a page's code is on its way its place is not empty", async () => {
  const visit = await browser.visit(await signInUrl(gateway));
  const { page } = visit;
  await page.getByRole("heading", { level: 1, name: "Sessions" }).waitFor();
  const release = Promise.withResolvers<void>();
  await page.route("**/assets/folders-page*.js", async (route) => {
    await release.promise;
    await route.continue();
  });
  await page.getByRole("link", { name: "Folders" }).click();
  await page.getByRole("status", { name: "Loading page" }).waitFor();
  await visit.shoot("loading-page-desktop-light");
  release.resolve();
  await page.getByRole("heading", { level: 1, name: "Folders" }).waitFor();
  await visit.settled();
  expect(visit.troubles()).toEqual([]);
});

test("on the first visit the list of sessions leads to the agents", async () => {
  const empty = await createWorld({ agents: false });
  const first = await startGateway(empty);
  try {
    const visit = await browser.visit(await signInUrl(first));
    await visit.page.getByText("Set up an agent first").waitFor();
    await visit.shoot("first-visit-desktop-light");
    await visit.page.getByRole("link", { name: "Set up agent" }).click();
    await visit.page.getByRole("heading", { level: 1, name: "Agents" }).waitFor();
  } finally {
    await first.close();
    await empty.close();
  }
});
