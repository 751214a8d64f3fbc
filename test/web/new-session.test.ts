import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ScriptRun } from "../../src/wire/folder-scripts.ts";
import { expectFlawless, lookAt, signInUrl, useBrowser } from "../support/browser.ts";
import { createWorld, startGateway, type TestGateway, type World } from "../support/gateway.ts";
import { prepareStore } from "../support/prepared-store.ts";
import { patience } from "../support/session-page.ts";
import { terminalText } from "../support/terminal-probe.ts";

const reader = {
  name: "reader",
  binary: "/bin/sh",
  startArgs: ["-c", "echo ready; while read -r line; do :; done"],
  readyPattern: "ready",
};

const run = promisify(execFile);
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

test("a folder's profile is edited, its setup script is watched while a session starts, and a repository is cloned next to it", async () => {
  const { app } = gateway;
  const inside = { path: join(world.repository, "inside"), from: join(world.repository, "source") };
  await mkdir(inside.path);
  await run("git", ["clone", "--quiet", "--bare", world.repository, inside.from]);
  await app.folders.add(world.repository, ["coding", "files"]);
  await writeFile(join(world.repository, ".postern.json"), JSON.stringify({ teardown: "echo bye" }));
  const owner = await gateway.client(["admin", "coding:read"]);
  const visit = await browser.visit(await signInUrl(gateway));
  const { page } = visit;
  const dialog = page.getByRole("dialog");
  await page.getByRole("link", { name: "Folders" }).click();
  await page.getByRole("button", { name: "Profile…" }).click();
  await dialog.getByText("A repository proposes a profile").waitFor();
  const setup = "echo preparing; until [ -e go ]; do sleep 0.1; done";
  await dialog.getByLabel("Setup script", { exact: true }).fill(setup);
  await dialog.getByLabel("Branch prefix").fill("team/");
  await dialog.getByLabel("Name").fill("API_TOKEN");
  await dialog.getByLabel("Value").fill("s3cret-5b");
  await dialog.getByRole("button", { name: "Add", exact: true }).click();
  await dialog.getByText("new value").waitFor();
  await lookAt(visit, "folder-profile-desktop");
  await dialog.getByRole("button", { name: "Approve" }).click();
  await expect.poll(() => dialog.getByText("A repository proposes a profile").count(), patience).toBe(0);
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect.poll(() => dialog.count(), patience).toBe(0);
  await page.getByRole("button", { name: "Profile…" }).click();
  await dialog.getByRole("list", { name: "Variables" }).getByText("API_TOKEN").waitFor();
  expect(await dialog.getByLabel("Setup script", { exact: true }).inputValue()).toBe(setup);
  expect(await page.content()).not.toContain("s3cret-5b");
  await dialog.getByRole("button", { name: "Cancel" }).click();

  await page.getByRole("button", { name: "Clone repository…" }).click();
  await dialog.getByLabel("Address").fill(inside.from);
  await dialog.getByLabel("Into folder").fill(inside.path);
  await dialog.getByLabel("Name").fill("copy");
  await visit.shoot("clone-desktop-light");
  await expectFlawless(visit, "a clone");
  await dialog.getByRole("button", { name: "Clone", exact: true }).click();
  await dialog.getByText("The repository is cloned and registered.").waitFor();
  await dialog.getByRole("button", { name: "Done" }).click();
  await page.getByRole("heading", { name: join(inside.path, "copy") }).waitFor();

  await page.getByRole("link", { name: "New session" }).first().click();
  const form = page.getByRole("form", { name: "New session" });
  await form.getByLabel("Folder").fill(world.repository);
  await form.getByRole("switch", { name: "Use a separate worktree" }).click();
  await form.getByRole("button", { name: "Open terminal" }).click();
  const watched = page.getByRole("region", { name: "Setup script" });
  await watched.getByText("The setup script runs.").waitFor();
  await expect.poll(() => terminalText(page), patience).toContain("preparing");
  await visit.shoot("setup-script-desktop-light");
  await expectFlawless(visit, "a setup script");
  const { body } = await owner.get<{ scripts: ScriptRun[] }>("/api/coding/scripts");
  await writeFile(join(body.scripts[0]?.dir ?? "", "go"), "");
  await page.waitForURL(/\/sessions\//, patience);
  await gateway.api.post("/api/coding/coding_close_all", {});

  const phone = await browser.visit(await signInUrl(gateway), { device: "phone" });
  await phone.page.goto(new URL("/folders", app.baseUrl).href);
  await phone.page.getByRole("button", { name: "Profile…" }).first().click();
  await phone.page.getByRole("dialog").getByLabel("Branch prefix").waitFor();
  await lookAt(phone, "folder-profile-phone");
  for (const { path } of await app.folders.list()) await app.folders.remove(path);
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
