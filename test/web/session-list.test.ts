import { beforeAll, expect, test } from "vitest";
import { expectFlawless, lookAt, signInUrl, useBrowser } from "../support/browser.ts";
import { plantMany, untilListed } from "../support/planted-sessions.ts";
import { patience } from "../support/session-page.ts";
import { useGateway } from "../support/use-gateway.ts";

const used = useGateway({ agents: false });
const browser = useBrowser();
const count = 400;

beforeAll(async () => {
  await plantMany(used.world, count);
  await untilListed(used.gateway.api, count);
}, 200_000);

test("a long list holds the rows around what is in sight, and the way back leads to the same place", async () => {
  const visit = await browser.visit(await signInUrl(used.gateway));
  const { page } = visit;
  const links = page.locator("a[data-session-link]");
  const row = (number: number) => page.getByRole("link", { name: new RegExp(`Session number ${number}\\b`) });
  await row(1).waitFor();
  let pages = 0;
  page.on("request", (request) => request.url().endsWith("coding_list_sessions") && pages++);
  // Like a person does: a screen at a time, until the end.
  await expect
    .poll(
      async () => {
        await page.mouse.move(700, 500);
        await page.mouse.wheel(0, 2_000);
        return row(count).count();
      },
      { timeout: 60_000, interval: 30 },
    )
    .toBe(1);
  expect(await links.count()).toBeLessThan(200);
  await visit.settled();
  await row(count - 20).scrollIntoViewIfNeeded();
  await visit.settled();
  const topBefore = await row(count - 20).evaluate((link) => link.getBoundingClientRect().top);
  await row(count - 20).click();
  await page.waitForURL(/\/sessions\//);
  await page.getByRole("log").waitFor();
  await visit.settled();
  pages = 0;
  await page.goBack();
  await row(count - 20).waitFor();
  const topAfter = await row(count - 20).evaluate((link) => link.getBoundingClientRect().top);
  expect(Math.abs(topAfter - topBefore)).toBeLessThan(3);
  await visit.settled();
  expect(await links.count()).toBeLessThan(200);
  // Those in sight, and two lists of what lives; not all that was scrolled by.
  expect(pages).toBeLessThan(8);
  await visit.shoot("session-list-back-desktop-light");

  // By keys, past the end of what was rendered at first.
  await page.goto(used.gateway.app.baseUrl);
  await row(1).waitFor();
  const focused = () => page.evaluate("document.activeElement.textContent");
  // The next page of the list comes late: all presses are made before.
  const late = Promise.withResolvers<undefined>();
  await page.route("**/api/coding/coding_list_sessions", async (route) => {
    if (/"offset":(40|80)\b/.test(route.request().postData() ?? "")) await late.promise;
    await route.continue();
  });
  await page.reload();
  await row(1).waitFor();
  for (let presses = 0; presses < 62; presses++) await page.keyboard.press("j");
  for (let presses = 0; presses < 2; presses++) await page.keyboard.press("k");
  await expect.poll(() => focused()).toContain("Session number 40");
  late.resolve(undefined);
  await expect.poll(focused, patience).toContain("Session number 60");
  for (let presses = 0; presses < 70; presses++) await page.keyboard.press("j");
  await expect.poll(focused, patience).toContain("Session number 130");
  for (let presses = 0; presses < 125; presses++) await page.keyboard.press("k");
  await expect.poll(focused, patience).toContain("Session number 5");
  // Last, for axe scrolls.
  await expectFlawless(visit, "a long list");
});

test.for(["desktop", "phone"] as const)(
  "on a %s the palette finds any session, and its input stays in sight at its whole height",
  async (device) => {
    const visit = await browser.visit(await signInUrl(used.gateway), { device });
    const { page } = visit;
    await page.getByRole("link", { name: /Session number 1\b/ }).waitFor();
    await page.keyboard.press("Control+k");
    const input = page.getByRole("combobox", { name: /Page, session or setting/ });
    await input.waitFor();
    const box = async () => await input.boundingBox();
    const atFirst = await box();
    expect(atFirst?.height).toBeGreaterThanOrEqual(36);
    for (let presses = 0; presses < 30; presses++) await page.keyboard.press("ArrowDown");
    await expect.poll(() => page.getByRole("option", { selected: true }).isVisible(), patience).toBe(true);
    expect(await box()).toEqual(atFirst);
    await lookAt(visit, `palette-${device}`);
    // Far beyond the first page of the list.
    await input.fill(`number ${count - 7}`);
    await page.getByRole("option", { name: new RegExp(`Session number ${count - 7}\\b`) }).waitFor();
    await visit.shoot(`palette-search-${device}-dark`);
    await input.press("Enter");
    await page.getByRole("heading", { name: `Session number ${count - 7}` }).waitFor();
    await visit.settled();
    expect(visit.troubles()).toEqual([]);
  },
);
