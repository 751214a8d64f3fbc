// `node tools/pictures.ts [folder]`: records the screenshots and animations in docs/pictures: a gateway, both real agents against a
// scripted model, and the system's Chromium. Nothing leaves the machine. Claude Code uses characters that few fonts contain: install
// Debian's fonts-symbola.
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { launchChromium } from "../test/support/chromium.ts";
import webSetup from "../test/support/web-setup.ts";
import { openScene } from "./picture-scene.ts";
import { terminalPicture } from "./picture-terminal.ts";
import { webPictures } from "./picture-web.ts";

const folder = resolve(process.argv[2] ?? join(import.meta.dirname, "../docs/pictures"));
/** Larger images make a README slow to load. */
const maxBytes = 1_000_000;

function keep(name: string, content: Buffer | string): void {
  const sizeBytes = Buffer.byteLength(content);
  if (sizeBytes > maxBytes) throw new Error(`${name} has ${sizeBytes} bytes, over ${maxBytes}.`);
  writeFileSync(join(folder, name), content);
  console.log(`${name}: ${Math.round(sizeBytes / 1000)} kB`);
}

mkdirSync(folder, { recursive: true });
await webSetup();
const scene = await openScene();
try {
  keep("terminal.svg", await terminalPicture(scene));
  const browser = await launchChromium();
  try {
    const { session, phone } = await webPictures(scene, browser);
    keep("session.png", session);
    keep("phone.png", phone);
  } finally {
    await browser.close();
  }
} finally {
  await scene.close();
}
