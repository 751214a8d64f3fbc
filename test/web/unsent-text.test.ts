import { expect, test } from "vitest";
import { lookAt, signInUrl, useBrowser } from "../support/browser.ts";
import { expectOnTerminal, expectTurn, openSession, patience, typeIntoTerminal } from "../support/session-page.ts";
import { useGateway } from "../support/use-gateway.ts";

const used = useGateway({ agents: "scripted" });
const browser = useBrowser();

test("a prompt for a composer with unsent text asks whether to clear it or to send both, and a queued one says what it waits for", async () => {
  const { world, gateway } = used;
  const { sessionId } = await gateway.api.ask({
    agent: "scripted",
    dir: world.repository,
    prompt: "begin",
    waitMs: 30_000,
  });
  const received = (): string | undefined =>
    world.modelServer.requests.findLast(({ kind }) => kind === "turn")?.prompt ?? undefined;
  const visit = await browser.visit(await signInUrl(gateway));
  const { page } = visit;
  await openSession(page, sessionId);
  const box = page.getByRole("textbox", { name: /^Prompt to/ });
  const question = page.getByRole("alertdialog");
  const askBehind = async (prompt: string): Promise<void> => {
    await typeIntoTerminal(page, "half typed ", { enter: false });
    await box.fill(prompt);
    await box.press("Enter");
    await question
      .getByText("The terminal has unsent text: “half typed”. Clear it, or send both?")
      .waitFor({ timeout: patience.timeout });
    await expect.poll(() => box.inputValue()).toBe(prompt);
    expect(received()).not.toContain(prompt);
    expect(visit.troubles(), "the browser itself reports the 409 as an error").toEqual([
      expect.stringContaining("409"),
    ]);
  };

  await askBehind("Prompt from the box");
  await lookAt(visit, "session-unsent-text-desktop");
  await page.keyboard.press("Escape");
  await expect.poll(() => question.count()).toBe(0);
  await expect.poll(() => box.inputValue()).toBe("Prompt from the box");

  const phone = await browser.visit(await signInUrl(gateway), { device: "phone" });
  await openSession(phone.page, sessionId);
  await phone.page.getByRole("tab", { name: "Conversation" }).click();
  await phone.page.getByRole("textbox", { name: /^Prompt to/ }).fill("From the phone");
  await phone.page.getByRole("button", { name: "Send", exact: true }).tap();
  const cancel = phone.page.getByRole("alertdialog").getByRole("button", { name: "Cancel" });
  await cancel.waitFor({ timeout: patience.timeout });
  expect(phone.troubles()).toEqual([expect.stringContaining("409")]);
  await lookAt(phone, "session-unsent-text-phone");
  await cancel.tap();
  await expect.poll(() => cancel.count()).toBe(0);

  await box.press("Enter");
  await question.waitFor();
  expect(visit.troubles()).toEqual([expect.stringContaining("409")]);
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await expect.poll(received, patience).toBe("Prompt from the box");
  await page.getByText("Delivered.").waitFor({ timeout: patience.timeout });
  await expect.poll(() => box.inputValue()).toBe("");

  await askBehind("Another from the box");
  await question.getByRole("button", { name: "Send both" }).click();
  await expect.poll(received, patience).toBe("half typed Another from the box");
  await page.getByText("Delivered.").waitFor({ timeout: patience.timeout });

  await box.fill("slow 12000\nlines 3");
  await box.press("Enter");
  await expectOnTerminal(page, "Line 1 of 3");
  await box.fill("say later");
  await box.press("Enter");
  await typeIntoTerminal(page, "say between", { enter: false });
  await page
    .getByText("The queued message is held back by unsent text in the terminal. Send or delete that text first.")
    .waitFor({ timeout: patience.timeout });
  await lookAt(visit, "session-waits-for-unsent-text-desktop");
  await page.locator(".xterm-helper-textarea").press("Enter");
  await expectTurn(page, "later");
  await gateway.api.post("/api/coding/coding_close_session", { sessionId });
});
