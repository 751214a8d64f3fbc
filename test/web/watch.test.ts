import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { z } from "zod";
import { beyondTheEdge, expectFlawless, lookAt, signInUrl, useBrowser } from "../support/browser.ts";
import { patience } from "../support/session-page.ts";
import { useGateway } from "../support/use-gateway.ts";

/** It starts at once, says its size and reads what is typed. */
const reader = {
  name: "reader",
  binary: "/bin/sh",
  startArgs: ["-c", 'echo ready; while read -r line; do echo "got $line"; done'],
  readyPattern: "ready",
};

const used = useGateway({ agents: "scripted", config: { agents: [reader] } });
const browser = useBrowser();

async function openReaders(count: number): Promise<readonly string[]> {
  const { gateway, world } = used;
  const ids: string[] = [];
  for (let nth = 0; nth < count; nth += 1) {
    const input = { agent: "reader", dir: world.repository };
    const { body } = await gateway.api.post<{ readonly sessionId: string }>("/api/coding/spawn", input);
    ids.push(body.sessionId);
  }
  return ids;
}

async function watch(page: Page, ids: readonly string[]): Promise<void> {
  await page.goto(new URL(`/watch?s=${ids.join(",")}`, used.gateway.app.baseUrl).href);
}

const cell = (page: Page, number: number) => page.locator(`[data-watch-cell="${number}"]`);

/** The text of one cell's terminal. */
async function textOf(page: Page, number: number): Promise<string> {
  const text: unknown = await page.evaluate(`(() => {
    const one = window.posternTestTerminals.findLast(({ element }) => element?.isConnected && element.closest('[data-watch-cell="${number}"]'));
    if (one === undefined) return "";
    const { active } = one.buffer;
    return Array.from({ length: active.length }, (_, row) => active.getLine(row).translateToString(true)).join("\\n");
  })()`);
  return z.string().parse(text);
}

async function expectIn(page: Page, number: number, text: string): Promise<void> {
  await expect.poll(() => textOf(page, number), { ...patience, message: `cell ${number}` }).toContain(text);
}

/** Where the cells are. */
async function placesOf(page: Page): Promise<unknown> {
  return page.evaluate(`[...document.querySelectorAll("[data-slot]")].map((slot) => {
    const { x, y, width, height } = slot.getBoundingClientRect();
    return [x, y, width, height];
  })`);
}

const focusedIn = (page: Page): Promise<unknown> =>
  page.evaluate(
    `[document.activeElement.closest("[data-watch-cell]")?.dataset.watchCell ?? null, document.activeElement.matches(".xterm-helper-textarea")]`,
  );

