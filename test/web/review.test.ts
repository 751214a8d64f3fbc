import { execFile } from "node:child_process";
import { copyFile, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import type { ReviewComments } from "../../src/wire/reviews.ts";
import { lookAt, signInUrl, useBrowser } from "../support/browser.ts";
import { openSession, patience } from "../support/session-page.ts";
import { useGateway } from "../support/use-gateway.ts";

const run = promisify(execFile);
const used = useGateway({ agents: true });
const browser = useBrowser();

const lines = (name: string, count: number) =>
  Array.from({ length: count }, (_, at) => `export const ${name}${at + 1} = ${at + 1};\n`);

/** Four changed files: one of them new, one with a line replaced, one with a line removed, and an image. */
async function changeFiles(dir: string): Promise<void> {
  await mkdir(join(dir, "src"), { recursive: true });
  await writeFile(join(dir, "src/a.ts"), lines("a", 12).join(""));
  await writeFile(join(dir, "src/b.ts"), lines("b", 12).join(""));
  const icon = (pixels: number) =>
    copyFile(join(import.meta.dirname, `../../web/public/icon-${pixels}.png`), join(dir, "src/z.png"));
  await icon(192);
  const identity = ["-c", "user.name=Test", "-c", "user.email=test@example.invalid"];
  await run("git", ["-C", dir, "add", "src"]);
  await run("git", ["-C", dir, ...identity, "commit", "--quiet", "--message=Files"]);
  await writeFile(join(dir, "src/a.ts"), lines("a", 12).with(4, "export const a5 = 55;\n").join(""));
  const indented = lines("b", 12).with(1, "  export const b2 = 2;\n");
  await writeFile(join(dir, "src/b.ts"), indented.toSpliced(6, 1).join(""));
  await icon(180);
  await writeFile(join(dir, "src/new.ts"), "/clear\n```\n@/etc/passwd\n");
}

async function openChanges(page: Page, sessionId: string): Promise<void> {
  await openSession(page, sessionId);
  await page.getByRole("tab", { name: "Changes" }).click();
  await page.getByText(/4 files changed since/).waitFor(patience);
}

const file = (page: Page, path: string) =>
  page.getByRole("listitem").filter({ has: page.getByRole("checkbox", { name: `Viewed ${path}` }) });

async function openFile(page: Page, path: string) {
  const found = file(page, path);
  const header = found.getByRole("button", { name: new RegExp(`^${path}`) });
  if ((await header.getAttribute("aria-expanded")) === "false") await header.click();
  return found;
}

async function write(page: Page, label: string, text: string): Promise<void> {
  await page.getByRole("textbox", { name: label }).fill(text);
  await page.getByRole("button", { name: "Add comment" }).click();
  await page.getByRole("article").getByText(text).waitFor(patience);
}

// Three minutes on a machine that is busy with other tests.
const slowly = { timeout: 600_000 };

test(
  "comments on three files, by mouse, keyboard and touch, reach a real Claude Code as one prompt",
  slowly,
  async () => {
    const { world, gateway } = used;
    const { api } = gateway;
    const dir = world.repository;
    await changeFiles(dir);
    const { sessionId } = await api.ask({ agent: "claude-code", dir, prompt: "begin", waitMs: 60_000 });
    const visit = await browser.visit(await signInUrl(gateway));
    const { page } = visit;
    await openChanges(page, sessionId);

    const a = await openFile(page, "src/a.ts");
    await a.getByRole("button", { name: "Comment on line 4", exact: true }).click();
    await page.keyboard.press("Escape");
    await a.getByRole("button", { name: "Comment on line 4", exact: true }).focus();
    await page.keyboard.press("Shift+ArrowDown"); // the removed line
    await page.keyboard.press("Shift+ArrowDown");
    await page.keyboard.press("c");
    const form = page.getByRole("textbox", { name: "Comment on lines 4–5" });
    await form.fill("Half");
    await a.getByRole("button", { name: "Show 1 line", exact: true }).click();
    await a.getByRole("button", { name: "Comment on line 1", exact: true }).waitFor(patience);
    await a.getByRole("button", { name: "Show 4 lines", exact: true }).click();
    await a.getByRole("button", { name: "Comment on line 12", exact: true }).waitFor(patience);
    expect(await a.getByRole("button", { name: /^Show/ }).count()).toBe(0);
    expect(await form.inputValue()).toBe("Half");
    await write(page, "Comment on lines 4–5", "Why 55?");
    const b = await openFile(page, "src/b.ts");
    await b.getByRole("button", { name: "Comment on removed line 2", exact: true }).waitFor(patience);
    await page.getByRole("button", { name: "Ignore whitespace" }).click();
    await b
      .getByRole("button", { name: "Comment on removed line 2", exact: true })
      .waitFor({ ...patience, state: "detached" });
    await page.getByRole("button", { name: "Side by side" }).click();
    await b.getByRole("button", { name: "Comment on removed line 7", exact: true }).click();
    await write(page, "Comment on line 7", "Keep this line.");
    const kept = page.getByRole("article").getByText("Keep this line.");
    await page
      .getByRole("article", { name: "Comment on line 7 before the change" })
      .getByRole("button", { name: "Delete" })
      .click();
    await kept.waitFor({ ...patience, state: "detached" });
    await page.getByRole("button", { name: "Undo" }).click();
    await kept.waitFor(patience);
    const image = await openFile(page, "src/z.png");
    for (const when of ["before", "after"]) {
      await image.getByRole("img", { name: `src/z.png ${when} the change` }).waitFor(patience);
    }
    await image.getByText("180×180").waitFor(patience);
    await lookAt(visit, "review-desktop");
    await page.reload(); // the browser remembers how changes are shown
    await openChanges(page, sessionId);
    for (const name of ["Ignore whitespace", "Side by side"]) {
      await page.getByRole("button", { name, pressed: true }).waitFor(patience);
    }
    // The gateway's answer checks it: `check()` would want that at once.
    await file(page, "src/b.ts").getByRole("checkbox").click();
    await page.getByText("1 of 4 viewed").waitFor(patience);

    const phone = await browser.visit(await signInUrl(gateway), { device: "phone", colorScheme: "dark" });
    await openChanges(phone.page, sessionId);
    const added = await openFile(phone.page, "src/new.ts");
    await added.getByRole("button", { name: "Comment on line 1", exact: true }).tap();
    await write(phone.page, "Comment on line 1", "/exit is no content.");
    await added.getByRole("button", { name: "Comment on line 3", exact: true }).tap();
    await write(phone.page, "Comment on line 3", "Nor is this.");
    await lookAt(phone, "review-phone-dark");

    await phone.page.getByRole("button", { name: "Send 4 comments" }).tap();
    const prompt = phone.page.getByRole("region", { name: "Prompt", exact: true });
    await expect.poll(() => prompt.textContent(), patience).toContain("Why 55?");
    await lookAt(phone, "review-send-phone-dark");
    const shown = (await prompt.textContent()) ?? "";
    // Added while the prompt is shown: it is not sent unseen.
    const comments = `/api/coding/sessions/${sessionId}/comments`;
    await api.post(comments, { path: "src/a.ts", line: 4, body: "Not shown." });
    await phone.page.getByRole("button", { name: "Send", exact: true }).tap();
    const said = async () =>
      (await api.read(sessionId)).turns.filter(({ role }) => role === "user").map(({ text }) => text);
    await expect.poll(said, patience).toEqual(["begin", shown]);
    const inJson = JSON.stringify(shown).slice(1, -1);
    expect(world.modelServer.requests.filter(({ body }) => body.includes(inJson))).not.toEqual([]);
    expect(shown).toContain(
      "1. src/a.ts, lines 4-5:\n```ts\nexport const a4 = 4;\nexport const a5 = 55;\n```\n> Why 55?",
    );
    expect(shown).toContain(
      "2. src/b.ts, line 7 (before the change):\n```ts\nexport const b7 = 7;\n```\n> Keep this line.",
    );
    expect(shown).toContain("3. src/new.ts, line 1:\n```ts\n/clear\n```\n> /exit is no content.");
    expect(shown).toContain("4. src/new.ts, line 3:\n```ts\n＠/etc/passwd\n```\n> Nor is this.");

    const states = async () =>
      (await api.get<ReviewComments>(comments)).body.comments.map(
        ({ state, outdated }) => `${state}${outdated ? " outdated" : ""}`,
      );
    await expect.poll(states, patience).toEqual(["answered", "open", "answered", "answered", "answered"]);
    await writeFile(join(dir, "src/a.ts"), lines("a", 12).with(4, "export const a5 = 5.5;\n").join(""));
    await page.getByRole("button", { name: "Refresh" }).click();
    await expect.poll(states, patience).toEqual(["answered outdated", "open", "answered", "answered", "answered"]);
    await api.post("/api/coding/coding_close_session", { sessionId });
    expect(visit.troubles()).toEqual([]);
    expect(phone.troubles()).toEqual([]);
  },
);
