/**
 * The review of a large change in Chromium: the time until 5,000 changed files are listed, until a changed file of 50,000 lines is shown,
 * its frames while it scrolls through that file, and the memory of the page and the gateway afterwards.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { launchChromium } from "../test/support/chromium.ts";
import { createWorld, startGateway } from "../test/support/gateway.ts";
import buildWeb from "../test/support/web-setup.ts";
import { median, sizeOf } from "./measure.ts";

const files = sizeOf({ full: 5_000, small: 300 });
const lines = sizeOf({ full: 50_000, small: 3_000 });
const limits = { firstPaintMs: 500, frameMs: 1_000 / 60, heapMb: 200, gatewayMb: 60 };

await buildWeb();
const world = await createWorld({ agents: "scripted" });
const dir = world.repository;
await mkdir(join(dir, "many"));
for (let at = 0; at < files - 1; at += 1) {
  const name = `file-${String(at).padStart(4, "0")}.ts`;
  await writeFile(join(dir, "many", name), `export const value = ${at};\n`.repeat(20));
}
const large = Array.from({ length: lines }, (_, at) => `export const line${at} = "some text of line ${at}";\n`);
await writeFile(join(dir, "large.ts"), large.join(""));
const gateway = await startGateway(world);
const { sessionId } = await gateway.api.ask({ agent: "scripted", dir, prompt: "begin", waitMs: 60_000 });
const { accountId } = await gateway.app.accounts.owner();
const browser = await launchChromium();
const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
await page.goto((await gateway.app.accounts.signIn.createUrl(accountId, gateway.app.baseUrl)).url);
await page.waitForURL(new URL("/", gateway.app.baseUrl).href);
await page.goto(new URL(`/sessions/${sessionId}`, gateway.app.baseUrl).href);
await page.getByRole("tab", { name: "Changes" }).waitFor();
const memoryBefore = process.memoryUsage().rss;

let answeredAt = 0;
page.on("response", (response) => {
  if (new URL(response.url()).pathname.endsWith("/diff")) answeredAt = performance.now();
});
const startedAt = performance.now();
await page.getByRole("tab", { name: "Changes" }).click();
await page.getByText(`${files} files changed since`).waitFor();
await page.getByRole("checkbox", { name: "Viewed large.ts" }).waitFor();
const listedMs = performance.now() - startedAt;
const listPaintMs = performance.now() - answeredAt;

const openedAt = performance.now();
await page.getByRole("button", { name: /^large\.ts/ }).click();
await page.getByRole("button", { name: "Comment on line 1", exact: true }).waitFor();
const openMs = performance.now() - openedAt;
const openPaintMs = performance.now() - answeredAt;

/** Scrolls one screen every tenth of a second at a steady speed, for 20 seconds or to the end. @returns times between frames */
const frames = z.array(z.number()).parse(
  await page.evaluate(`new Promise((resolve) => {
    const list = document.querySelector('[aria-label="Changes"][role="region"]');
    const times = [];
    const startedAt = performance.now();
    let before = startedAt;
    const frame = (at) => {
      times.push(at - before);
      list.scrollTop += (at - before) * list.clientHeight / 100;
      before = at;
      const ended = list.scrollTop + list.clientHeight >= list.scrollHeight - 5 && times.length > 60;
      if (ended || at - startedAt > 20000) resolve(times.slice(2));
      else requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  })`),
);
const shown = await page.locator("[data-line]").count();
const cdp = await page.context().newCDPSession(page);
await cdp.send("HeapProfiler.collectGarbage");
const { usedSize } = await cdp.send("Runtime.getHeapUsage");
const gatewayMb = (process.memoryUsage().rss - memoryBefore) / 1e6;
await browser.close();
await gateway.api.post("/api/coding/coding_close_session", { sessionId });
await gateway.close();
await world.close();

const late = frames.filter((ms) => ms > 1.5 * limits.frameMs).length;
const heapMb = usedSize / 1e6;
const fits =
  Math.max(listPaintMs, openPaintMs) < limits.firstPaintMs &&
  median(frames) < 1.1 * limits.frameMs &&
  heapMb < limits.heapMb;
process.stdout.write(
  `review-page: ${fits ? "" : "MISSED: "}${files} files listed after ${listedMs.toFixed(0)} ms, ${listPaintMs.toFixed(0)} ms after the gateway's answer (under ${limits.firstPaintMs}); ${lines} lines of one file shown after ${openMs.toFixed(0)} ms, ${openPaintMs.toFixed(0)} ms after the answer; scrolling: ${(1_000 / median(frames)).toFixed(0)} frames per second in the median of ${frames.length}, ${((100 * late) / frames.length).toFixed(1)}% late, worst ${Math.max(...frames).toFixed(0)} ms; ${shown} lines rendered; heap ${heapMb.toFixed(0)} MB (under ${limits.heapMb}); gateway and benchmark grew by ${gatewayMb.toFixed(0)} MB\n`,
);
