import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { expect, test } from "vitest";
import { expectFlawless, lookAt, signInUrl, useBrowser } from "../support/browser.ts";
import { permissionCaller } from "../support/permission-caller.ts";
import { openSession, patience } from "../support/session-page.ts";
import { useGateway } from "../support/use-gateway.ts";

const used = useGateway({ agents: true });
const browser = useBrowser();
const waitMs = 60_000;
const { askFor, untilIdle, close, inProject } = permissionCaller(used);

test.for([
  ["claude-code", "run"],
  ["codex", "escalate"],
] as const)(
  "%s: an answer that is remembered answers the second equal question, and not a similar one",
  { timeout: 200_000 },
  async ([agent, run]) => {
    const { world, gateway } = used;
    const [made, similar, quick] = ["made", "similar", "quick"].map((name) => `${name}-${agent}.txt`);
    const { sessionId } = (await askFor(agent, `${run} touch ${made}`)).asked;
    const again = (file: string | undefined) =>
      gateway.api.ask({ dir: world.repository, sessionId, prompt: `${run} touch ${file}`, waitMs });
    const exists = (file = ""): boolean => existsSync(inProject(file));

    const visit = await browser.visit(await signInUrl(gateway));
    const { page } = visit;
    await openSession(page, sessionId);
    const card = page.getByRole("region", { name: /asks: Run a command/ });
    await card.waitFor({ timeout: patience.timeout });
    const saved = page.getByRole("button", { name: "Allow and remember" });
    const words = page.getByRole("list", { name: "The rule in words" });
    const prefix = page.getByRole("textbox", { name: "Commands that start with" });
    const choose = async (choice: RegExp): Promise<void> => {
      await card.getByRole("button", { name: "Remember the answer" }).click();
      await page.getByRole("menuitem", { name: choice }).click();
      await words.waitFor({ timeout: patience.timeout });
    };

    await choose(/^In this folder until/);
    await expect.poll(() => words.textContent(), patience).toMatch(/^Allow commands that start with .* until /);
    await page.setViewportSize({ width: 390, height: 844 });
    await lookAt(visit, `rule-${agent}-phone`);
    await page.setViewportSize({ width: 1440, height: 900 });
    await lookAt(visit, `rule-${agent}`);
    await page.keyboard.press("Escape");
    await choose(/^For this session/);
    await prefix.fill("touch something-else.txt");
    await page.getByText("This does not cover the request that waits.").waitFor({ timeout: patience.timeout });
    await expect.poll(() => saved.isDisabled()).toBe(true);
    await prefix.fill("*");
    await page.getByRole("textbox", { name: /Type it again/ }).waitFor({ timeout: patience.timeout });
    await expectFlawless(visit, "a broad rule", "all");
    await expect.poll(() => saved.isDisabled()).toBe(true);
    await prefix.fill(`touch ${made}`);
    await saved.and(page.locator(":enabled")).click({ timeout: patience.timeout });
    await expect.poll(() => exists(made), patience).toBe(true);
    await untilIdle(sessionId);

    await rm(inProject(made ?? ""));
    expect((await again(made)).permissions).toEqual([]);
    await untilIdle(sessionId);
    expect(exists(made)).toBe(true);

    expect((await again(similar)).permissions).toHaveLength(1);
    await card.getByRole("button", { name: "Allow", exact: true }).waitFor({ timeout: patience.timeout });
    await lookAt(visit, `permission-${agent}`);
    // The second key of `g a` opens the list of agents, and allows nothing.
    await page.getByRole("log").focus();
    await page.keyboard.press("g");
    await page.keyboard.press("a");
    await page.waitForURL(/\/agents$/);
    expect((await gateway.api.read(sessionId)).permissions).toHaveLength(1);
    await openSession(page, sessionId);
    await card.waitFor({ timeout: patience.timeout });
    const denial = card.getByRole("textbox", { name: /What should it do instead/ });
    // A key that comes too early does nothing.
    await expect
      .poll(async () => {
        if ((await denial.count()) === 0) await page.keyboard.press("d");
        return denial.count();
      }, patience)
      .toBe(1);
    await denial.press("Control+Enter");
    await untilIdle(sessionId);
    expect(exists(similar)).toBe(false);

    expect((await again(quick)).permissions).toHaveLength(1);
    await page.getByRole("link", { name: "Sessions" }).first().click();
    const row = page.getByRole("region", { name: "Needs you" }).locator(`[data-session-id="${sessionId}"]`);
    await row.getByText(`touch ${quick}`).waitFor({ timeout: patience.timeout });
    await page.setViewportSize({ width: 390, height: 844 });
    await lookAt(visit, `quick-answer-${agent}-phone`);
    await page.setViewportSize({ width: 1440, height: 900 });
    await lookAt(visit, `quick-answer-${agent}`);
    await row.getByRole("button", { name: "Allow" }).click();
    await expect.poll(() => exists(quick), patience).toBe(true);
    await untilIdle(sessionId);

    await page.goto(new URL("/settings", page.url()).href);
    const rules = page.getByRole("region", { name: "Standing rules" });
    const rule = rules.getByRole("listitem").filter({ hasText: `touch ${made}` });
    await rule.getByText(/Used once/).waitFor({ timeout: patience.timeout });
    await rule.scrollIntoViewIfNeeded();
    await lookAt(visit, `rules-${agent}`);
    await page.setViewportSize({ width: 390, height: 844 });
    await rule.scrollIntoViewIfNeeded();
    await lookAt(visit, `rules-${agent}-phone`);
    await rule.getByRole("button", { name: /^Remove the rule/ }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
    await expect.poll(() => rule.count(), patience).toBe(0);
    await rm(inProject(made ?? ""));
    const { permissions } = await again(made);
    expect(permissions, "without the rule").toHaveLength(1);
    // `a` allows it, once the request is on the page for a moment.
    await openSession(page, sessionId);
    await card.waitFor({ timeout: patience.timeout });
    await expect
      .poll(async () => {
        if (!exists(made)) await page.keyboard.press("a");
        return exists(made);
      }, patience)
      .toBe(true);
    await untilIdle(sessionId);
    await close(sessionId);
  },
);
