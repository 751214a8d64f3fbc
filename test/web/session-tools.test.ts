import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { lookAt, signInUrl, useBrowser, type Visit } from "../support/browser.ts";
import { plantTranscript, untilListed } from "../support/planted-sessions.ts";
import { openSession, patience } from "../support/session-page.ts";
import { useGateway } from "../support/use-gateway.ts";

// An agent that does nothing: it has a terminal.
const plain = { name: "plain", binary: "/bin/cat", startArgs: [] };
const used = useGateway({ agents: false, config: { agents: [plain] } });
const browser = useBrowser();

const prompts = 150;
const key = `ghp_${"a1B2".repeat(9)}`;
const call = (id: string, name: string, input: unknown) => ({ type: "tool_use", id, name, input });
let long: string;
let rich: string;

beforeAll(async () => {
  const more = Array.from({ length: prompts - 1 }, (_, at) => at + 2).flatMap((number) => [
    { type: "user", message: { role: "user", content: `prompt ${number}${number === 20 ? " about a needle" : ""}` } },
    {
      type: "assistant",
      message: {
        id: `msg_${number}`,
        role: "assistant",
        stop_reason: "end_turn",
        content: [
          { type: "text", text: `Answer ${number}. ${"Words that fill the page. ".repeat((number * 37) % 50)}` },
          ...(number === 30 ? [call("failed", "Bash", { command: "false # needle" })] : []),
        ],
      },
    },
    ...(number === 30
      ? [
          {
            type: "user",
            message: {
              role: "user",
              content: [{ type: "tool_result", tool_use_id: "failed", content: "exit 1", is_error: true }],
            },
          },
        ]
      : []),
  ]);
  long = await plantTranscript(used.world, { prompt: "prompt 1", at: "2026-01-05T10:20:00.000Z", more });
  const reads = Array.from({ length: 6 }, (_, at) =>
    call(`r${at}`, "Read", { file_path: `/code/app/src/file-${at}.ts` }),
  );
  rich = await plantTranscript(used.world, {
    prompt: `Use ${key}`,
    blocks: [
      call("todo", "TodoWrite", {
        todos: [
          { content: "Read the code", status: "completed" },
          { content: "Change the limit", status: "in_progress" },
          { content: "Run the tests", status: "pending" },
        ],
      }),
      { type: "text", text: "I read the files." },
      ...reads,
      call("g", "Grep", { pattern: "limit", path: "/code/app/src" }),
      { type: "text", text: "Now the change." },
      call("e", "Edit", {
        file_path: "/code/app/src/limit.ts",
        old_string: "const limit = 1;",
        new_string: "const limit = 2;",
      }),
      call("one", "Read", { file_path: "/code/app/src/limit.ts" }),
      call("task", "Task", { description: "Check the limit", prompt: "Look at it", subagent_type: "reviewer" }),
      { type: "text", text: "Done." },
    ],
    results: {
      ...Object.fromEntries(reads.map(({ id }) => [id, "     1→export {};"])),
      g: "src/limit.ts:1",
      e: "ok",
      todo: "ok",
      one: "     1→const limit = 2;\n     2→export { limit };",
      task: "## Findings\n\n- **all good**",
    },
  });
  await untilListed(used.gateway.api, 2);
}, 60_000);

async function open(sessionId: string, options: Parameters<typeof browser.visit>[1] = {}): Promise<Visit> {
  const visit = await browser.visit(await signInUrl(used.gateway), options);
  await openSession(visit.page, sessionId);
  await visit.page.getByRole("article").first().waitFor(patience);
  return visit;
}

/** Where a turn begins in its list, in pixels from the top; null if it is not there. */
function topOf(page: Page, index: number): Promise<number | null> {
  return page.evaluate((turn) => {
    const list = document.querySelector('[role="log"]');
    const element = document.querySelector(`[data-turn="${turn}"]`);
    if (list === null || element === null) return null;
    return Math.round(element.getBoundingClientRect().top - list.getBoundingClientRect().top);
  }, index);
}

/** Turns have even indexes for prompts. The margin is 8 px. */
async function expectShown(page: Page, index: number): Promise<void> {
  await expect.poll(() => topOf(page, index), patience).toBeGreaterThanOrEqual(0);
  await expect.poll(() => topOf(page, index), patience).toBeLessThanOrEqual(12);
}

