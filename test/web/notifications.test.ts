import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { lookAt, signInUrl, useBrowser } from "../support/browser.ts";
import { launchChromium } from "../support/chromium.ts";
import { pushDelivery, pushWorker, usePushService } from "../support/push-browser.ts";
import { startPushService } from "../support/push-service.ts";
import { patience } from "../support/session-page.ts";
import { useGateway } from "../support/use-gateway.ts";

const used = useGateway({ agents: true, config: { allowPrivateAddresses: ["127.0.0.1"] } });
const browser = useBrowser([], launchChromium);

test("a push arrives while the page is closed, its action allows a permission, and the agent continues", async () => {
  const { world, gateway } = used;
  const { api, app } = gateway;
  const origin = new URL(app.baseUrl).origin;
  const service = await startPushService();
  const visit = await browser.stranger();
  const { context, page } = visit;
  const subscription = await usePushService(context, service);
  await context.grantPermissions(["notifications"], { origin });
  await page.goto(await signInUrl(gateway));
  await page.waitForURL(new URL("/", app.baseUrl).href);
  await page.goto(new URL("/settings", app.baseUrl).href);
  await page.getByRole("switch", { name: "Notify me in this browser" }).click();
  await page.getByText("This browser", { exact: true }).first().waitFor({ timeout: patience.timeout });
  await page.getByRole("switch", { name: "Show requests, with Allow and Deny" }).click();
  const admin = await gateway.client(["admin"]);
  const preferences = async () => (await admin.get("/api/push/preferences")).body;
  await expect.poll(preferences, patience).toMatchObject({ showRequests: true });
  await lookAt(visit, "notifications");

  const other = await context.newPage();
  const deliver = await pushDelivery(context, other, origin);
  const worker = await pushWorker(context);
  await page.close();

  const dir = world.repository;
  const asked = await api.ask({ agent: "claude-code", dir, prompt: "write pushed.txt with by push", waitMs: 40_000 });
  expect(asked.activity).toBe("needs_permission");
  await expect.poll(() => subscription.messages().length, patience).toBeGreaterThan(0);
  const message = subscription.messages().at(-1);
  expect(message).toMatchObject({ type: "notice", kind: "needs_permission", sessionId: asked.sessionId });
  await deliver(message);
  await expect
    .poll(() => worker.shown(), patience)
    .toMatchObject([{ actions: [{ action: "allow" }, { action: "deny" }] }]);
  await worker.click("allow");
  expect(await worker.shown()).toMatchObject([{ title: "Allowed" }]);
  await expect.poll(() => existsSync(join(dir, "pushed.txt")), patience).toBe(true);
});
