import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { PromptQueueOutput } from "../../src/wire/queue.ts";
import { expectFlawless, lookAt, signInUrl, useBrowser } from "../support/browser.ts";
import { picture } from "../support/pictures.ts";
import { openSession, patience } from "../support/session-page.ts";
import { useGateway } from "../support/use-gateway.ts";

const used = useGateway({ agents: true });
const browser = useBrowser();

const html = Buffer.from("<script>alert(1)</script>");

const nameOf = ({ name }: { readonly name: string }): string => name;

/** Pastes a file into the focused element, as a browser does with a picture of the clipboard. */
function paste(name: string, type: string, bytes: Buffer): string {
  return `{
    const bytes = Uint8Array.from(atob(${JSON.stringify(bytes.toString("base64"))}), (sign) => sign.charCodeAt(0));
    const data = new DataTransfer();
    data.items.add(new File([bytes], ${JSON.stringify(name)}, { type: ${JSON.stringify(type)} }));
    document.activeElement.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
  }`;
}

test.for(["claude-code", "codex"])(
  "%s: the model gets a pasted picture, which the turn shows; of what waits, it gets the edited prompt once and never the cancelled one",
  { timeout: 360_000 },
  async (agent) => {
    const { world, gateway } = used;
    const { sessionId } = await gateway.api.ask({ agent, dir: world.repository, prompt: "begin", waitMs: 60_000 });
    const visit = await browser.visit(await signInUrl(gateway));
    const { page } = visit;
    await openSession(page, sessionId);
    const box = page.getByRole("textbox", { name: /^Prompt to/ });
    const files = page.getByRole("list", { name: "Attached files" });
    const send = page.getByRole("button", { name: "Send", exact: true });
    await box.fill("What is this?");
    await page.evaluate(paste("pasted.png", "image/png", picture(5)));
    await page.evaluate(paste("bad.png", "image/png", html));
    await files.getByRole("alert").waitFor({ timeout: patience.timeout });
    await expect.poll(() => send.isDisabled()).toBe(true);
    expect(visit.troubles(), "the browser itself reports the 415 as an error").toEqual([
      expect.stringContaining("415"),
    ]);
    await lookAt(visit, `attachments-refused-${agent}`);
    await page.getByRole("button", { name: "Remove bad.png" }).click();
    await expect.poll(() => send.isEnabled(), patience).toBe(true);
    await expectFlawless(visit, "a prompt with a picture");
    await send.click();
    const received = (): boolean =>
      world.modelServer.requests.some(({ body }) => body.includes(picture(5).toString("base64")));
    await expect.poll(received, patience).toBe(true);
    const shown = page.getByRole("button", { name: "Show pasted.png" });
    await shown.waitFor({ timeout: patience.timeout });
    await lookAt(visit, `attachments-turn-${agent}`);
    await shown.click();
    const large = page.getByRole("dialog");
    await large.getByRole("img", { name: "pasted.png" }).waitFor();
    await lookAt(visit, `attachments-lightbox-${agent}`);
    await page.keyboard.press("Escape");
    await expect.poll(() => large.count()).toBe(0);

    // What a tool returned.
    const seen = join(world.repository, `seen-${agent}.png`);
    await writeFile(seen, picture(7));
    const look =
      agent === "codex"
        ? `view_image ${JSON.stringify({ path: seen })}`
        : `Read ${JSON.stringify({ file_path: seen })}`;
    await gateway.api.ask({ dir: world.repository, sessionId, prompt: `call ${look}`, waitMs: 60_000 });
    const returned = page.getByRole("button", { name: "Show Image in the result" });
    await returned.waitFor({ timeout: patience.timeout });
    expect(await returned.getByRole("img").getAttribute("src")).toBe(
      `data:image/png;base64,${picture(7).toString("base64")}`,
    );
    await lookAt(visit, `result-image-${agent}`);
    await returned.click();
    await large.getByRole("img", { name: "Image in the result" }).waitFor();
    await page.keyboard.press("Escape");
    await expect.poll(() => large.count()).toBe(0);

    // Meanwhile the agent works on a turn that only an interrupt ends.
    const prompts = async () =>
      (await gateway.api.get<PromptQueueOutput>(`/api/coding/sessions/${sessionId}/prompts`)).body.prompts;
    const waiting = async () => (await prompts()).map(({ text, attachments }) => [text, ...attachments.map(nameOf)]);
    const queue = page.getByRole("region", { name: "Queued prompts" });
    const row = (text: string) => queue.getByRole("listitem").filter({ hasText: text });
    const type = async (text: string): Promise<void> => {
      await box.fill(text);
      await send.and(page.locator(":enabled")).click({ timeout: patience.timeout });
      await expect.poll(() => box.inputValue(), patience).toBe("");
    };
    await type(`slow 3600000\nbusy work of ${agent}`);
    await page.getByRole("button", { name: "Stop", exact: true }).waitFor({ timeout: patience.timeout });
    await type(`say first draft for ${agent}`);
    await row("first draft").waitFor({ timeout: patience.timeout });
    await box.fill(`say never for ${agent}`);
    await page.evaluate(paste("waits.png", "image/png", picture(6)));
    await type(`say never for ${agent}`);
    await row("never").waitFor({ timeout: patience.timeout });
    await type(`say also never for ${agent}`);
    await row("also never").waitFor({ timeout: patience.timeout });

    await row("first draft").getByRole("button", { name: "Edit" }).click();
    await queue.getByRole("textbox", { name: "Queued prompt" }).fill(`say the edited one for ${agent}`);
    await queue.getByRole("button", { name: "Save" }).click();
    const all = [
      [`say the edited one for ${agent}`],
      [`say never for ${agent}`, "waits.png"],
      [`say also never for ${agent}`],
    ];
    await expect.poll(waiting, patience).toEqual(all);
    await lookAt(visit, `queue-${agent}`);
    await row("say never").getByRole("button", { name: "Cancel prompt" }).click();
    await expect.poll(waiting, patience).toEqual([all[0], all[2]]);
    await queue.getByRole("button", { name: "Undo" }).click();
    await expect.poll(waiting, patience).toEqual(all);

    const phone = await browser.visit(await signInUrl(gateway), { device: "phone" });
    await openSession(phone.page, sessionId);
    await phone.page.getByRole("tab", { name: "Conversation" }).tap();
    const onPhone = phone.page.getByRole("region", { name: "Queued prompts" });
    const rowOnPhone = (text: string) => onPhone.getByRole("listitem").filter({ hasText: text });
    await rowOnPhone("also never").waitFor({ timeout: patience.timeout });
    await lookAt(phone, `queue-${agent}-phone`);
    await rowOnPhone("say never").getByRole("button", { name: "Cancel prompt" }).tap();
    await expect.poll(waiting, patience).toEqual([all[0], all[2]]);
    await rowOnPhone("also never").getByRole("button", { name: "Cancel prompt" }).tap();
    await expect.poll(waiting, patience).toEqual([all[0]]);
    await rowOnPhone("edited one").getByRole("button", { name: "Send now" }).tap();
    await phone.page.getByRole("log").getByText(`the edited one for ${agent}`, { exact: true }).waitFor(patience);
    await expect.poll(async () => (await gateway.api.read(sessionId)).activity, patience).toBe("idle");
    const turns = (await gateway.api.read(sessionId)).turns.filter(({ role }) => role === "user");
    expect(turns.filter(({ text }) => text.includes("the edited one"))).toHaveLength(1);
    const asked = world.modelServer.requests.filter(({ kind, prompt }) => kind === "turn" && prompt === all[0]?.[0]);
    expect(asked).toHaveLength(1);
    for (const { body } of world.modelServer.requests) {
      expect(body).not.toContain("first draft for");
      expect(body).not.toContain("never for");
      expect(body).not.toContain(picture(6).toString("base64"));
    }
    expect(phone.troubles()).toEqual([]);

    // The other agent continues from the last answer.
    const other = agent === "codex" ? "claude-code" : "codex";
    await page.getByRole("log").getByText(`the edited one for ${agent}`, { exact: true }).waitFor(patience);
    await page.getByRole("button", { name: "Fork from here" }).last().click({ timeout: patience.timeout });
    const fork = page.getByRole("dialog", { name: "Fork session" });
    await fork.getByLabel("Continue with").selectOption(other);
    await fork.getByLabel("Prompt").fill(`say continued by ${other}`);
    await lookAt(visit, `fork-${agent}`);
    await fork.getByRole("button", { name: "Fork", exact: true }).click();
    await page.getByRole("log").getByText(`continued by ${other}`, { exact: true }).waitFor(patience);
    const [, forkId = ""] = /\/sessions\/([^/?#]+)/.exec(page.url()) ?? [];
    expect(await gateway.api.read(forkId)).toMatchObject({ agent: other, dir: world.repository });
    const continued = world.modelServer.requests.find(({ prompt }) => prompt?.includes(`say continued by ${other}`));
    // Claude Code puts the file into the prompt, Codex gets its path.
    const known = other === "codex" ? "/conversation.md" : "the edited one for codex";
    expect(continued?.body.includes(known)).toBe(true);
    await lookAt(visit, `forked-${agent}`);
    for (const id of [sessionId, forkId]) await gateway.api.post("/api/coding/coding_close_session", { sessionId: id });
  },
);
