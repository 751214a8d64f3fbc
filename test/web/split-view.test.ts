import { expect, test } from "vitest";
import { expectFlawless, signInUrl, useBrowser } from "../support/browser.ts";
import { expectOnTerminal, openSession, patience } from "../support/session-page.ts";
import { useGateway } from "../support/use-gateway.ts";

/** It starts at once and reads what is typed. */
const reader = {
  name: "reader",
  binary: "/bin/sh",
  startArgs: ["-c", 'echo ready; while read -r line; do echo "got $line"; done'],
  readyPattern: "ready",
};

const used = useGateway({ agents: false, config: { agents: [reader] } });
const browser = useBrowser();

test("the line between terminal and conversation is moved from both of its sides and by keys, and stays there", async () => {
  const { gateway, world } = used;
  const spawned = await gateway.api.post<{ readonly sessionId: string }>("/api/coding/spawn", {
    agent: "reader",
    dir: world.repository,
  });
  const visit = await browser.visit(await signInUrl(gateway));
  const { page } = visit;
  await openSession(page, spawned.body.sessionId);
  await expectOnTerminal(page, "ready");
  const line = page.getByRole("separator", { name: "Width of the terminal" });
  const centre = async (): Promise<{ readonly x: number; readonly y: number }> => {
    const box = await line.boundingBox();
    return { x: (box?.x ?? 0) + (box?.width ?? 0) / 2, y: (box?.y ?? 0) + (box?.height ?? 0) / 2 };
  };
  for (const besidePx of [-3, 3]) {
    const from = await centre();
    await page.mouse.move(from.x + besidePx, from.y);
    await page.mouse.down();
    await page.mouse.move(from.x + besidePx - 100, from.y, { steps: 3 });
    await page.mouse.up();
    const moved = async (): Promise<number> => from.x - (await centre()).x;
    await expect.poll(moved, { ...patience, message: `taken ${besidePx} px beside it` }).toBeGreaterThan(90);
  }
  const share = async (): Promise<number> => Number(await line.getAttribute("aria-valuenow"));
  const before = await share();
  await line.press("ArrowRight");
  await expect.poll(share, patience).toBe(before + 2);
  await page.reload();
  await expectOnTerminal(page, "ready");
  await expect.poll(() => share()).toBe(before + 2);
  await visit.shoot("split-moved-desktop-light");
  await expectFlawless(visit, "a moved line");
  await gateway.api.post("/api/coding/coding_close_all", {});
});
