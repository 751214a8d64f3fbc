import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { lookAt, signInUrl, useBrowser } from "../support/browser.ts";
import { launchChromium } from "../support/chromium.ts";
import { pushDelivery, pushWorker, usePushService } from "../support/push-browser.ts";
import { hashOf, startPushService } from "../support/push-service.ts";
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
  const delay = page.getByRole("combobox", { name: "While Postern is visible on a computer" });
  await delay.selectOption("0");
  await expect.poll(preferences, patience).toMatchObject({ showRequests: true, desktopDelaySeconds: 0 });
  await lookAt(visit, "notifications");

  const other = await context.newPage();
  const deliver = await pushDelivery(context, other, origin);
  const worker = await pushWorker(context);
  await page.close();

  const dir = world.repository;
  const asked = await api.ask({ agent: "claude-code", dir, prompt: "write pushed.txt with by push", waitMs: 120_000 });
  expect(asked.activity).toBe("needs_permission");
  await expect.poll(() => subscription.messages().length, patience).toBeGreaterThan(0);
  const message = subscription.messages().at(-1);
  expect(message).toMatchObject({ type: "notice", kind: "needs_permission", sessionId: asked.sessionId });
  await deliver(message);
  await expect
    .poll(() => worker.shown(), patience)
    .toMatchObject([{ actions: [{ action: "allow" }, { action: "deny" }] }]);
  await worker.click("allow");
  await expect.poll(() => worker.shown()).toMatchObject([{ title: "Allowed" }]);
  await expect.poll(() => existsSync(join(dir, "pushed.txt")), patience).toBe(true);
});

test("a tap opens the request in the window that is open, and signing out ends the notifications of this browser only", async () => {
  const { world, gateway } = used;
  const { api, app } = gateway;
  const origin = new URL(app.baseUrl).origin;
  const service = await startPushService();
  const [one, other] = [
    await browser.stranger({ device: "phone", colorScheme: "dark" }),
    await browser.stranger({ device: "phone" }),
  ];
  const subscriptions = [];
  for (const { context, page } of [one, other]) {
    subscriptions.push(await usePushService(context, service));
    await context.grantPermissions(["notifications"], { origin });
    await page.goto(await signInUrl(gateway));
    await page.waitForURL(new URL("/", app.baseUrl).href);
    await page.goto(new URL("/settings", app.baseUrl).href);
    await page.getByRole("switch", { name: "Notify me in this browser" }).click();
    await page
      .getByRole("button", { name: /^Send a test/ })
      .first()
      .waitFor({ timeout: patience.timeout });
  }
  const [mine, theirs] = subscriptions;
  await lookAt(other, "notifications-phone");
  await one.page
    .getByRole("button", { name: /^Send a test/ })
    .last()
    .click();
  await one.page.getByText("The push service accepted it.").waitFor({ timeout: patience.timeout });
  expect([...(mine?.messages() ?? []), ...(theirs?.messages() ?? [])]).toContainEqual({ type: "test" });

  const prompt = "write tapped.txt with by tap";
  const asked = await api.ask({ agent: "claude-code", dir: world.repository, prompt, waitMs: 120_000 });
  const [permission] = asked.permissions;
  const deliver = await pushDelivery(one.context, one.page, origin);
  const worker = await pushWorker(one.context);
  await worker.noteWindows();
  const notice = {
    ...{ type: "notice", kind: "needs_permission" },
    ...{ sessionId: asked.sessionId, permissionId: permission?.permissionId },
  };
  await expect
    .poll(async () => {
      await deliver(notice); // a worker that just ended takes the next one; the same notice is shown once
      return worker.shown();
    }, patience)
    .toMatchObject([{ title: "An agent asks for permission", body: "Open the session to see more.", actions: [] }]);
  await worker.click();
  await expect.poll(() => worker.opened()).toEqual(["focus"]);
  await one.page.waitForURL(new RegExp(`/sessions/${asked.sessionId}#permission-`), { timeout: patience.timeout });
  await expect
    .poll(() => one.page.evaluate("document.activeElement?.id"), patience)
    .toBe(`permission-${permission?.permissionId}`);
  await lookAt(one, "notification-tapped");
  // Answered on the page: the notification of the other browser is withdrawn.
  await one.page.getByRole("button", { name: "Allow", exact: true }).click();
  await expect.poll(() => theirs?.messages().map(({ type }) => type), patience).toContain("withdraw");

  await one.page.goto(new URL("/settings", app.baseUrl).href);
  await one.page.getByRole("button", { name: "Sign out", exact: true }).click();
  await one.page.waitForURL(/\/sign-in/, { timeout: patience.timeout });
  await expect.poll(() => one.page.evaluate(`localStorage.getItem("test.push")`), patience).toBeNull();
  const admin = await gateway.client(["admin", "coding:read"]);
  const listed = async () => JSON.stringify((await admin.get("/api/push/subscriptions")).body);
  expect(await listed()).not.toContain(hashOf(mine?.endpoint ?? ""));
  expect(await listed()).toContain(hashOf(theirs?.endpoint ?? ""));
});
