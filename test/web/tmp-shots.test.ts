import { test } from "vitest";
import { lookAt, signInUrl, useBrowser } from "../support/browser.ts";
import { useGateway } from "../support/use-gateway.ts";

const used = useGateway({ agents: "scripted" });
const browser = useBrowser();
test.for(["desktop", "phone"] as const)("shots %s", async (device) => {
  const { world, gateway } = used;
  const { sessionId } = await gateway.api.ask({
    agent: "scripted",
    dir: world.repository,
    prompt: "say hello to the page",
    permissionMode: "all",
    waitMs: 30_000,
  });
  const visit = await browser.visit(await signInUrl(gateway), { device });
  const { page } = visit;
  await visit.settled();
  await lookAt(visit, `t-sessions-${device}`);
  await page.goto(new URL("/new", gateway.app.baseUrl).href);
  const form = page.getByRole("form", { name: "New session" });
  await form.getByLabel("First prompt").fill("Do this");
  await form.getByLabel("Folder").fill(world.repository);
  await form.getByLabel("First prompt").focus();
  await form.getByRole("switch", { name: /worktree/ }).click();
  await visit.settled();
  await lookAt(visit, `t-new-${device}`);
  await page.goto(new URL("/settings", gateway.app.baseUrl).href);
  await visit.settled();
  await lookAt(visit, `t-settings-${device}`);
  await page.getByLabel("Text size").selectOption("larger");
  await visit.shoot(`t-settings-larger-${device}`);
  await page.getByLabel("Text size").selectOption("standard");
  await page.goto(new URL("/tokens", gateway.app.baseUrl).href);
  await page
    .getByRole("button", { name: /Create token|New token|token/ })
    .first()
    .click();
  await visit.shoot(`t-token-${device}`);
  await page.goto(new URL(`/sessions/${sessionId}`, gateway.app.baseUrl).href);
  await visit.settled();
  await page.evaluate("document.activeElement.blur()");
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: /Page, session/ }).waitFor();
  await visit.settled();
  await lookAt(visit, `t-palette-${device}`);
});
