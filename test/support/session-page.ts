import type { Page } from "playwright-core";
import { expect } from "vitest";
import { screenOf, shownTerminal, terminalText } from "./terminal-probe.ts";

/** Long enough for an agent to start on a busy machine. */
export const patience = { timeout: 40_000, interval: 100 };

/** From any page of the same gateway. */
export async function openSession(page: Page, sessionId: string): Promise<void> {
  await page.goto(new URL(`/sessions/${sessionId}`, page.url()).href);
}

export async function expectOnTerminal(page: Page, text: string | RegExp): Promise<void> {
  await expect.poll(() => terminalText(page), patience).toMatch(text);
}

/** Waits until the conversation next to the terminal shows this. */
export async function expectTurn(page: Page, text: string): Promise<void> {
  await page.getByRole("log").getByText(text).last().waitFor({ timeout: patience.timeout });
}

/** As a person does: seen on the screen, then Enter unless `enter` is false. */
export async function typeIntoTerminal(
  page: Page,
  text: string,
  { enter = true }: { readonly enter?: boolean } = {},
): Promise<void> {
  // What is typed before there is a connection goes nowhere.
  await expectOnTerminal(page, /\S/);
  await page.locator(".xterm-helper-textarea").focus();
  await page.keyboard.type(text, { delay: 5 });
  await expectOnTerminal(page, text.trimEnd());
  if (enter) await page.keyboard.press("Enter");
}

/** Both show the same, each cell of it, or come to it as soon as what is on its way has arrived. */
export async function expectSameScreens(one: Page, other: Page): Promise<void> {
  const difference = async (): Promise<unknown> => {
    const [a, b] = await Promise.all([shownTerminal(one), shownTerminal(other)]);
    if (a === null || b === null) return "no terminal";
    const same = JSON.stringify(screenOf(a)) === JSON.stringify(screenOf(b));
    return same ? null : { one: a.lines.slice(-a.rows), other: b.lines.slice(-b.rows) };
  };
  await expect.poll(difference, patience).toBeNull();
}
