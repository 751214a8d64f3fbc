import { expect, test } from "vitest";
import { expectFlawless, lookAt, signInUrl, useBrowser } from "../support/browser.ts";
import { patience } from "../support/session-page.ts";
import { useGateway } from "../support/use-gateway.ts";

const used = useGateway({ agents: "scripted" });
const browser = useBrowser();

test("two agents get one prompt, their changes are compared, and one is kept", async () => {
  const { gateway, world } = used;
  const visit = await browser.visit(await signInUrl(gateway));
  const { page } = visit;
  await page.getByRole("link", { name: "New session" }).first().click();
  const form = page.getByRole("form", { name: "New session" });
  await form.getByLabel("Folder").fill(world.repository);
  await form.getByLabel("First prompt").fill("Add the greeting.\nwrite made.txt with by the agent");
  await form.getByRole("button", { name: "Compare agents" }).click();
  await form.getByLabel("Permissions").selectOption("all");
  await lookAt(visit, "new-comparison");
  await form.getByRole("button", { name: "Start comparison" }).click();
  await page.waitForURL(/\/compare\//, { timeout: 120_000 });
  const cards = page.getByRole("listitem").filter({ has: page.getByRole("heading", { level: 2 }) });
  const first = cards.filter({ hasText: "(1)" });
  const second = cards.filter({ hasText: "(2)" });
  for (const card of [first, second]) {
    await card.getByText("made.txt", { exact: true }).waitFor({ timeout: 120_000 });
    await card.getByText("Ready").waitFor({ timeout: 120_000 });
  }
  await lookAt(visit, "comparison");
  await expectFlawless(visit, "a comparison");

  await second.getByRole("button", { name: /^Keep / }).click();
  const dialog = page.getByRole("dialog");
  await lookAt(visit, "comparison-keep");
  await dialog.getByRole("button", { name: "Keep this one" }).click();
  await second.getByText("Kept").waitFor({ timeout: 120_000 });
  await first.getByText(/Restore it with/).waitFor({ timeout: 120_000 });
  expect(await page.getByRole("button", { name: /^Keep / }).count()).toBe(0);
  await page.setViewportSize({ width: 390, height: 844 });
  await expect.poll(() => page.evaluate("document.documentElement.scrollWidth <= innerWidth"), patience).toBe(true);
  await lookAt(visit, "comparison-kept-phone");
  expect(visit.troubles()).toEqual([]);
  await gateway.api.post("/api/coding/coding_close_all", {});
}, 400_000);
