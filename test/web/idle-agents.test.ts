import { expect, test } from "vitest";
import { signInUrl, useBrowser } from "../support/browser.ts";
import { openSession, patience } from "../support/session-page.ts";
import { useGateway } from "../support/use-gateway.ts";

const used = useGateway({ agents: "scripted", config: { idleTimeout: "15s" } });
const browser = useBrowser();

test("a session's page keeps its agent running; turned off, the agent ends when nobody looks, and the list says why", async () => {
  const { world, gateway } = used;
  const { sessionId } = await gateway.api.ask({
    agent: "scripted",
    dir: world.repository,
    prompt: "say hello",
    waitMs: 40_000,
  });
  const { page } = await browser.visit(await signInUrl(gateway));
  await openSession(page, sessionId);
  const keep = page.getByRole("switch", { name: "Keep running" });
  const isKept = async () => (await gateway.api.read(sessionId)).keepRunning;
  await keep.click();
  await expect.poll(isKept, patience).toBe(true);
  await expect.poll(() => keep.isChecked(), patience).toBe(true);
  await keep.click();
  await expect.poll(isKept, patience).toBe(false);
  await page.getByRole("link", { name: "Sessions" }).first().click();
  const ended = page
    .getByText(/^Ended after \d+ seconds idle$/)
    .filter({ visible: true })
    .first();
  await ended.waitFor({ timeout: patience.timeout });
}, 120_000);
