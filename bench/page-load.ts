/**
 * The first load of the web application in Chromium: the JavaScript transferred before a terminal is opened, and the time until the list of
 * sessions is usable. Each run has a new browser context, so that nothing is cached.
 */
import { launchChromium } from "../test/support/chromium.ts";
import { createWorld, startGateway } from "../test/support/gateway.ts";
import buildWeb from "../test/support/web-setup.ts";
import { median, sizeOf } from "./measure.ts";

const runs = sizeOf({ full: 7, small: 1 });
const limits = { bytes: 250_000, ms: 1_000 };

await buildWeb();
const world = await createWorld({ agents: false });
const gateway = await startGateway(world);
const { accountId } = await gateway.app.accounts.owner();
const browser = await launchChromium();
const bytes: number[] = [];
const interactive: number[] = [];
for (let run = 0; run <= runs; run += 1) {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto((await gateway.app.accounts.signIn.createUrl(accountId, gateway.app.baseUrl)).url);
  await page.getByRole("heading", { name: "Sessions" }).waitFor();
  const signedIn = await context.storageState();
  await context.close();

  const fresh = await browser.newContext({ storageState: signedIn });
  const first = await fresh.newPage();
  const cdp = await fresh.newCDPSession(first);
  await cdp.send("Network.enable");
  const scripts = new Set<string>();
  let scriptBytes = 0;
  cdp.on("Network.responseReceived", ({ requestId, type }) => type === "Script" && scripts.add(requestId));
  cdp.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
    if (scripts.has(requestId)) scriptBytes += encodedDataLength;
  });
  const startedAt = performance.now();
  await first.goto(gateway.app.baseUrl, { waitUntil: "commit" });
  const search = first.getByRole("searchbox").or(first.getByPlaceholder("Search sessions"));
  await search.first().click();
  const ms = performance.now() - startedAt;
  await first.waitForTimeout(1_500); // whatever is loaded ahead counts too
  await fresh.close();
  if (run === 0) continue; // warm-up
  bytes.push(scriptBytes);
  interactive.push(ms);
}
await browser.close();
await gateway.close();
await world.close();
const fits = Math.max(...bytes) < limits.bytes && median(interactive) < limits.ms;
process.stdout.write(
  `page-load: ${fits ? "" : "MISSED: "}${(Math.max(...bytes) / 1e3).toFixed(1)} KB of compressed JavaScript (under ${limits.bytes / 1e3}), interactive after ${median(interactive).toFixed(0)} ms (under ${limits.ms}; worst ${Math.max(...interactive).toFixed(0)} ms)\n`,
);
