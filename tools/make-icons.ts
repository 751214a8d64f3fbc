// `node tools/make-icons.ts [chromium]`: creates the web application's icons from `web/public/favicon.svg`. The icons are committed,
// so that a build needs no browser.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";

const folder = join(import.meta.dirname, "../web/public");
const svg = readFileSync(join(folder, "favicon.svg"), "utf8");
/** Systems crop a maskable icon: the background fills it, and the drawing stays in the safe center. */
const maskable = svg.replace(/rx="\d+"/, 'rx="0"').replace(/<g>/, '<g transform="translate(4.8 4.8) scale(0.7)">');

const icons = [
  { name: "icon-180.png", drawing: svg.replace(/rx="\d+"/, 'rx="0"'), sizePx: 180 },
  { name: "icon-192.png", drawing: svg, sizePx: 192 },
  { name: "icon-512.png", drawing: svg, sizePx: 512 },
  { name: "icon-maskable-512.png", drawing: maskable, sizePx: 512 },
] as const;

const browser = await chromium.launch({
  executablePath: process.argv[2] ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
for (const { name, drawing, sizePx } of icons) {
  const page = await browser.newPage({ viewport: { width: sizePx, height: sizePx } });
  await page.setContent(
    `<body style="margin:0">${drawing.replace("<svg", `<svg width="${sizePx}" height="${sizePx}"`)}</body>`,
  );
  writeFileSync(join(folder, name), await page.screenshot({ omitBackground: true }));
  await page.close();
}
await browser.close();