test("terminals side by side are chosen, typed into and left with keys; one that ends stays in its place until it is replaced", async () => {
  const { gateway } = used;
  const ids = await openReaders(4);
  const visit = await browser.visit(await signInUrl(gateway));
  const { page } = visit;
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Watch" }).click();
  await page
    .getByRole("group", { name: /Running sessions/ })
    .getByRole("checkbox")
    .first()
    .waitFor();
  await lookAt(visit, "watch-chooser-desktop");
  await page.getByRole("button", { name: "Watch 4 sessions" }).click();
  for (const number of [1, 2, 3, 4]) await expectIn(page, number, "ready");
  expect(new URL(page.url()).searchParams.get("s")?.split(",").toSorted()).toEqual([...ids].toSorted());

  await watch(page, ids);
  for (const number of [1, 2, 3, 4]) await expectIn(page, number, "ready");
  await page.keyboard.press("Alt+2");
  await expect.poll(() => focusedIn(page)).toEqual(["2", false]);
  await page.keyboard.type("not sent");
  await page.keyboard.press("Enter");
  await expect.poll(() => focusedIn(page)).toEqual(["2", true]);
  await page.keyboard.type("hello\n");
  await expectIn(page, 2, "got hello");
  await page.keyboard.press("Control+4");
  await expect.poll(() => focusedIn(page)).toEqual(["4", false]);
  await page.keyboard.press("ArrowUp");
  await expect.poll(() => focusedIn(page)).toEqual(["2", false]);
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("Enter");
  await page.keyboard.type("first\n");
  await expectIn(page, 1, "got first");
  for (const number of [1, 3, 4]) expect(await textOf(page, number)).not.toContain("hello");

  // While the user types in cell 1, the session of cell 2 ends.
  const before = await placesOf(page);
  await gateway.api.post("/api/coding/coding_close_session", { sessionId: ids[1] });
  await cell(page, 2).getByText("This session has ended.").waitFor({ timeout: patience.timeout });
  await page.keyboard.type("second\n");
  await expectIn(page, 1, "got second");
  await expect.poll(() => placesOf(page)).toEqual(before);
  await expect.poll(() => textOf(page, 2)).toContain("got hello");
  await lookAt(visit, "watch-desktop");
  await page.keyboard.press("Escape");
  await expect.poll(() => focusedIn(page)).toEqual(["1", false]);

  const [another = ""] = await openReaders(1);
  await cell(page, 2).getByRole("button", { name: "Replace" }).click();
  await page.getByRole("dialog").getByRole("list", { name: "Running sessions" }).getByRole("button").first().click();
  await expectIn(page, 2, "ready");
  expect(new URL(page.url()).searchParams.get("s")).toBe([ids[0], another, ids[2], ids[3]].join(","));

  await page.keyboard.press("Alt+3");
  await page.keyboard.press("f");
  const wide = async (): Promise<number> => (await cell(page, 3).boundingBox())?.width ?? 0;
  await expect.poll(wide, patience).toBeGreaterThan(1_000);
  await visit.shoot("watch-full-desktop-light");
  await page.reload();
  await expectIn(page, 3, "ready");
  await expect.poll(wide, patience).toBeGreaterThan(1_000);
  await page.keyboard.press("Alt+3");
  await page.keyboard.press("Escape");
  await expect.poll(wide, patience).toBeLessThan(700);
  await page.keyboard.press("Alt+1");
  await page.keyboard.press("Delete");
  await page.getByRole("button", { name: "Add session" }).nth(1).waitFor();
  await expectIn(page, 3, "ready");
  expect(new URL(page.url()).searchParams.get("s")).toBe(["", another, ids[2], ids[3]].join(","));
  await expectFlawless(visit, "a grid with an empty cell");
  await gateway.api.post("/api/coding/coding_close_all", {});
});

test("a permission is allowed in its cell and moves nothing, also while the user types in another; an ended session is not started", async () => {
  const { gateway, world } = used;
  const [typed = ""] = await openReaders(1);
  const { sessionId } = await gateway.api.ask({
    agent: "scripted",
    dir: world.repository,
    prompt: "write watched.txt with words",
  });
  const visit = await browser.visit(await signInUrl(gateway), { colorScheme: "dark" });
  const { page } = visit;
  await watch(page, [typed, sessionId]);
  await expectIn(page, 1, "ready");
  await page.keyboard.press("Alt+1");
  await page.keyboard.press("Enter");
  const before = await placesOf(page);
  const request = cell(page, 2).getByRole("region", { name: "Permission request" });
  await request.waitFor({ timeout: patience.timeout });
  await page.keyboard.type("still typing\n");
  await expectIn(page, 1, "got still typing");
  await expect.poll(() => placesOf(page)).toEqual(before);
  await lookAt(visit, "watch-permission-desktop");
  await request.getByRole("button", { name: "Allow" }).click();
  await expect.poll(() => existsSync(join(world.repository, "watched.txt")), patience).toBe(true);
  await request.waitFor({ state: "detached", timeout: patience.timeout });

  await gateway.api.post("/api/coding/coding_close_session", { sessionId });
  await cell(page, 2).getByText("This session has ended.").waitFor({ timeout: patience.timeout });
  await page.reload();
  await cell(page, 2).getByText("This session has ended.").waitFor({ timeout: patience.timeout });
  await expectIn(page, 1, "got still typing");
  expect(await cell(page, 2).locator(".xterm").count()).toBe(0);
  expect(await gateway.api.read(sessionId)).toMatchObject({ status: "completed" });
  await expectFlawless(visit, "a cell that has ended");
  await gateway.api.post("/api/coding/coding_close_all", {});
});

