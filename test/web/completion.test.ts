import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { lookAt, signInUrl, useBrowser } from "../support/browser.ts";
import { openSession, patience } from "../support/session-page.ts";
import { useGateway } from "../support/use-gateway.ts";

const contents = "the pelican lives in this file";
const skillText = "Tidy it like a heron.";
const used = useGateway({ agents: true });
const browser = useBrowser();

beforeAll(async () => {
  const { repository } = used.world;
  const skill = `---\nname: tidy-up\ndescription: Tidies the code up\n---\n${skillText}`;
  const files = {
    "docs/bird notes.md": contents,
    "docs/plain.md": contents,
    ".claude/commands/greet.md": "---\ndescription: Greets somebody\nargument-hint: <name>\n---\nGreet $ARGUMENTS",
    ".claude/skills/tidy-up/SKILL.md": skill,
    ".agents/skills/tidy-up/SKILL.md": skill,
  };
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(repository, path)), { recursive: true });
    await writeFile(join(repository, path), text);
  }
});

async function ready(agent: string): Promise<string> {
  const { world, gateway } = used;
  return (await gateway.api.ask({ agent, dir: world.repository, prompt: "begin", waitMs: 60_000 })).sessionId;
}

/** The whole request of the last turn whose prompt has this. */
function sentToModel(words: string): string {
  const { requests } = used.world.modelServer;
  return requests.findLast(({ kind, prompt }) => kind === "turn" && prompt?.includes(words) === true)?.body ?? "";
}

test("Claude Code: @ completes a file that the model receives, / completes commands, and arrows recall prompts", async () => {
  const sessionId = await ready("claude-code");
  const visit = await browser.visit(await signInUrl(used.gateway));
  const { page } = visit;
  await openSession(page, sessionId);
  const box = page.getByRole("textbox", { name: /^Prompt to/ }).or(page.getByRole("combobox", { name: /^Prompt to/ }));
  const option = (name: string | RegExp) => page.getByRole("option", { name });
  const listBox = page.getByRole("listbox", { name: "Suggestions" });

  await box.click();
  await page.keyboard.type("/gr");
  await option(/\/greet <name> Greets somebody/).waitFor({ timeout: patience.timeout });
  await page.keyboard.press("Escape");
  await expect.poll(() => listBox.count()).toBe(0);
  await expect.poll(() => box.inputValue()).toBe("/gr");
  await box.fill("");
  await page.keyboard.type("/");
  await option(/\/compact/).waitFor({ timeout: patience.timeout });
  await lookAt(visit, "completion-commands-desktop");
  await box.fill("");

  await page.keyboard.type("say seen @bird");
  await option(/bird notes\.md/).waitFor({ timeout: patience.timeout });
  expect(await page.getByRole("combobox", { name: /^Prompt to/ }).getAttribute("aria-activedescendant")).toBe(
    await option(/bird notes\.md/).getAttribute("id"),
  );
  await lookAt(visit, "completion-files-desktop");
  await page.keyboard.press("Tab");
  await expect.poll(() => box.inputValue()).toBe('say seen @"docs/bird notes.md" ');
  await page.keyboard.press("Enter");
  await expect.poll(() => sentToModel("bird notes"), patience).toContain(contents);
  await page.getByText("Delivered.").waitFor({ timeout: patience.timeout });

  await page.keyboard.press("ArrowUp");
  await expect.poll(() => box.inputValue()).toBe('say seen @"docs/bird notes.md"');
  await page.keyboard.press("ArrowUp");
  await expect.poll(() => box.inputValue()).toBe("begin");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await expect.poll(() => box.inputValue()).toBe("");
  expect(visit.troubles()).toEqual([]);
});

