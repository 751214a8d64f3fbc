import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { lookAt, signInUrl, useBrowser } from "../support/browser.ts";
import { openSession, patience } from "../support/session-page.ts";
import { useGateway } from "../support/use-gateway.ts";

const permissionAnswerMs = 1_500;
const used = useGateway({ agents: "scripted", config: { permissionAnswerMs } });
const browser = useBrowser();
const waitMs = 40_000;

test("a permission that nobody answered in time still needs you, and is allowed on the page while its dialog stands", async () => {
  const { world, gateway } = used;
  const build = join(world.repository, "build");
  await mkdir(build);
  const asked = await gateway.api.ask({
    agent: "scripted",
    dir: world.repository,
    prompt: `run rm -rf ${build}`,
    waitMs,
  });
  expect(asked.activity).toBe("needs_permission");
  const overAt = Date.parse(asked.permissions[0]?.askedAt ?? "") + permissionAnswerMs;
  await expect.poll(() => Date.now(), patience).toBeGreaterThan(overAt + 1_000);

  const visit = await browser.visit(await signInUrl(gateway));
  const { page } = visit;
  const needsYou = page.getByRole("region", { name: "Needs you" });
  await needsYou.getByText("Needs permission").filter({ visible: true }).first().waitFor({ timeout: patience.timeout });
  await openSession(page, asked.sessionId);
  const card = page.getByRole("region", { name: /asks: / });
  await card
    .getByRole("button", { name: "Allow" })
    .and(page.locator(":enabled"))
    .waitFor({ timeout: patience.timeout });
  await lookAt(visit, "late-permission");
  expect(existsSync(build)).toBe(true);
  await card.getByRole("button", { name: "Allow" }).click();
  await expect.poll(() => existsSync(build), patience).toBe(false);
  await expect.poll(() => card.count(), patience).toBe(0);
});

test("a command is shown as what it runs, and failed when its exit code is not 0", async () => {
  const { world, gateway } = used;
  const { sessionId } = await gateway.api.ask({
    agent: "scripted",
    dir: world.repository,
    prompt: "run sh -c 'echo seen; exit 3'",
    permissionMode: "all",
    waitMs,
  });
  const visit = await browser.visit(await signInUrl(gateway));
  const { page } = visit;
  await openSession(page, sessionId);
  const log = page.getByRole("log");
  const row = log.getByRole("button", { name: /echo seen; exit 3/ });
  await row.waitFor({ timeout: patience.timeout });
  await row.getByText("Failed").or(row.getByLabel("Failed")).first().waitFor({ timeout: patience.timeout });
  await lookAt(visit, "command-failed");
});

test("a session in a worktree is listed under its project, and one whose turn failed is not ready", async () => {
  const { world, gateway } = used;
  const { repository: dir } = world;
  const { sessionId } = await gateway.api.ask({
    agent: "scripted",
    dir,
    prompt: "fail 400",
    worktree: true,
    baseBranch: "main",
    branch: "try-it",
    waitMs,
  });
  const visit = await browser.visit(await signInUrl(gateway));
  const { page } = visit;
  await page.getByRole("link", { name: "Sessions" }).first().click();
  const row = page
    .getByRole("main")
    .getByRole("listitem")
    .filter({ has: page.locator(`a[href$="${sessionId}"]`) })
    .first();
  await row.getByText("Last turn failed").filter({ visible: true }).first().waitFor({ timeout: patience.timeout });
  const text = (await row.textContent()) ?? "";
  expect(text).toContain(basename(dir));
  expect(text).toContain("try-it");
  expect(text).not.toContain("Ready");
  await lookAt(visit, "failed-turn-in-worktree");
});