describe("in a long conversation", () => {
  test("keys go to the previous and next prompt and problem, also to turns that are not loaded", async () => {
    const { page } = await open(`${long}#turn-200`);
    await expectShown(page, 200);
    await page.keyboard.press("[");
    await expectShown(page, 198);
    await page.keyboard.press("[");
    await expectShown(page, 196);
    await page.keyboard.press("]");
    await expectShown(page, 198);
    expect(await topOf(page, 59)).toBeNull();
    await page.keyboard.press("{");
    await expectShown(page, 59);
    await page.keyboard.press("{");
    await page.getByText("No previous problem").waitFor();
    await page.keyboard.press("]");
    await expectShown(page, 60);
  });

  test("a search finds turns that are not loaded, opens what contains the text, and marks it", async () => {
    const visit = await open(long);
    const { page } = visit;
    await page.keyboard.press("f");
    await page.keyboard.type("NEEDLE");
    await page.getByText("1 of 2 turns").waitFor(patience);
    await expectShown(page, 38);
    await page.keyboard.press("Enter");
    await page.getByText("2 of 2 turns").waitFor();
    await expectShown(page, 59);
    await page
      .getByRole("group", { name: "Command" })
      .or(page.locator("pre", { hasText: "# needle" }))
      .first()
      .waitFor();
    const marked = () =>
      page.evaluate(() =>
        [...(CSS.highlights.get("postern-search-here") ?? [])].map((range) =>
          range instanceof Range ? range.cloneContents().textContent : "",
        ),
      );
    await expect.poll(marked, patience).toContain("needle");
    await lookAt(visit, "search-in-session-desktop");
    await page.keyboard.press("Escape");
    expect(await page.getByRole("searchbox", { name: "Search this conversation" }).count()).toBe(0);
    await expect.poll(marked).toEqual([]);
  });

  test("a link to a turn shows it", async () => {
    const { page } = await open(long);
    await page.goto(new URL(`/sessions/${long}#turn-100`, page.url()).href);
    await page.reload();
    await expectShown(page, 100);
    await page.locator('[data-turn="100"]').hover();
    await page.locator('[data-turn="100"]').getByRole("button", { name: "Copy link to this turn" }).click();
    await page.locator('[data-turn="100"]').getByRole("button", { name: "Copied" }).waitFor();
  });
});

test.for(["desktop", "phone"] as const)("tools are shown as what they are, on a %s", async (device) => {
  const visit = await open(rich, { device });
  const { page } = visit;
  const plan = page.getByRole("listitem").filter({ hasText: "Change the limit" });
  await plan.getByRole("img", { name: "In progress" }).waitFor();
  await page.getByText("const limit = 2;").first().waitFor(); // the edit is open
  const run = page.getByRole("button", { name: "6 reads, 1 search" });
  expect(await page.getByRole("button", { name: /file-3/ }).count()).toBe(0);
  await run.click();
  await page.getByRole("button", { name: /file-3/ }).waitFor();
  await run.click();
  await page.getByRole("button", { name: /^Task/ }).click();
  await page.getByRole("heading", { name: "Findings" }).waitFor();
  await page.getByRole("button", { name: /^Read/ }).click();
  const file = page.locator("pre").filter({ hasText: /^const limit = 2;\nexport \{ limit \};$/ });
  await file.waitFor();
  await lookAt(visit, `tools-${device}`);
});

test("a conversation is exported without secrets, and shared with a link that can be revoked", async () => {
  const visit = await open(rich);
  const { page } = visit;
  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: "Previous problem" }).waitFor();
  await lookAt(visit, "session-menu-desktop");
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("menuitem", { name: "Export as Markdown" }).click(),
  ]);
  const text = await readFile(await download.path(), "utf8");
  expect(download.suggestedFilename()).toMatch(/\.md$/);
  expect(text).toContain("Use \\[masked]");
  expect(text).not.toContain(key);

  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: "Share link…" }).click();
  const dialog = page.getByRole("dialog", { name: "Share this conversation" });
  await dialog.getByText("No links.").waitFor(patience);
  await dialog.getByRole("button", { name: "Create link" }).click();
  const address = dialog.getByRole("status", { name: "Link", exact: true });
  await address.waitFor(patience);
  await dialog.getByText("Expires in 7 days", { exact: true }).waitFor();
  await lookAt(visit, "share-dialog-desktop");

  const stranger = await browser.stranger({ device: "phone" });
  const url = new URL((await address.textContent()) ?? "");
  const shared = new URL(url.pathname, used.gateway.url).href;
  await stranger.page.goto(shared);
  await stranger.page.getByRole("heading", { level: 1 }).waitFor();
  expect(await stranger.page.content()).not.toContain(key);
  expect(await stranger.page.locator("input, textarea, button, script").count()).toBe(0);
  await stranger.page.getByText("Edit", { exact: true }).click();
  // Without scripts, axe cannot run there.
  await stranger.shoot("shared-page-phone");
  await stranger.page.setViewportSize({ width: 1440, height: 900 });
  await stranger.shoot("shared-page-desktop");

  await dialog.getByRole("button", { name: /^Revoke/ }).click();
  await dialog.getByText("No links.").waitFor();
  const gone = await stranger.page.goto(shared);
  expect(gone?.status()).toBe(404);
  await stranger.page.getByText("Link not available").waitFor();
});

