import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { lookAt, signInUrl, useBrowser } from "../support/browser.ts";
import { expectOnTerminal, expectTurn, openSession, patience } from "../support/session-page.ts";
import { useGateway } from "../support/use-gateway.ts";

// A program with a message that no template knows.
const strange = {
  name: "strange",
  binary: "/bin/sh",
  startArgs: [
    "-c",
    "echo 'A newer version is out.'; echo 'Press any key to start.'; read -r key; echo ready; exec cat",
  ],
  readyPattern: "^ready",
};
const used = useGateway({ agents: "scripted", config: { agents: [strange] } });
const browser = useBrowser();

test("an agent that shows a dialog of its own is listed under needs you, and answered on the page", async () => {
  const { world, gateway } = used;
  const { api } = gateway;
  const start = join(world.root, "scripted", "start.json");
  await mkdir(dirname(start), { recursive: true });
  await writeFile(start, JSON.stringify({ dialog: "Do you trust this folder?" }));
  const ask = (agent: string, prompt: string) => api.ask({ agent, dir: world.repository, prompt, waitMs: 40_000 });
  const [asked, other] = await Promise.all([ask("scripted", "say hello there"), ask("strange", "hi")]);
  expect([asked.activity, other.activity]).toEqual(["needs_attention", "needs_attention"]);

  const visit = await browser.visit(await signInUrl(gateway));
  const { page } = visit;
  await page.getByRole("link", { name: "Sessions" }).first().click();
  const needsYou = page.getByRole("region", { name: "Needs you" });
  const lamps = needsYou.getByText("Needs attention").filter({ visible: true });
  await expect.poll(() => lamps.count(), patience).toBe(2);
  await expect.poll(() => needsYou.getByText("Trust this folder?").count()).toBe(1);
  await lookAt(visit, "attention-list");

  await openSession(page, asked.sessionId);
  const card = page.getByRole("region", { name: "scripted needs attention: Trust this folder?" });
  await card.getByText("Do you trust this folder?").waitFor({ timeout: patience.timeout });
  await lookAt(visit, "attention-choices");
  await card.getByRole("button", { name: "Yes, go on" }).click();
  await expect.poll(() => card.count(), patience).toBe(0);
  await expectTurn(page, "hello there");

  await openSession(page, other.sessionId);
  const unknown = page.getByRole("region", { name: "strange needs attention" });
  await unknown.getByText("Press any key to start.").waitFor({ timeout: patience.timeout });
  await expectOnTerminal(page, "Press any key to start.");
  await lookAt(visit, "attention-unknown");
  await unknown.getByRole("button", { name: "Open terminal" }).click();
  await expect.poll(() => page.evaluate("document.activeElement.className"), patience).toContain("xterm");
  await page.keyboard.press("Enter");
  await expect.poll(() => unknown.count(), patience).toBe(0);

  const phone = await browser.visit(await signInUrl(gateway), { device: "phone" });
  const third = await ask("strange", "again");
  await openSession(phone.page, third.sessionId);
  await phone.page.getByRole("region", { name: "strange needs attention" }).waitFor({ timeout: patience.timeout });
  await lookAt(phone, "attention-phone");
});
