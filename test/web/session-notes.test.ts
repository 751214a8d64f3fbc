import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { expectFlawless, lookAt, signInUrl, useBrowser } from "../support/browser.ts";
import { plantMany, plantTranscript, untilListed } from "../support/planted-sessions.ts";
import { patience } from "../support/session-page.ts";
import { useGateway } from "../support/use-gateway.ts";

const used = useGateway({ agents: false });
const browser = useBrowser();
const count = 60;
let ids: readonly string[] = [];

beforeAll(async () => {
  const { world } = used;
  ids = await plantMany(world, count);
  await plantTranscript(world, { prompt: "In another folder", dir: world.root, at: "2025-12-01T00:00:00.000Z" });
  await untilListed(used.gateway.api, count + 1);
}, 200_000);

const row = (page: Page, title: string | RegExp) =>
  page.getByRole("listitem").filter({ has: page.getByRole("link", { name: title }) });
const numbered = (number: number) => new RegExp(`Session number ${number}\\b`);
const box = (page: Page, number: number) =>
  page.getByRole("checkbox", { name: new RegExp(`Select Session number ${number}$`) });

async function choose(page: Page, title: string | RegExp, item: string): Promise<void> {
  await row(page, title)
    .getByRole("button", { name: /Actions for/ })
    .click();
  await page.getByRole("menuitem", { name: item }).click();
}

test("a person renames, pins, labels and archives sessions, and undoes it; filters and groups stay in the address", async () => {
  const visit = await browser.visit(await signInUrl(used.gateway));
  const { page } = visit;
  await row(page, numbered(1)).waitFor();
  // Rename in place: F2 and Enter; Escape keeps the title.
  await page.getByRole("link", { name: numbered(2) }).focus();
  await page.keyboard.press("F2");
  await page.keyboard.type("The second one");
  await page.keyboard.press("Enter");
  await row(page, "The second one").waitFor();
  await page.getByRole("link", { name: numbered(3) }).focus();
  await page.keyboard.press("F2");
  await page.keyboard.type("No");
  await page.keyboard.press("Escape");
  await row(page, numbered(3)).waitFor();
  await choose(page, numbered(5), "Pin");
  await page
    .getByRole("region", { name: "Pinned" })
    .getByRole("link", { name: numbered(5) })
    .waitFor();
  await choose(page, numbered(5), "Labels…");
  await page.getByRole("combobox", { name: "New label" }).fill("Needs Review");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Remove label needs review" }).waitFor();
  await lookAt(visit, "labels-dialog-desktop");
  await page.keyboard.press("Escape");
  await choose(page, numbered(4), "Archive");
  await expect.poll(() => row(page, numbered(4)).count(), patience).toBe(0);
  await page.getByRole("button", { name: "Undo" }).click();
  await row(page, numbered(4)).waitFor();
  await lookAt(visit, "list-notes-desktop");

  await page.getByRole("combobox", { name: "Label" }).selectOption("needs review");
  await expect.poll(() => page.locator("a[data-session-link]").count(), patience).toBe(1);
  expect(new URL(page.url()).searchParams.get("label")).toBe("needs review");
  await page.getByRole("link", { name: numbered(5) }).click();
  await page.waitForURL(/\/sessions\//);
  await page.getByRole("heading", { name: numbered(5) }).dblclick();
  await page.getByRole("textbox", { name: "Title" }).fill("Renamed on its page");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Renamed on its page" }).waitFor();
  await page.goBack();
  await row(page, "Renamed on its page").waitFor();
  expect(new URL(page.url()).searchParams.get("label")).toBe("needs review");
  await page.getByRole("combobox", { name: "Label" }).selectOption("");
  await page.getByRole("combobox", { name: "Group by" }).selectOption("folder");
  await expect.poll(() => page.locator("main h3").count(), patience).toBeGreaterThan(0);
  expect(new URL(page.url()).searchParams.get("group")).toBe("folder");
  await lookAt(visit, "list-grouped-desktop");
  await page.goto(used.gateway.app.baseUrl);
  await expect.poll(() => new URL(page.url()).searchParams.get("group"), patience).toBe("folder");
  await page.getByRole("combobox", { name: "Group by" }).selectOption("");
  await row(page, numbered(1)).waitFor();
  await expectFlawless(visit, "a list with notes");
});

test("a selection takes ranges by session, archives with progress, names what failed, and can be undone", async () => {
  const visit = await browser.visit(await signInUrl(used.gateway));
  const { page } = visit;
  await row(page, numbered(10)).waitFor();
  await box(page, 10).click();
  await box(page, 15).click({ modifiers: ["Shift"] });
  const bar = page.getByRole("region", { name: "Selected sessions" });
  await expect.poll(() => bar.textContent(), patience).toContain("6 selected");
  await box(page, 12).click();
  await expect.poll(() => bar.textContent(), patience).toContain("5 selected");
  await visit.shoot("list-selected-desktop-light");
  const failing = ids[13];
  await page.route(`**/api/coding/sessions/${failing}`, (route) =>
    route.fulfill({
      status: 500,
      contentType: "application/problem+json",
      body: '{"code":"internal","detail":"The disk is full.","title":"x","status":500,"type":"about:blank"}',
    }),
  );
  await bar.getByRole("button", { name: "Archive 5" }).click();
  await expect.poll(() => bar.textContent(), patience).toContain("The disk is full.");
  await expect.poll(() => bar.textContent(), patience).toContain("1 selected");
  await expect.poll(() => row(page, numbered(10)).count(), patience).toBe(0);
  await row(page, numbered(12)).waitFor();
  await row(page, numbered(14)).waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await row(page, numbered(10)).waitFor();
  await page.keyboard.press("Escape");
  await page.locator("main h2:visible").first().click();
  await page.keyboard.press("Control+a");
  const shown = await page.locator("main [data-session-id]").count();
  await expect.poll(() => bar.textContent(), patience).toContain(`${shown} selected`);
  // A filter hides them: nothing hidden stays selected.
  await page.getByRole("combobox", { name: "Show" }).selectOption("archived");
  await expect.poll(() => bar.count(), patience).toBe(0);
});

test("on a phone everything is in the menu of a row, and a selection begins there", async () => {
  const visit = await browser.visit(await signInUrl(used.gateway), { device: "phone" });
  const { page } = visit;
  await row(page, numbered(20)).waitFor();
  await row(page, numbered(20))
    .getByRole("button", { name: /Actions for/ })
    .tap();
  await page.getByRole("menuitem", { name: "Archive" }).waitFor();
  await lookAt(visit, "row-menu-phone");
  await page.getByRole("menuitem", { name: "Select" }).tap();
  await box(page, 21).tap();
  await expect
    .poll(() => page.getByRole("region", { name: "Selected sessions" }).textContent(), patience)
    .toContain("2 selected");
  await lookAt(visit, "list-selected-phone");
  await expectFlawless(visit, "a selection on a phone");
});