test("Codex on a phone: a touch on a file inserts its path, and $ completes a skill that Codex reads", async () => {
  const sessionId = await ready("codex");
  const phone = await browser.visit(await signInUrl(used.gateway), { device: "phone" });
  const { page } = phone;
  await openSession(page, sessionId);
  await page.getByRole("tab", { name: "Conversation" }).tap();
  const box = page.getByRole("textbox", { name: /^Prompt to/ }).or(page.getByRole("combobox", { name: /^Prompt to/ }));
  await box.tap();
  await page.keyboard.type("say seen @plain");
  await page.getByRole("option", { name: /plain\.md/ }).waitFor({ timeout: patience.timeout });
  await lookAt(phone, "completion-files-phone");
  await page.getByRole("option", { name: /plain\.md/ }).tap();
  await expect.poll(() => box.inputValue()).toBe("say seen docs/plain.md ");
  await page.keyboard.type("with $tid");
  await page.getByRole("option", { name: /tidy-up/ }).tap({ timeout: patience.timeout });
  await expect.poll(() => box.inputValue()).toBe("say seen docs/plain.md with $tidy-up ");
  await page.getByRole("button", { name: "Send", exact: true }).tap();
  await expect.poll(() => sentToModel("say seen docs/plain.md with $tidy-up"), patience).toContain(skillText);
  expect(phone.troubles()).toEqual([]);
});

test("a new session's first prompt completes files of the chosen folder for the chosen agent", async () => {
  const visit = await browser.visit(await signInUrl(used.gateway));
  const { page } = visit;
  await page.goto(new URL("/new", page.url()).href);
  const form = page.getByRole("form", { name: "New session" });
  await form.getByLabel("Folder").fill(used.world.repository);
  await form.getByLabel("Agent", { exact: true }).selectOption("claude-code");
  const prompt = form.getByLabel("First prompt");
  await prompt.click();
  await page.keyboard.type("read @notes");
  await page.getByRole("option", { name: /bird notes\.md/ }).waitFor({ timeout: patience.timeout });
  await lookAt(visit, "completion-new-session-desktop");
  await page.keyboard.press("Enter");
  await expect.poll(() => prompt.inputValue()).toBe('read @"docs/bird notes.md" ');
  expect(visit.troubles()).toEqual([]);
});

test("a draft follows the account to another device, and of two that differ one is chosen", async () => {
  const sessionId = await ready("codex");
  const open = async (device: "desktop" | "phone") => {
    const visit = await browser.visit(await signInUrl(used.gateway), { device });
    await openSession(visit.page, sessionId);
    if (device === "phone") await visit.page.getByRole("tab", { name: "Conversation" }).tap();
    return { visit, page: visit.page, box: visit.page.getByRole("textbox", { name: /^Prompt to/ }) };
  };
  const look = "document.dispatchEvent(new Event('visibilitychange'))";
  const kept = async (): Promise<unknown> =>
    (await used.gateway.api.get(`/api/coding/sessions/${sessionId}/draft`)).body;
  const desk = await open("desktop");
  await desk.box.fill("begun at the desk");
  await expect.poll(kept, patience).toMatchObject({ text: "begun at the desk" });

  const phone = await open("phone");
  await expect.poll(() => phone.box.inputValue(), patience).toBe("begun at the desk");
  await phone.box.fill("begun at the desk, more on the phone");
  await expect.poll(kept, patience).toMatchObject({ text: "begun at the desk, more on the phone" });
  await desk.page.evaluate(look);
  await expect.poll(() => desk.box.inputValue(), patience).toBe("begun at the desk, more on the phone");

  await desk.box.fill("from the desk");
  await expect.poll(kept, patience).toMatchObject({ text: "from the desk" });
  await phone.box.fill("from the phone");
  const question = phone.page.getByRole("group", { name: "Draft on another device" });
  await question.getByText("from the desk").waitFor({ timeout: patience.timeout });
  await expect.poll(() => phone.box.inputValue()).toBe("from the phone");
  await lookAt(phone.visit, "drafts-differ-phone");
  await question.getByRole("button", { name: "Keep this one" }).tap();
  await expect.poll(kept, patience).toMatchObject({ text: "from the phone" });

  await phone.page.getByRole("button", { name: "Send", exact: true }).tap();
  await expect.poll(kept, patience).toMatchObject({ text: "", version: 0 });
  await desk.page.evaluate(look);
  await question.waitFor({ state: "hidden" });
  await expect.poll(() => desk.box.inputValue(), patience).toBe("");
  expect([...desk.visit.troubles(), ...phone.visit.troubles()]).toEqual([]);
});
