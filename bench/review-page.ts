/**
 * The review of a large change in Chromium: the time until 5,000 changed files are listed, until a changed file of 50,000 lines is shown,
 * its frames while it scrolls through that file, and the memory of the page and the gateway afterwards.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Locator } from "playwright-core";
import { z } from "zod";
import { launchChromium } from "../test/support/chromium.ts";
import { createWorld, startGateway } from "../test/support/gateway.ts";
import buildWeb from "../test/support/web-setup.ts";
import { median, sizeOf } from "./measure.ts";

const files = sizeOf({ full: 5_000, small: 300 });
const lines = sizeOf({ full: 50_000, small: 1_000 });
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
await page.getByRole("tab", { name: "Changes" }).waitFor({ timeout: 120_000 });
setFlagsFromString("--expose-gc");
const collectGarbage = z.function({ input: [] }).implement(runInNewContext("gc"));
collectGarbage();
const memoryBefore = process.memoryUsage().rss;

const cdp = await page.context().newCDPSession(page);
await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
/** The processor time that the page's main thread has used: unlike the other times, it does not depend on what else the machine does. */
async function mainThreadMs(): Promise<number> {
  const { metrics } = await cdp.send("Performance.getMetrics");
  return 1_000 * (metrics.find(({ name }) => name === "TaskDuration")?.value ?? Number.NaN);
}

/**
 * Clicks, and measures within the page, because Playwright's own search of a large page takes longer than the page does.
 * @returns times until the frame with the content: since the click, and since the last answer of the gateway
 */
async function shown(button: Locator, content: string): Promise<{ readonly ms: number; readonly paintMs: number }> {
  await page.evaluate(`window.shown = new Promise((resolve) => {
    performance.clearResourceTimings();
    let clickedAt = performance.now();
    addEventListener("mousedown", () => { clickedAt = performance.now(); }, { capture: true, once: true });
    const look = () => {
      if (document.querySelector(${JSON.stringify(content)}) === null) return requestAnimationFrame(look);
      requestAnimationFrame(() => {
        const answers = performance.getEntriesByType("resource").filter(({ name }) => new URL(name).pathname.endsWith("/diff"));
        const answeredAt = Math.max(clickedAt, ...answers.map(({ responseEnd }) => responseEnd));
        resolve({ ms: performance.now() - clickedAt, paintMs: performance.now() - answeredAt });
      });
    };
    look();
  }); undefined`);
  await button.click({ timeout: 120_000 });
  return z.object({ ms: z.number(), paintMs: z.number() }).parse(await page.evaluate("window.shown"));
}

const atStart = await mainThreadMs();
const listed = await shown(page.getByRole("tab", { name: "Changes" }), '[aria-label="Viewed large.ts"]');
const atListed = await mainThreadMs();
const opened = await shown(
  page.locator('li:has([aria-label="Viewed large.ts"]) > div > button').first(),
  "[data-line]",
);

const atOpened = await mainThreadMs();
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
const scrollMs = (await mainThreadMs()) - atOpened;
const rendered = await page.locator("[data-line]").count();
await cdp.send("HeapProfiler.collectGarbage");
const { usedSize } = await cdp.send("Runtime.getHeapUsage");
collectGarbage();
const gatewayMb = (process.memoryUsage().rss - memoryBefore) / 1e6;
await browser.close();
await gateway.api.post("/api/coding/coding_close_session", { sessionId });
await gateway.close();
await world.close();

const late = frames.filter((ms) => ms > 1.5 * limits.frameMs).length;
const heapMb = usedSize / 1e6;
const fits =
  Math.max(listed.paintMs, opened.paintMs) < limits.firstPaintMs &&
  median(frames) < 1.1 * limits.frameMs &&
  heapMb < limits.heapMb &&
  gatewayMb < limits.gatewayMb;
process.stdout.write(
  `review-page: ${fits ? "" : "MISSED: "}${files} files listed after ${listed.ms.toFixed(0)} ms, ${listed.paintMs.toFixed(0)} ms after the gateway's answer (under ${limits.firstPaintMs}); ${lines} lines of one file shown after ${opened.ms.toFixed(0)} ms, ${opened.paintMs.toFixed(0)} ms after the answer (under ${limits.firstPaintMs}); the main thread used ${(atListed - atStart).toFixed(0)} and ${(atOpened - atListed).toFixed(0)} ms of the processor for these; scrolling: ${(1_000 / median(frames)).toFixed(0)} frames per second in the median of ${frames.length}, ${((100 * late) / frames.length).toFixed(1)}% late, worst ${Math.max(...frames).toFixed(0)} ms; the main thread used ${((100 * scrollMs) / frames.reduce((sum, ms) => sum + ms, 0)).toFixed(0)}% of the processor, ${(scrollMs / frames.length).toFixed(1)} ms per frame; ${rendered} lines rendered; heap ${heapMb.toFixed(0)} MB (under ${limits.heapMb}); gateway and benchmark, in one process, grew by ${gatewayMb.toFixed(0)} MB (under ${limits.gatewayMb})\n`,
);
