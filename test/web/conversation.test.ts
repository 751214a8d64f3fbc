import { beforeAll, describe, expect, test } from "vitest";
import { beyondTheEdge, expectFlawless, lookAt, signInUrl, useBrowser, type Visit } from "../support/browser.ts";
import { plantTranscript, untilListed } from "../support/planted-sessions.ts";
import { openSession, patience } from "../support/session-page.ts";
import { useGateway } from "../support/use-gateway.ts";

const used = useGateway({ agents: false });
const browser = useBrowser();

const code = "const anAnswerThatIsLongEnoughToReachTheRightEdgeOfTheBlock = await fetch(address, { method, headers });";
const said = [
  "Here is ![the plan](https://example.com/plan.png) and a [link](https://example.com).",
  "",
  "```typescript",
  code,
  "```",
].join("\n");
const call = (id: string, name: string, input: unknown) => ({ type: "tool_use", id, name, input });
const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>').toString("base64");
let sessionId: string;

beforeAll(async () => {
  sessionId = await plantTranscript(used.world, {
    prompt: [
      { type: "text", text: "Look at the colours" },
      { type: "image", source: { type: "base64", media_type: "image/png", data: png } },
      { type: "image", source: { type: "base64", media_type: "image/svg+xml", data: svg } },
    ],
    at: "2026-01-05T10:20:00.000Z",
    branch: `feature/${"a-branch-with-a-name-that-goes-on-".repeat(4)}end`,
    blocks: [
      call("t1", "Bash", { command: "npm test" }),
      call("t2", "Grep", { pattern: "retr(y|ies)", path: "/code/app/src/deep/down", output_mode: "content" }),
      { type: "text", text: said },
    ],
    results: {
      t1: {
        content: "\u001b[32mpassed\u001b[0m and \u001b[1;31mfailed\u001b[0m\u001b[K\u001b]0;title\u0007",
        is_error: true,
      },
      t2: "src/retry.ts:1:retry",
    },
    more: [
      { type: "user", message: { role: "user", content: [{ type: "text", text: "[Request interrupted by user]" }] } },
    ],
  });
  await untilListed(used.gateway.api, 1);
});

async function open(options: Parameters<typeof browser.visit>[1] = {}): Promise<Visit> {
  const visit = await browser.visit(await signInUrl(used.gateway), options);
  await openSession(visit.page, sessionId);
  await visit.page.getByRole("log").waitFor();
  await visit.settled();
  return visit;
}

describe("a session that never ran in Postern", () => {
  test.for(["desktop", "phone"] as const)("has its conversation and one way to go on, on a %s", async (device) => {
    const visit = await open({ device });
    const { page } = visit;
    await page.getByText("Look at the colours").last().waitFor();
    await expect.poll(() => page.getByRole("tab").allTextContents()).toEqual(["Conversation", "Changes"]);
    await expect.poll(() => page.getByRole("button", { name: /Resume/ }).count()).toBe(1);
    expect(await page.getByRole("button", { name: /Play recording/ }).count()).toBe(0);
    expect(await page.locator(".xterm").count()).toBe(0);
    await page.keyboard.press("e");
    await page.keyboard.press("r");
    await page.getByRole("log").waitFor();
    await lookAt(visit, `never-ran-${device}`);
  });
});

test("the output of a program has its colours, and nothing else of its escapes", async () => {
  const visit = await open();
  const { page } = visit;
  await page.getByRole("button", { name: /Bash npm test/ }).click();
  const output = page
    .getByRole("group", { name: "Failed" })
    .or(page.locator("pre", { hasText: "passed" }))
    .last();
  await output.waitFor();
  await expect.poll(() => output.textContent()).toBe("passed and failed");
  const colourOf = (text: string) =>
    output.getByText(text, { exact: true }).evaluate((one) => getComputedStyle(one).color);
  expect(
    new Set([
      await colourOf("passed"),
      await colourOf("failed"),
      await output.evaluate((one) => getComputedStyle(one).color),
    ]).size,
  ).toBe(3);
  await lookAt(visit, "coloured-output-desktop");
});

