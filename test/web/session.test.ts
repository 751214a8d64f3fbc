import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { expectFlawless, lookAt, signInUrl, useBrowser } from "../support/browser.ts";
import {
  expectOnTerminal,
  expectSameScreens,
  expectTurn,
  openSession,
  patience,
  typeIntoTerminal,
} from "../support/session-page.ts";
import { shownTerminal } from "../support/terminal-probe.ts";
import { useGateway } from "../support/use-gateway.ts";

const used = useGateway({ agents: "scripted" });
const browser = useBrowser();
test("a session is started in the page: the agent paints, is prompted, typed to and allowed", async () => {
  const { world, gateway } = used;
  const visit = await browser.visit(await signInUrl(gateway));
  const { page } = visit;

  await page.getByRole("link", { name: "New session" }).first().click();
  const form = page.getByRole("form", { name: "New session" });
  await form.getByLabel("Folder").fill(world.repository);
  await form.getByLabel("Agent", { exact: true }).selectOption("scripted");
  await form.getByLabel("First prompt").fill("say begun\nlines 40\nwrite made.txt with words");
  await form.getByRole("switch", { name: /worktree/ }).click();
  await form.getByLabel("New branch").fill("try-it");
  await form.getByRole("button", { name: "Start session" }).click();
  await page.waitForURL(/\/sessions\/[\w-]{20,}/);
  await expectOnTerminal(page, "> say begun");

  const question = page.getByRole("region", { name: /asks: / });
  await question.waitFor({ timeout: patience.timeout });
  await lookAt(visit, "session-permission-desktop");
  // Deny, and think better of it: the words have the focus, and Escape leads back to where it was.
  await question.getByRole("button", { name: "Deny …" }).press("Enter");
  await question.getByRole("textbox", { name: /What should it do instead/ }).press("Escape");
  await expect.poll(() => page.evaluate("document.activeElement.textContent"), patience).toBe("Deny …");
  await question.getByRole("button", { name: "Allow" }).click();
  const made = join(world.root, "try-it", "made.txt");
  await expect.poll(() => existsSync(made), patience).toBe(true);
  expect((await readFile(made, "utf8")).trim()).toBe("words");
  await expectTurn(page, "begun");
  await expect.poll(() => question.count(), patience).toBe(0);

  await typeIntoTerminal(page, "say typed in the terminal");
  await expectTurn(page, "typed in the terminal");
  const box = page.getByRole("textbox", { name: /^Prompt to/ });
  await box.fill("say sent from the box");
  await box.press("Enter");
  await page.getByText("Delivered.").waitFor({ timeout: patience.timeout });
  await expectTurn(page, "sent from the box");
  await expect.poll(() => box.inputValue()).toBe("");
  expect(visit.troubles()).toEqual([]);
  await gateway.api.post("/api/coding/coding_close_all", {});
});

test("others look on, also on a phone, and all see the same, also after a reload in the middle of an answer", async () => {
  const { world, gateway } = used;
  const prompt = { agent: "scripted", dir: world.repository, prompt: "say begun", waitMs: 60_000 } as const;
  const { sessionId } = await gateway.api.ask(prompt);
  const first = await browser.visit(await signInUrl(gateway));
  const { page } = first;
  await openSession(page, sessionId);
  await expectOnTerminal(page, "say begun");
  const second = await browser.visit(await signInUrl(gateway));
  await openSession(second.page, sessionId);
  await expectOnTerminal(second.page, "say begun");
  await expectSameScreens(page, second.page);

  const before = await shownTerminal(page);
  const phone = await browser.visit(await signInUrl(gateway), { device: "phone" });
  await openSession(phone.page, sessionId);
  await phone.page.getByRole("tab", { name: "Terminal" }).click();
  await expectOnTerminal(phone.page, "say begun");
  await expectSameScreens(page, phone.page);
  expect(await shownTerminal(page)).toMatchObject({ cols: before?.cols, rows: before?.rows });

  const box = page.getByRole("textbox", { name: /^Prompt to/ });
  await box.fill("slow 4000\nlines 150");
  await box.press("Enter");
  await expectOnTerminal(page, /Line [1-9]\d? of 150/);
  await page.reload();
  await expectOnTerminal(page, "Line 150 of 150");
  await expectTurn(page, "Line 150 of 150");
  await expectSameScreens(page, second.page);
  await expectSameScreens(page, phone.page);
  // What a phone's keyboard leaves: the row that is typed into stays in sight.
  await phone.page.setViewportSize({ width: 390, height: 430 });
  const scrolledTo = (): Promise<number> => phone.page.locator(".terminal-place").evaluate((place) => place.scrollTop);
  await expect.poll(scrolledTo, patience).toBeGreaterThan(0);
  for (const visit of [first, second, phone]) expect(visit.troubles()).toEqual([]);
  await gateway.api.post("/api/coding/coding_close_all", {});
});