describe("the page of a running session", () => {
  async function spawn(): Promise<string> {
    const api = await used.gateway.client(["coding:write", "coding:read"]);
    const { body } = await api.post<{ sessionId: string }>("/api/coding/spawn", {
      agent: "plain",
      dir: used.world.repository,
    });
    return body.sessionId;
  }

  test("has panes that are swapped, resized and hidden, and stay so", async () => {
    const visit = await browser.visit(await signInUrl(used.gateway));
    const { page } = visit;
    await openSession(page, await spawn());
    const terminal = page.locator(".xterm");
    const conversation = page.getByRole("log");
    await terminal.waitFor(patience);
    const sides = async () => [(await terminal.boundingBox())?.x ?? -1, (await conversation.boundingBox())?.x ?? -1];
    const choose = async (name: string) => {
      await page.getByRole("button", { name: "More" }).click();
      await page.getByRole("menuitem", { name }).click();
    };
    const [left = 0, right = 0] = await sides();
    expect(left).toBeLessThan(right);
    await choose("Swap sides");
    await expect.poll(async () => (await sides())[0]).toBeGreaterThan(right - left);
    const before = (await conversation.boundingBox())?.width ?? 0;
    const handle = page.getByRole("separator");
    await handle.focus();
    await page.keyboard.press("ArrowRight");
    await expect.poll(async () => (await conversation.boundingBox())?.width ?? 0).toBeGreaterThan(before);
    const box = await handle.boundingBox();
    // The right half of the handle's area.
    await page.mouse.move((box?.x ?? 0) + 4, 400);
    await page.mouse.down();
    await page.mouse.move((box?.x ?? 0) - 200, 400, { steps: 4 });
    await page.mouse.up();
    await expect.poll(async () => (await conversation.boundingBox())?.width ?? 0).toBeLessThan(before);
    await choose("Hide terminal");
    await expect.poll(() => terminal.count()).toBe(0);
    const { width = 0 } = (await page.getByRole("log").boundingBox()) ?? {};
    expect(width).toBeGreaterThan(700);
    expect(width).toBeLessThan(780);
    await lookAt(visit, "terminal-hidden-desktop");
    await page.reload();
    await page.getByRole("log").waitFor(patience);
    expect(await terminal.count()).toBe(0);
    await page.getByRole("button", { name: "Show terminal" }).click();
    await terminal.waitFor(patience);
    expect((await sides())[0]).toBeGreaterThan((await sides())[1] ?? 0);
  });

  test("opens on the conversation on a phone, with one row above the tabs", async () => {
    const visit = await browser.visit(await signInUrl(used.gateway), { device: "phone" });
    const { page } = visit;
    await openSession(page, await spawn());
    const log = page.getByRole("log");
    await log.waitFor(patience);
    expect((await log.boundingBox())?.y).toBeLessThan(110);
    await lookAt(visit, "running-phone");
    await page.getByRole("tab", { name: "Terminal" }).click();
    await page.getByRole("button", { name: "Shift+Tab" }).waitFor(patience);
    for (const name of ["Ctrl+C", "Paste"]) {
      const key = await page.getByRole("button", { name, exact: true }).boundingBox();
      expect((key?.x ?? 999) + (key?.width ?? 0)).toBeLessThanOrEqual(390);
    }
    await lookAt(visit, "running-phone-terminal");
    await page.setViewportSize({ width: 844, height: 390 });
    await page.getByRole("tab", { name: "Terminal" }).waitFor();
    expect((await page.locator(".terminal-place").first().boundingBox())?.height).toBeGreaterThan(200);
    await visit.shoot("running-landscape-light");
    await page.getByRole("link", { name: "Back to sessions" }).click();
    await page.waitForURL(new URL("/", page.url()).href);
  });
});
