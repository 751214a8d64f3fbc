import { expect, test } from "vitest";
import type { PromptQueueOutput } from "../../src/wire/queue.ts";
import { lookAt, signInUrl, useBrowser } from "../support/browser.ts";
import { openSession, patience } from "../support/session-page.ts";
import { useGateway } from "../support/use-gateway.ts";

const used = useGateway({ agents: "scripted" });
const browser = useBrowser();

test("queued prompts are edited, moved, cancelled, queued again and sent now above the prompt box", async () => {
  const { world, gateway } = used;
  const { api } = gateway;
  const dir = world.repository;
  const { sessionId } = await api.ask({ agent: "scripted", dir, prompt: "begin", waitMs: 30_000 });
  await api.ask({ dir, sessionId, prompt: "slow 600000 long work" });
  await expect.poll(async () => (await api.read(sessionId)).activity, patience).toBe("working");
  for (const prompt of ["one", "two", "three"]) await api.ask({ dir, sessionId, prompt });
  const texts = async () =>
    (await api.get<PromptQueueOutput>(`/api/coding/sessions/${sessionId}/prompts`)).body.prompts.map(
      ({ text }) => text,
    );

  const visit = await browser.visit(await signInUrl(gateway));
  const { page } = visit;
  await openSession(page, sessionId);
  const queue = page.getByRole("region", { name: "Queued prompts" });
  const row = (text: string) => queue.getByRole("listitem").filter({ hasText: text });
  await row("three").waitFor({ timeout: patience.timeout });
  await page.getByRole("button", { name: "Stop", exact: true }).waitFor({ timeout: patience.timeout });
  await lookAt(visit, "session-queue-desktop");

  await row("two").getByRole("button", { name: "Edit" }).click();
  await queue.getByRole("textbox", { name: "Queued prompt" }).fill("/clear");
  await queue.getByRole("textbox", { name: "Queued prompt" }).press("Enter");
  await queue.getByRole("alert").waitFor({ timeout: patience.timeout });
  await expect.poll(() => queue.getByRole("textbox", { name: "Queued prompt" }).inputValue()).toBe("/clear");
  expect(visit.troubles()).toEqual([expect.stringContaining("400")]);
  await queue.getByRole("textbox", { name: "Queued prompt" }).fill("second");
  await queue.getByRole("button", { name: "Save" }).click();
  await expect.poll(texts, patience).toEqual(["one", "second", "three"]);
  await row("three").getByRole("button", { name: "Move up" }).click();
  await expect.poll(texts, patience).toEqual(["one", "three", "second"]);
  await row("second").dragTo(row("one"));
  await expect.poll(texts, patience).toEqual(["second", "one", "three"]);
  await row("one").getByRole("button", { name: "Cancel prompt" }).click();
  await expect.poll(texts, patience).toEqual(["second", "three"]);
  await queue.getByRole("button", { name: "Undo" }).click();
  await expect.poll(texts, patience).toEqual(["second", "one", "three"]);

  const phone = await browser.visit(await signInUrl(gateway), { device: "phone" });
  await openSession(phone.page, sessionId);
  await phone.page.getByRole("tab", { name: "Conversation" }).click();
  const onPhone = phone.page.getByRole("region", { name: "Queued prompts" });
  await onPhone.getByText("three").waitFor({ timeout: patience.timeout });
  await lookAt(phone, "session-queue-phone");
  await onPhone.getByRole("listitem").filter({ hasText: "three" }).getByRole("button", { name: "Send now" }).tap();
  const said = async () =>
    (await api.read(sessionId)).turns.filter(({ role }) => role === "user").map(({ text }) => text);
  await expect.poll(said, patience).toEqual(["begin", "slow 600000 long work", "three", "second", "one"]);
  await expect.poll(() => queue.count(), patience).toBe(0);
});
