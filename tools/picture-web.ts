import { setTimeout as sleep } from "node:timers/promises";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { terminalText, watchTerminals } from "../test/support/terminal-probe.ts";
import { animatedPng, type Frame } from "./animated-png.ts";
import { type PictureScene, prompts } from "./picture-scene.ts";

/** About the width of a rendered README. */
const desktop = { width: 1180, height: 800 };
const phone = { width: 390, height: 780 };

/** The web application while a session starts, asks for permission and continues; the last on a phone too. */
export async function webPictures(
  scene: PictureScene,
  browser: Browser,
): Promise<{ readonly session: Buffer; readonly phone: Buffer }> {
  const frames: Frame[] = [];
  const page = await signedIn(await browser.newContext({ viewport: desktop, reducedMotion: "reduce" }), scene);
  const keep = async (forMs: number): Promise<void> => {
    frames.push({ png: await page.screenshot({ animations: "disabled", caret: "hide" }), forMs });
  };
  await page.getByRole("link", { name: "New session" }).first().click();
  const form = page.getByRole("form", { name: "New session" });
  await form.getByLabel("Folder").fill(scene.project);
  await form.getByLabel("Agent", { exact: true }).selectOption("claude-code");
  await form.getByLabel("First prompt").fill(prompts.change);
  await form.getByRole("button", { name: "Start session" }).hover();
  await sleep(500);
  await keep(2_500);
  await form.getByRole("button", { name: "Start session" }).click();
  await untilOnTerminal(page, "Claude Code v");
  await keep(900);
  const allow = page.getByRole("region", { name: /wants to use/ }).getByRole("button", { name: "Allow" });
  await allow.waitFor();
  await untilOnTerminal(page, "Do you want to");
  await keep(2_500);
  const asking = frames.length - 1;
  const phone = await photographPhone(scene, browser, page.url());
  await allow.hover();
  await sleep(300);
  await keep(1_200);
  await allow.click();
  await page.getByRole("log").getByText("tries three times now").waitFor();
  await page.mouse.move(0, 0);
  await untilOnTerminal(page, "three times now");
  await sleep(700);
  await keep(3_000);
  const box = page.getByRole("textbox", { name: /^Prompt to/ });
  await box.fill(prompts.question);
  await sleep(300);
  await keep(1_500);
  await box.press("Enter");
  await page.getByRole("log").getByText("Three seconds when").waitFor();
  await untilOnTerminal(page, "Three seconds when");
  await sleep(700);
  await keep(4_000);
  await page.context().close();
  return { session: animatedPng(frames, asking), phone };
}

async function photographPhone(scene: PictureScene, browser: Browser, url: string): Promise<Buffer> {
  const options = { viewport: phone, deviceScaleFactor: 2, isMobile: true, hasTouch: true } as const;
  const page = await signedIn(await browser.newContext({ ...options, reducedMotion: "reduce" }), scene);
  await page.goto(url);
  await page.getByRole("tab", { name: "Turns" }).click();
  await page.getByRole("region", { name: /wants to use/ }).waitFor();
  await sleep(700);
  const png = await page.screenshot({ animations: "disabled" });
  await page.context().close();
  return png;
}

async function signedIn(context: BrowserContext, { gateway }: PictureScene): Promise<Page> {
  const page = await context.newPage();
  await watchTerminals(page);
  const { accountId } = await gateway.app.accounts.owner();
  const { url } = await gateway.app.accounts.signIn.createUrl(accountId, gateway.app.baseUrl);
  await page.goto(url);
  await page.waitForURL(new URL("/", url).href);
  return page;
}

async function untilOnTerminal(page: Page, text: string): Promise<void> {
  for (const deadline = Date.now() + 60_000; !(await terminalText(page)).includes(text); await sleep(50)) {
    if (Date.now() > deadline) throw new Error(`The terminal does not show “${text}”.`);
  }
}
