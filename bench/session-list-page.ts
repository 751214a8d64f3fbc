/**
 * The list of many sessions in Chromium: the time until it is usable, its frames while it scrolls through all of them, by their
 * timestamps, and the memory of the page afterwards.
 */
import { z } from "zod";
import { launchChromium } from "../test/support/chromium.ts";
import { createWorld, startGateway } from "../test/support/gateway.ts";
import { plantMany, untilListed } from "../test/support/planted-sessions.ts";
import buildWeb from "../test/support/web-setup.ts";
import { median, sizeOf } from "./measure.ts";

const sessions = sizeOf({ full: 10_000, small: 300 });
const limits = { interactiveMs: 1_000, frameMs: 1_000 / 60, heapMb: 150 };

await buildWeb();
const world = await createWorld({ agents: false });
await plantMany(world, sessions);
const gateway = await startGateway(world);
await untilListed(gateway.api, sessions);
const { accountId } = await gateway.app.accounts.owner();
const browser = await launchChromium();
const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
await page.goto((await gateway.app.accounts.signIn.createUrl(accountId, gateway.app.baseUrl)).url);
await page.locator("a[data-session-link]").first().waitFor();

const startedAt = performance.now();
await page.goto(gateway.app.baseUrl, { waitUntil: "commit" });
await page.locator("a[data-session-link]").first().waitFor();
await page.getByRole("searchbox").first().click();
const interactiveMs = performance.now() - startedAt;

/** Scrolls one screen every tenth of a second at a steady speed, from the top to the end or for 20 seconds. @returns times between frames */
const frames = z.array(z.number()).parse(
  await page.evaluate(`new Promise((resolve) => {
    const main = document.querySelector("main");
    const times = [];
    const startedAt = performance.now();
    let before = startedAt;
    const frame = (at) => {
      times.push(at - before);
      main.scrollTop += (at - before) * main.clientHeight / 100;
      before = at;
      const ended = main.scrollTop + main.clientHeight >= main.scrollHeight - 5 && times.length > 60;
      if (ended || at - startedAt > 20000) resolve(times.slice(2));
      else requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  })`),
);
const rows = await page.locator("a[data-session-link]").count();
const cdp = await page.context().newCDPSession(page);
await cdp.send("HeapProfiler.collectGarbage");
const { usedSize } = await cdp.send("Runtime.getHeapUsage");
await browser.close();
await gateway.close();
await world.close();

const late = frames.filter((ms) => ms > 1.5 * limits.frameMs).length;
const heapMb = usedSize / 1e6;
const fits = interactiveMs < limits.interactiveMs && median(frames) < 1.1 * limits.frameMs && heapMb < limits.heapMb;
process.stdout.write(
  `session-list-page: ${fits ? "" : "MISSED: "}${sessions} sessions interactive after ${interactiveMs.toFixed(0)} ms (under ${limits.interactiveMs}); scrolling: ${(1_000 / median(frames)).toFixed(0)} frames per second in the median of ${frames.length}, ${((100 * late) / frames.length).toFixed(1)}% late, worst ${Math.max(...frames).toFixed(0)} ms; ${rows} rows rendered; heap ${heapMb.toFixed(0)} MB (under ${limits.heapMb})\n`,
);
