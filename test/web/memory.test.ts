import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { type LogPage, logDeletionSchema, logPageSchema, logSearchSchema } from "../../src/wire/logs.ts";
import { meSchema } from "../../src/wire/sign-in.ts";
import { beyondTheEdge, expectFlawless, lookAt, signInUrl, useBrowser } from "../support/browser.ts";
import { fillMemory, plantSession } from "../support/memory-scene.ts";
import { patience } from "../support/session-page.ts";
import { useGateway } from "../support/use-gateway.ts";

// By itself nothing is recorded: what these tests remember they remember on purpose.
const used = useGateway({ agents: false, config: { memory: { record: "off" } } });
const browser = useBrowser();

/** Goes to another address of the page, as a link does: nothing is loaded anew. */
async function open(page: Page, path: string, heading: string): Promise<void> {
  await page.evaluate(
    `history.pushState(null, "", ${JSON.stringify(path)}); dispatchEvent(new PopStateEvent("popstate"))`,
  );
  await page.getByRole("heading", { level: 1, name: heading }).waitFor();
}

test("an empty memory says what it is; a note is written, found and read", async () => {
  const visit = await browser.visit(await signInUrl(used.gateway));
  const { page } = visit;
  await page.getByRole("heading", { level: 1, name: "Sessions" }).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("m");
  await page.getByText("Memory is empty").waitFor();
  await page.getByText("memory.record").waitFor();
  await page.getByRole("button", { name: "Add note" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Title").fill("First words");
  await dialog.getByLabel("Text").fill("Decision: the colour = green");
  // A click beside it takes nothing away, and what closes it keeps what was written.
  await page.mouse.click(5, 5);
  await expectFlawless(visit, "a note");
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Add note" }).click();
  await expect.poll(() => dialog.getByLabel("Title").inputValue()).toBe("First words");
  await page.route("**/api/v1/logs", async (route) => {
    await route.fetch();
    await route.abort();
  });
  await dialog.getByRole("button", { name: "Save note" }).click();
  await dialog.getByText("The gateway did not respond").waitFor();
  await page.unroute("**/api/v1/logs");
  await dialog.getByRole("button", { name: "Save note" }).click();
  await page.getByRole("heading", { level: 1, name: "First words" }).waitFor();
  const drawn = page.getByRole("region", { name: "Extracted facts" });
  await drawn.getByRole("region", { name: "Decisions" }).getByText("green").waitFor();
  await drawn.getByText("Current").waitFor();
  // Its first answer was lost; it is there once.
  expect((await used.gateway.api.get<LogPage>("/api/v1/logs")).body.logs).toHaveLength(1);
  expect(visit.troubles()).toEqual([expect.stringContaining("net::ERR_FAILED")]);
  await page.getByRole("button", { name: "Delete" }).click();
  await dialog.getByText("You cannot undo this.").waitFor();
  await dialog.getByRole("button", { name: "Delete permanently" }).click();
  await page.getByRole("heading", { level: 1, name: "Deleted" }).waitFor();
  await page.getByRole("link", { name: "Go to memory" }).click();
  await page.getByText("Memory is empty").waitFor();
  await expectFlawless(visit, "the empty memory");
});

describe("a memory with entries", () => {
  let entries: Awaited<ReturnType<typeof fillMemory>>;

  beforeAll(async () => {
    entries = await fillMemory(used.gateway.api, used.world.repository);
  });

  test("entries stand day by day, are found by words as one types, and filtered; what they hold is text and nothing else", async () => {
    const visit = await browser.visit(await signInUrl(used.gateway));
    const { page } = visit;
    await open(page, "/memory", "Memory");
    await page
      .getByRole("region", { name: "Today" })
      .or(page.getByRole("region", { name: "Yesterday" }))
      .first()
      .waitFor();
    await page.getByRole("link", { name: "Tests of the timeout", exact: true }).waitFor();
    await lookAt(visit, "memory-desktop");

    await page.keyboard.press("/");
    await page.keyboard.type("naive timeou");
    const found = page.getByRole("list", { name: "Found" });
    await found.getByRole("link", { name: "Release day", exact: true }).waitFor();
    // It is found for shorter words already.
    await expect.poll(() => found.locator("mark").allInnerTexts(), patience).toEqual(["naïve", "timeou"]);
    await expect.poll(() => found.getByRole("listitem").count()).toBe(1);
    await page.getByRole("searchbox").fill("timeout");
    await page.getByText("Found 3 hits").waitFor();
    await page.getByLabel("Source").selectOption("session");
    await page.getByText("No results").waitFor();
    await page.getByLabel("Source").selectOption("api");
    await page.getByText("Found 3 hits").waitFor();
    await page.reload();
    await page.getByText("Found 3 hits").waitFor();
    await page.getByRole("navigation", { name: "Memory" }).getByRole("link", { name: "Entries" }).click();
    await page.getByRole("link", { name: "Tests of the timeout", exact: true }).waitFor();
    await expect.poll(() => page.getByRole("searchbox").inputValue(), patience).toBe("");
    // What was in the box is not asked again, also later than a search begins after a key.
    await visit.settled();
    expect(new URL(page.url()).search).toBe("");

    await page.getByRole("searchbox").fill("pasted");
    await page.keyboard.press("Tab");
    await page.getByText("Found 1 hit").waitFor();
    await page.getByRole("main").press("j");
    await page.keyboard.press("Enter");
    const said = page.getByRole("region", { name: "Text" });
    await said.getByText('<img src=x onerror="window.hurt = 1">').waitFor();
    await expect.poll(() => said.innerText()).toContain("red\u27e8U+202E\u27e9txt.exe <script>");
    await page.getByRole("heading", { level: 1, name: 'A page <img src=x onerror="alert(1)"> gnp.exe' }).waitFor();
    expect(await page.evaluate("window.hurt")).toBeUndefined();
    expect(await page.locator("main img, main script").count()).toBe(0);
    await expectFlawless(visit, "a hostile entry");
  });

  test("an entry shows what was drawn from it and what of it is still so; a thing shows when it was so, also as of a time", async () => {
    const visit = await browser.visit(await signInUrl(used.gateway));
    const { page } = visit;
    await open(page, `/memory/${entries.first}`, "Make the timeout of requests longer");
    const decisions = page.getByRole("region", { name: "Decisions" });
    await decisions.getByText("20 s").waitFor();
    await decisions.getByText("until").waitFor();
    await page.getByRole("region", { name: "Commands" }).getByText("exit code 1").waitFor();
    await page.getByRole("region", { name: "Text" }).getByText("Requests end too early.").waitFor();
    await lookAt(visit, "memory-entry-desktop");

    await decisions.getByRole("link", { name: "timeout" }).click();
    await page.getByRole("heading", { level: 1, name: "timeout" }).waitFor();
    await page.getByText("30 s").last().waitFor();
    await page.getByText("Current").waitFor();
    await lookAt(visit, "memory-decision-desktop");
    const asOf = page.getByLabel("As of");
    await asOf.fill(localTime(Date.now() - 40 * 3_600_000));
    await expect.poll(() => page.getByText("Current").count(), patience).toBe(0);
    expect(await page.getByRole("main").getByRole("listitem").allInnerTexts()).toEqual([
      expect.stringMatching(/Says[^]*20 s/),
      expect.stringMatching(/Decided in/),
    ]);
    await page.getByRole("button", { name: "Now" }).click();
    await page.getByText("Current").waitFor();

    await page.getByRole("link", { name: "Topics" }).click();
    await page.getByRole("heading", { level: 1, name: "Memory" }).waitFor();
    await page.getByRole("group", { name: "Kind" }).getByText("Commands").click();
    await page.getByRole("searchbox").fill("NPM");
    await expect
      .poll(() => page.getByRole("list", { name: "Topics" }).innerText(), patience)
      .toMatch(/^npm test\s+Command$/);
    await page.getByRole("link", { name: "npm test" }).click();
    await page.getByText("exit code 0").last().waitFor();
    expect(visit.troubles()).toEqual([]);

    // What is deleted elsewhere leaves the page at the next look.
    const note = { title: "Soon gone", content: "Words that are deleted elsewhere." };
    const { logId } = (await used.gateway.api.post<{ readonly logId: string }>("/api/v1/logs", note)).body;
    await open(page, `/memory/${logId}`, "Soon gone");
    await page.getByText(note.content).waitFor();
    await used.gateway.api.post(`/api/v1/logs/${logId}/delete`, { id: logId });
    await page.clock.setFixedTime(Date.now() + 60_000);
    await page.evaluate("window.dispatchEvent(new Event('visibilitychange'))");
    await page.getByText("Entry not found").waitFor();
    expect(await page.getByText(note.content).count()).toBe(0);
  });

  test("a session is remembered from its page, once; what is remembered of it goes at a word", async () => {
    const sessionId = await plantSession(used.world, "Build the pages with another bundler");
    const visit = await browser.visit(await signInUrl(used.gateway), { colorScheme: "dark" });
    const { page } = visit;
    await open(page, `/sessions/${sessionId}`, "Build the pages with another bundler");
    await page.getByRole("button", { name: "Memory" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Nothing in memory for this session").waitFor();
    await expect.poll(() => dialog.getByRole("button", { name: "Delete from memory" }).isDisabled()).toBe(true);
    await dialog.getByRole("button", { name: "Save to memory" }).click();
    await dialog.getByText("Saved 2 turns.").waitFor();
    await dialog.getByText("1 entry in memory").waitFor();
    await lookAt(visit, "memory-session-desktop");
    await dialog.getByRole("button", { name: "Save to memory" }).click();
    await dialog.getByText("Everything is already saved.").waitFor();
    await dialog.getByRole("link", { name: "Show in memory" }).click();
    await page.getByRole("heading", { level: 1, name: "Memory" }).waitFor();
    const memory = page.getByRole("region", { name: "Memory of the session" });
    await memory.getByText("1 entry in memory").waitFor();
    await page.locator("a[data-log-link]").click();
    await page.getByRole("region", { name: "Decisions" }).getByText("rolldown").waitFor();
    await page.getByRole("button", { name: "Delete" }).click();
    await dialog.getByText(/The agent’s own transcript/).waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await page.goBack();
    await memory.getByRole("button", { name: "Delete from memory" }).click();
    await dialog.getByText("You cannot undo this.").waitFor();
    await expectFlawless(visit, "deleting a session's memory");
    await dialog.getByRole("button", { name: "Delete permanently" }).click();
    await memory.getByText(/^Deleted 1 memory entry/).waitFor();
    await page.getByText("Nothing in memory for this session").first().waitFor();
    await expectFlawless(visit, "a session that is remembered no more");
    await page.goForward();
    await page.getByText("Entry not found").waitFor();
    expect(visit.troubles()).toEqual([expect.stringContaining("404")]);
  });

  test("on a phone all of it fits, and deleting says before what goes and what stays, and after what went", async () => {
    const { api } = used.gateway;
    const remember = async (title: string, value: string): Promise<string> => {
      const note = { title, content: `Decision: the shape of the door = ${value}` };
      return (await api.post<{ readonly logId: string }>("/api/v1/logs", note)).body.logId;
    };
    const title = `A door ${"of wood and iron ".repeat(25)}`.trim();
    const earlier = await remember("An earlier door", "round");
    const doomed = await remember(title, "square");
    const thing = await api.get<{ readonly entities: readonly { readonly entityId: string }[] }>(
      "/api/v1/entities?type=File&q=request.ts",
    );
    const visit = await browser.visit(await signInUrl(used.gateway), { device: "phone" });
    const { page } = visit;
    await page.setViewportSize({ width: 320, height: 700 });
    const pages = [
      ["timeline", "/memory", "Memory"],
      ["things", "/memory/entities", "Memory"],
      ["file", `/memory/entities/${thing.body.entities[0]?.entityId}`, "…/src/request.ts"],
      ["earlier", `/memory/${earlier}`, "An earlier door"],
      ["entry", `/memory/${doomed}`, title],
    ] as const;
    for (const [name, path, heading] of pages) {
      await open(page, path, heading);
      await visit.settled();
      if (name === "file" || name === "entry") await lookAt(visit, `memory-${name}-phone`);
      expect(z.array(z.string()).parse(await page.evaluate(beyondTheEdge)), name).toEqual([]);
    }
    const heading = page.getByRole("heading", { level: 1 });
    await expect.poll(() => heading.getAttribute("title")).toBe(title);
    expect((await heading.boundingBox())?.height).toBeLessThan(100);
    await page.getByRole("button", { name: "Delete" }).click();
    const dialog = page.getByRole("dialog");
    await dialog
      .getByRole("region", { name: "Kept" })
      .getByText(/topics? shared with other entries/)
      .waitFor();
    await lookAt(visit, "memory-delete-phone");
    const pending = "They are not erased from the database file yet, because it is being read.";
    await page.route(`**/api/v1/logs/${doomed}`, async (route) => {
      const answer = await route.fetch();
      const deletion = logDeletionSchema.parse(await answer.json());
      await route.fulfill({ json: { ...deletion, message: `${deletion.message} ${pending}` } });
    });
    await dialog.getByRole("button", { name: "Delete permanently" }).click();
    await page.getByRole("heading", { level: 1, name: "Deleted" }).waitFor();
    const said = page
      .getByRole("status")
      .filter({ hasText: /^Deleted the memory entry and its episode, with \d+ facts?/ });
    await said.getByText(pending).waitFor();
    await expectFlawless(visit, "what was deleted");
    await page.unroute(`**/api/v1/logs/${doomed}`);
    await page.goBack();
    // What the entry that is gone had said holds no more: what the earlier one says does again.
    await page.getByRole("heading", { level: 1, name: "An earlier door" }).waitFor();
    await page.getByRole("region", { name: "Decisions" }).getByText("Current").waitFor();
    expect(visit.troubles()).toEqual([]);
    // The answer of a deletion is lost: the second try is told that it is gone, and then nothing of it is shown.
    await page.route(`**/api/v1/logs/${earlier}`, async (route) => {
      if (route.request().method() === "DELETE") await route.fetch();
      await route.abort();
    });
    await page.getByRole("button", { name: "Delete" }).click();
    await dialog.getByRole("button", { name: "Delete permanently" }).click();
    await dialog.getByText("The gateway did not respond").waitFor();
    await page.unroute(`**/api/v1/logs/${earlier}`);
    await dialog.getByRole("button", { name: "Delete permanently" }).click();
    await page.getByText("Entry not found").waitFor();
    expect(await page.getByText("door").count()).toBe(0);
  });

  test("what is still being read, what failed, and what was looked for in the newest entries alone, is said", async () => {
    const { page, ...visit } = await browser.visit(await signInUrl(used.gateway));
    await page.route("**/api/me", async (route) => {
      const answer = await route.fetch();
      const me = meSchema.parse(await answer.json());
      await route.fulfill({ json: { ...me, scopes: me.scopes.filter((scope) => scope !== "coding:read") } });
    });
    await page.route(/\/api\/v1\/logs\?limit/, async (route) => {
      const answer = await route.fetch();
      const { logs, nextCursor } = logPageSchema.parse(await answer.json());
      const states = [{ status: "pending" }, { status: "failed", failure: "The model did not answer." }] as const;
      await route.fulfill({ json: { logs: logs.map((log, at) => ({ ...log, ...states[at] })), nextCursor } });
    });
    await page.route(/\/api\/v1\/search/, async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ json: { ...logSearchSchema.parse(await answer.json()), partial: true } });
    });
    await page.goto(new URL("/memory?sessionId=first-session", used.gateway.app.baseUrl).href);
    // Who may not read sessions is not led to them.
    const memory = page.getByRole("region", { name: "Memory of the session" });
    await memory.getByRole("button", { name: "Delete from memory" }).waitFor();
    await page.getByRole("link", { name: "Make the timeout of requests longer", exact: true }).waitFor();
    expect(await memory.getByRole("button", { name: "Save to memory" }).count()).toBe(0);
    expect(await page.getByRole("main").locator("a[href^='/sessions/']").count()).toBe(0);
    await page.getByRole("button", { name: "Entries of all sessions" }).click();
    await page.getByRole("listitem").filter({ hasText: "Processing" }).waitFor();
    await page.getByRole("listitem").filter({ hasText: "The model did not answer." }).getByText("Failed").waitFor();
    await page.getByRole("searchbox").fill("timeout");
    await page.getByText("only the newest were searched").waitFor();
    await expectFlawless({ page, ...visit }, "states of entries");
  });
});

test("who may not read the memory is not offered it, and asks the gateway for nothing of it", async () => {
  const { directory, signIn } = used.gateway.app.accounts;
  const { accountId } = await directory.add({ name: "reader of sessions", scopes: ["coding:read"] });
  const { page } = await browser.visit((await signIn.createUrl(accountId, used.gateway.app.baseUrl)).url);
  const asked: string[] = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  await page.getByRole("heading", { level: 1, name: "Sessions" }).waitFor();
  expect(await page.getByRole("link", { name: "Memory" }).count()).toBe(0);
  await open(page, "/memory", "Memory");
  await page.getByText("read memory").waitFor();
  expect(asked.filter((path) => path.startsWith("/api/v1/"))).toEqual([]);
});

/** As a field for date and time takes it. */
function localTime(timeMs: number): string {
  return new Date(timeMs - new Date(timeMs).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