test("a link to an image is a link, a search shows its pattern, and no label covers code", async () => {
  const visit = await open();
  const { page } = visit;
  const link = page.getByRole("link", { name: "the plan" });
  await link.waitFor();
  expect(await page.getByText("!the plan").count()).toBe(0);
  await expect.poll(() => page.locator("p", { has: link }).textContent()).toBe("Here is the plan and a link.");
  await page.getByRole("button", { name: /Grep retr\(y\|ies\) in …\/src\/deep\/down/ }).waitFor();
  const label = page.getByText("typescript", { exact: true });
  const box = await label.boundingBox();
  const block = await page.locator("pre", { hasText: "anAnswerThatIs" }).boundingBox();
  expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual((block?.y ?? 0) + 1);
  await lookAt(visit, "code-and-links-desktop");
});

test("a prompt shows its pictures, and nothing that is none", async () => {
  const visit = await open();
  const { page } = visit;
  const picture = page.getByRole("img", { name: "Image in the prompt" });
  await picture.waitFor();
  await expect.poll(() => picture.count()).toBe(1);
  await expect.poll(() => picture.evaluate((one: HTMLImageElement) => one.naturalWidth), patience).toBe(1);
  await expectFlawless(visit, "a picture in a prompt");
});

test("a turn says that it was interrupted, and one of another day when it was", async () => {
  const { page } = await open();
  const answer = page.getByRole("article", { name: "Claude Code" });
  await answer.getByText("Interrupted").waitFor();
  await expect.poll(() => answer.getByRole("time").first().textContent()).toMatch(/Jan/);
});

test.for([
  ["phone", 390, 844],
  ["tablet", 820, 1180],
  ["desktop", 1440, 900],
] as const)("on a %s a long branch leaves the last button in sight", async ([name, width, height]) => {
  const visit = await open(width === 390 ? { device: "phone" } : {});
  const { page } = visit;
  await page.setViewportSize({ width, height });
  // On a phone, the branch and memory are in the menu.
  const last = page.getByRole("button", { name: name === "phone" ? "More" : "Memory" });
  await last.waitFor();
  const box = await last.boundingBox();
  expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(width);
  await visit.shoot(`long-branch-${name}-light`);
  await expectFlawless(visit, `a long branch on a ${name}`);
});

test.for([
  ["phone", 390, 844],
  ["tablet", 820, 1180],
] as const)("on a %s no placeholder is cut off, and nothing lies beyond the edge", async ([name, width, height]) => {
  const visit = await open(width === 390 ? { device: "phone" } : {});
  const { page } = visit;
  await page.setViewportSize({ width, height });
  for (const path of ["", "/", "/new", "/memory", "/tokens", "/folders", "/settings"]) {
    if (path !== "") await page.goto(new URL(path, used.gateway.app.baseUrl).href);
    await visit.settled();
    expect(await page.evaluate(cutPlaceholders), path).toEqual([]);
    // A session's facts and its code scroll sideways, each in its place.
    if (path !== "") expect(await page.evaluate(beyondTheEdge), path).toEqual([]);
  }
  await page.goto(new URL("/tokens", used.gateway.app.baseUrl).href);
  await page.getByRole("button", { name: "Create token" }).first().click();
  const dialog = page.getByRole("dialog");
  const create = dialog.getByRole("button", { name: "Create" });
  await create.scrollIntoViewIfNeeded();
  const below = async (): Promise<number> => {
    const outer = await dialog.boundingBox();
    const inner = await create.boundingBox();
    return (outer?.y ?? 0) + (outer?.height ?? 0) - (inner?.y ?? 0) - (inner?.height ?? 0);
  };
  await dialog.evaluate((one) => one.querySelector(".overflow-y-auto")?.scrollTo(0, 10_000));
  await expect.poll(below).toBeGreaterThanOrEqual(12);
  await lookAt(visit, `token-dialog-${name}`);
});

/** Placeholders wider than their field, in the page. To be evaluated in it. */
const cutPlaceholders = `[...document.querySelectorAll("input[placeholder], textarea[placeholder]")]
  .filter((field) => field.offsetParent !== null && field.placeholder !== "")
  .filter((field) => {
    const style = getComputedStyle(field);
    const pen = document.createElement("canvas").getContext("2d");
    pen.font = style.fontStyle + " " + style.fontWeight + " " + style.fontSize + " " + style.fontFamily;
    const room = field.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    return pen.measureText(field.placeholder).width > room + 1;
  })
  .map((field) => field.placeholder)`;
