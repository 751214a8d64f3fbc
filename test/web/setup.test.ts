import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, expect, test } from "vitest";
import { expectFlawless, lookAt, signInUrl, useBrowser } from "../support/browser.ts";
import { loginAddress, makeScriptedMachine } from "../support/scripted-agents.ts";
import { expectOnTerminal, patience, typeIntoTerminal } from "../support/session-page.ts";
import { terminalText } from "../support/terminal-probe.ts";
import { makeTestFolder } from "../support/test-folder.ts";
import { useGateway } from "../support/use-gateway.ts";

// A machine with Claude Code and its key, without Codex, and with an npm that installs it. The tests go on where the one before ended.

const root = makeTestFolder("setup");
afterAll(() => rm(root, { recursive: true, force: true, maxRetries: 5 }));
const machine = await makeScriptedMachine(root, ["claude"]);
const used = useGateway({
  agents: false,
  env: { PATH: `${machine.bin}:/usr/bin:/bin`, OPENAI_API_KEY: "" },
});
const browser = useBrowser();
const waits = join(root, "npm-waits");

/** With the keyboard alone: Tab to it, out of a terminal with F6, and press. */
async function press(page: Page, role: "button" | "link", name: string): Promise<void> {
  const target = page.getByRole(role, { name, exact: true });
  await target.waitFor();
  for (let tabs = 0; tabs < 60; tabs += 1) {
    if (await target.evaluate((element) => element === element.ownerDocument.activeElement)) {
      await page.keyboard.press("Enter");
      return;
    }
    const inTerminal = await page.evaluate("document.activeElement?.classList.contains('xterm-helper-textarea')");
    await page.keyboard.press(inTerminal === true ? "F6" : "Tab");
  }
  throw new Error(`${name} cannot be reached with Tab.`);
}

async function openSetup(page: Page, name: string, title: string): Promise<void> {
  await page.goto(new URL(`/agents/${name}`, used.gateway.app.baseUrl).href);
  await page.getByRole("heading", { level: 1, name: `Set up ${title}` }).waitFor();
}

/** What runs, as the gateway tells it. */
async function runningErrands(page: Page): Promise<readonly string[]> {
  const setups = await used.gateway.client(["admin"]);
  const { body } = await setups.get<{ agents: { setupJobs: { kind: string; state: string }[] }[] }>(
    "/api/agents/setup",
  );
  expect(page.isClosed()).toBe(false);
  return body.agents.flatMap(({ setupJobs }) =>
    setupJobs.filter(({ state }) => state === "running").map(({ kind }) => kind),
  );
}

test("the first visit leads to an agent that is installed, logged in and made the default, with the keyboard alone", async () => {
  await used.gateway.app.agents.remove("claude-code"); // as on the first visit: it is only found
  await writeFile(waits, "");
  const visit = await browser.visit(await signInUrl(used.gateway));
  const { page } = visit;
  await press(page, "link", "Set up agent");
  await page.getByRole("heading", { level: 1, name: "Agents" }).waitFor();
  await page.getByText("No agents configured").waitFor();
  await expectFlawless(visit, "agents, none configured");
  await press(page, "link", "Set up Codex");
  await page.getByRole("heading", { level: 1, name: "Set up Codex" }).waitFor();
  await page.getByText("npm install --global @openai/codex").waitFor();
  await visit.settled();
  await lookAt(visit, "setup-missing-desktop");

  await press(page, "button", "Install from npm");
  await expectOnTerminal(page, "npm install --global @openai/codex");
  await page.reload(); // in the middle
  await expectOnTerminal(page, "npm install --global @openai/codex");
  expect((await machine.fileText("npm-calls")).split("\n").filter(Boolean)).toHaveLength(1);
  await press(page, "button", "Cancel installation");
  await page.getByRole("button", { name: "Install from npm" }).waitFor();
  expect(await runningErrands(page)).toEqual([]);
  expect(await terminalText(page)).toBe("");

  await press(page, "button", "Install from npm");
  await expectOnTerminal(page, "npm install --global @openai/codex");
  await rm(waits);
  await page.getByText("0.160.0").waitFor({ timeout: patience.timeout });
  await press(page, "button", "Use this program");
  await page.getByText("Not logged in yet.").waitFor();

  await press(page, "button", "Log in");
  await expectOnTerminal(page, "Code from the browser:");
  const link = page.getByRole("link", { name: "Open login.example" });
  await link.waitFor();
  await expect.poll(() => link.getAttribute("href")).toBe(loginAddress);
  await expect.poll(() => link.getAttribute("rel")).toBe("noopener noreferrer");
  await lookAt(visit, "setup-login-desktop");
  await typeIntoTerminal(page, "wrong");
  await page.getByText("The login failed (exit code 1).").waitFor({ timeout: patience.timeout });
  await press(page, "button", "Log in");
  await expectOnTerminal(page, /browser:\s*$/);
  await page.reload(); // in the middle, again
  await expectOnTerminal(page, /browser:\s*$/);
  await expect.poll(() => link.getAttribute("href")).toBe(loginAddress);
  await typeIntoTerminal(page, "1234");
  await page.getByText("Logged in.").waitFor({ timeout: patience.timeout });
  await press(page, "button", "Make default");
  await page.getByText("Used when a request does not name an agent.").waitFor();
  await page.getByText("Codex is ready.").waitFor();
  await lookAt(visit, "setup-ready-desktop");
  expect(await machine.fileText("npm-calls")).toBe("npm install --global @openai/codex\n".repeat(2));
  await page.goto(new URL("/audit", used.gateway.app.baseUrl).href);
  await page
    .getByText(/started installing.*codex.*from npm/)
    .first()
    .waitFor();
});

test("on a phone: a key stands for the log-in, another program is chosen by its path, and leaving the page ends a log-in", async () => {
  const visit = await browser.visit(await signInUrl(used.gateway), { device: "phone" });
  const { page } = visit;
  await openSetup(page, "claude-code", "Claude Code");
  await page.getByRole("button", { name: "Use this program" }).click();
  await page.getByText("Not needed: the gateway's environment has a key in ANTHROPIC_API_KEY.").waitFor();
  await page.getByText("Codex is used when a request does not name an agent.").waitFor();
  await lookAt(visit, "setup-key-phone");

  await openSetup(page, "codex", "Codex");
  await page.getByRole("button", { name: "Choose another program" }).click();
  await page.getByLabel("Program path").fill("/code/no/such/program");
  await page.getByRole("button", { name: "Use it" }).click();
  await page.getByRole("alert").getByText("/code/no/such/program is not an executable program").waitFor();
  visit.troubles(); // that it was refused, the browser itself tells as an error
  await page.getByLabel("Program path").fill(join(root, "elsewhere", "codex"));
  await page.getByRole("button", { name: "Use it" }).click();
  await page.getByText(join(root, "elsewhere", "codex")).waitFor();

  await page.getByRole("button", { name: "Log in with a code" }).click();
  await expectOnTerminal(page, "Code from the browser:");
  await page.getByRole("link", { name: "Open login.example" }).waitFor();
  await lookAt(visit, "setup-login-phone");
  expect(await runningErrands(page)).toEqual(["login"]);
  await page.getByRole("link", { name: "Agents" }).first().click();
  await expect.poll(() => runningErrands(page), patience).toEqual([]);
  await expectFlawless(visit, "agents on a phone");
});