test("a session's tabs show its conversation, changes and recording, and closing it removes its worktree", async () => {
  const { world, gateway } = used;
  const { sessionId } = await gateway.api.ask({
    agent: "scripted",
    dir: world.repository,
    prompt: "say begun\nwrite made.txt with words\nlines 150",
    permissionMode: "all",
    worktree: { branch: "close-it" },
    waitMs: 60_000,
  });
  const worktree = join(world.root, "close-it");
  const phone = await browser.visit(await signInUrl(gateway), { device: "phone" });
  await openSession(phone.page, sessionId);
  await phone.page.getByRole("tab", { name: "Terminal" }).click();
  await expectOnTerminal(phone.page, "Line 150 of 150");
  await lookAt(phone, "session-phone");
  await phone.page.getByRole("tab", { name: "Conversation" }).click();
  await expectTurn(phone.page, "Line 150 of 150");
  await lookAt(phone, "session-turns-phone");

  const desktop = await browser.visit(await signInUrl(gateway));
  const { page } = desktop;
  await openSession(page, sessionId);
  await expectOnTerminal(page, "Line 150 of 150");
  await expectTurn(page, "Line 150 of 150");
  await lookAt(desktop, "session-desktop");
  await page.getByRole("tab", { name: "Changes" }).click();
  await page.getByText("made.txt").first().waitFor();
  await lookAt(desktop, "session-changes-desktop");
  await page.getByRole("tab", { name: "Recording" }).click();
  await page.getByRole("slider").first().waitFor();
  await lookAt(desktop, "session-playback-desktop");

  await page.getByRole("button", { name: "Close session" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText(`Removes the worktree ${worktree} and keeps its branch close-it.`).waitFor();
  await dialog.getByText(/1 file with uncommitted changes is saved as a backup commit/).waitFor();
  await lookAt(desktop, "session-close-desktop");
  await dialog.getByRole("button", { name: "Close session" }).click();
  await page
    .getByText("The worktree was removed. Its branch close-it was kept.")
    .waitFor({ timeout: patience.timeout });
  expect(existsSync(worktree)).toBe(false);
  for (const visit of [phone, desktop]) expect(visit.troubles()).toEqual([]);
});

test("a terminal that is opened without a prompt takes the first one as it is typed", async () => {
  const { world, gateway } = used;
  const visit = await browser.visit(await signInUrl(gateway), { colorScheme: "dark" });
  const { page } = visit;
  await page.goto(new URL("/new", gateway.app.baseUrl).href);
  const form = page.getByRole("form", { name: "New session" });
  await form.getByLabel("Folder").fill(world.repository);
  await form.getByLabel("Agent", { exact: true }).selectOption("scripted");
  await form.getByRole("button", { name: "Open terminal" }).click();
  await expectOnTerminal(page, /❯[\s\S]*scripted/);
  await typeIntoTerminal(page, "say typed into it");
  await expectTurn(page, "typed into it");
  await expectFlawless(visit, "an opened session");
  await visit.shoot("session-opened-desktop-dark");
  await gateway.api.post("/api/coding/coding_close_all", {});
});
