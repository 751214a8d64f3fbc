/**
 * A long list of sessions in Chromium: the time from a page's response until it is painted, for the first and the last pages, and the time
 * to return from a session near the end. The ratio of last to first shows whether it grows.
 */
import { launchChromium } from "../test/support/chromium.ts";
import { createWorld, startGateway } from "../test/support/gateway.ts";
import { plantMany, untilListed } from "../test/support/planted-sessions.ts";
import buildWeb from "../test/support/web-setup.ts";
import { median, sizeOf } from "./measure.ts";

const count = sizeOf({ full: 2_000, small: 400 });
const limits = { ratio: 3, backMs: 300 };

await buildWeb();
const world = await createWorld({ agents: false });
await plantMany(world, count);
const gateway = await startGateway(world);
await untilListed(gateway.api, count);
const { accountId } = await gateway.app.accounts.owner();
const browser = await launchChromium();
const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
await page.addInitScript(`
  globalThis.paints = [];
  const send = fetch;
  globalThis.fetch = async (address, options) => {
    const answer = await send(address, options);
    if (!String(address).endsWith("coding_list_sessions") || !String(options?.body).includes('"limit":40')) return answer;
    void answer.clone().text().then(() => {
      const at = performance.now();
      setTimeout(() => requestAnimationFrame(() => setTimeout(() => paints.push(performance.now() - at))));
    });
    return answer;
  };
`);
await page.goto((await gateway.app.accounts.signIn.createUrl(accountId, gateway.app.baseUrl)).url);
await page.getByRole("link", { name: /Session number 1\b/ }).waitFor();
const last = page.getByRole("link", { name: new RegExp(`Session number ${count}\\b`) });
const perPage: number[] = [];
const paints = async (): Promise<readonly number[]> => {
  const times: readonly unknown[] = (await page.evaluate("paints.splice(0)")) ?? [];
  return times.filter((time) => typeof time === "number");
};
while ((await last.count()) === 0) {
  await page.evaluate('document.getElementById("main").scrollBy(0, 2000)');
  await page.waitForTimeout(120);
  perPage.push(...(await paints()));
}
await page.waitForTimeout(1_000); // what is still on its way
perPage.push(...(await paints()));
const near = page.getByRole("link", { name: new RegExp(`Session number ${count - 10}\\b`) });
await near.scrollIntoViewIfNeeded();
const top = async (): Promise<number> => (await near.boundingBox())?.y ?? Number.NaN;
const topBefore = await top();
await near.click();
await page.getByRole("log").waitFor();
await page.waitForTimeout(500); // the session has loaded
const startedAt = performance.now();
await page.evaluate("history.back()");
await near.waitFor();
const backMs = performance.now() - startedAt;
const moved = Math.abs((await top()) - topBefore);
await browser.close();
await gateway.close();
await world.close();

const some = Math.max(2, Math.floor(perPage.length / 5));
const first = median(perPage.slice(0, some));
const final = median(perPage.slice(-some));
const ratio = final / first;
const fits = ratio < limits.ratio && backMs < limits.backMs && moved < 3;
process.stdout.write(
  `session-list: ${fits ? "" : "MISSED: "}${count} sessions, ${first.toFixed(0)} ms for one of the first pages, ${final.toFixed(0)} ms for one of the last, ratio ${ratio.toFixed(2)} (under ${limits.ratio}), worst ${Math.max(...perPage).toFixed(0)} ms; back after ${backMs.toFixed(0)} ms (under ${limits.backMs}), ${moved.toFixed(0)} px from its place\n`,
);
