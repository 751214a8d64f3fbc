/**
 * Completion of files in a repository with 100,000 files: the time of each keystroke of several words, through the thread that finds them,
 * and the longest time that it kept this thread from running.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { systemClock } from "../src/core/clock.ts";
import { createFileFinder } from "../src/sessions/file-finder.ts";
import { makeTestFolder } from "../test/support/test-folder.ts";
import { quantile, sizeOf } from "./measure.ts";

const count = sizeOf({ full: 100_000, small: 5_000, position: 0 });
const limitMs = 50;
const names = ["session", "prompt", "reader", "store", "index", "button", "route", "worker", "table", "event"];

const root = makeTestFolder("completion");
const home = join(root, "home");
mkdirSync(home);
const dir = join(root, "repository");
for (let number = 0; number < count; number += 1) {
  const folder = join(dir, names[number % 10] ?? "", `${names[(number >> 3) % 10]}s`, `part-${number % 97}`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${names[(number >> 5) % 10]}-${number}.ts`), "");
}
execFileSync("git", ["init", "-q"], { cwd: dir });
execFileSync("git", ["add", "."], { cwd: dir });

const finder = createFileFinder({
  clock: systemClock,
  pathVariable: process.env["PATH"] ?? "",
  home,
  marker: { name: "POSTERN_GIT", value: root },
});
const startedAt = performance.now();
while ((await finder.find({ dir, query: "", limit: 20 })).paths.length === 0);
const firstMs = performance.now() - startedAt;
const words = ["promptreader", "session/stores", "btn-99", "eventworker7", "zzz", "part-5/route-1"];
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
const keystrokes: number[] = [];
for (let round = 0; round < 5; round += 1) {
  for (const word of words) {
    for (let length = 1; length <= word.length; length += 1) {
      const at = performance.now();
      await finder.find({ dir, query: word.slice(0, length), limit: 20 });
      keystrokes.push(performance.now() - at);
    }
  }
}
delay.disable();
await finder.close();
const p99 = quantile(keystrokes, 0.99);
console.log(
  `${count} files: listed in ${firstMs.toFixed(0)} ms; ${keystrokes.length} keystrokes, median ${quantile(keystrokes, 0.5).toFixed(1)} ms, ` +
    `p99 ${p99.toFixed(1)} ms (limit ${limitMs}); event loop delayed at most ${(delay.max / 1e6).toFixed(1)} ms.`,
);
if (p99 > limitMs && count >= 100_000) process.exitCode = 1;