test("without the scope coding:drive the cells can only be read", async () => {
  const { gateway } = used;
  const ids = await openReaders(1);
  const { app } = gateway;
  const guest = await app.accounts.directory.add({ name: "viewer", scopes: ["coding:read"] });
  const { url } = await app.accounts.signIn.createUrl(guest.accountId, app.baseUrl);
  const visit = await browser.visit(url);
  const { page } = visit;
  await watch(page, ids);
  await expectIn(page, 1, "ready");
  await cell(page, 1).getByText("View only").waitFor();
  await page.keyboard.press("Alt+1");
  await page.keyboard.press("Enter");
  await expect.poll(() => focusedIn(page)).toEqual(["1", false]);
  await cell(page, 1).locator(".xterm-helper-textarea").focus();
  await page.keyboard.type("secretly\n");
  await cell(page, 1)
    .getByText(/You are in view-only mode/)
    .waitFor();
  // What the owner types afterwards arrives, and nothing before it.
  const owner = await browser.visit(await signInUrl(gateway));
  await watch(owner.page, ids);
  await expectIn(owner.page, 1, "ready");
  await owner.page.keyboard.press("Alt+1");
  await owner.page.keyboard.press("Enter");
  await owner.page.keyboard.type("openly\n");
  await expectIn(page, 1, "got openly");
  expect(await textOf(page, 1)).not.toContain("secretly");
  expect(visit.troubles()).toEqual([]);
  await app.accounts.directory.remove(guest.accountId);
  await gateway.api.post("/api/coding/coding_close_all", {});
});

test("on a phone one cell fills the screen, and another is chosen by its number", async () => {
  const { gateway } = used;
  const ids = await openReaders(3);
  const visit = await browser.visit(await signInUrl(gateway), { device: "phone" });
  const { page } = visit;
  await watch(page, ids);
  for (const number of [1, 2, 3]) await expectIn(page, number, "ready");
  const inView = (): Promise<unknown> =>
    page.evaluate(`[...document.querySelectorAll("[data-slot]")].filter((slot) => {
      const { left, right } = slot.getBoundingClientRect();
      return left >= -1 && right <= innerWidth + 1;
    }).map((slot) => slot.dataset.slot)`);
  await expect.poll(inView, patience).toEqual(["1"]);
  await page.getByRole("button", { name: "Show cell 3" }).click();
  await expect.poll(inView, patience).toEqual(["3"]);
  // Real touches, on the terminals.
  const touch = await page.context().newCDPSession(page);
  const swipe = async (from: number, to: number): Promise<void> => {
    const points = Array.from({ length: 9 }, (_, step) => ({ x: from + ((to - from) * step) / 8, y: 400 + step }));
    for (const [step, point] of points.entries()) {
      const type = step === 0 ? "touchStart" : "touchMove";
      await touch.send("Input.dispatchTouchEvent", { type, touchPoints: [point] });
    }
    await touch.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
  };
  await swipe(80, 320);
  await expect.poll(inView, patience).toEqual(["2"]);
  await swipe(80, 320);
  await expect.poll(inView, patience).toEqual(["1"]);
  await swipe(320, 80);
  await expect.poll(inView, patience).toEqual(["2"]);
  expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
  await lookAt(visit, "watch-phone");
  expect(await page.evaluate(`${beyondTheEdge}.length`)).toBeTypeOf("number");
  await gateway.api.post("/api/coding/coding_close_all", {});
});
