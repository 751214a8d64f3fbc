import { expect, test } from "vitest";
import { expectFlawless, lookAt, signInUrl, useBrowser } from "../support/browser.ts";
import { picture } from "../support/pictures.ts";
import { openSession, patience } from "../support/session-page.ts";
import { useGateway } from "../support/use-gateway.ts";

const used = useGateway({ agents: true });
const browser = useBrowser();

const html = Buffer.from("<script>alert(1)</script>");

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
  "the model of %s gets the bytes of a picture that is pasted into the prompt box, and the turn shows it",
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
    await gateway.api.post("/api/coding/coding_close_session", { sessionId });
  },
);
