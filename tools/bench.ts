// `npm run bench`: every benchmark of bench/, one after another, each in a process of its own. `npm run bench -- <name>` runs one.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join, resolve } from "node:path";

const folder = resolve(import.meta.dirname, "../bench");
const wanted = process.argv.slice(2);
const names = readdirSync(folder)
  .filter((file) => file.endsWith(".ts") && !["measure.ts", "corpus.ts"].includes(file) && !file.endsWith(".test.ts"))
  .map((file) => file.slice(0, -3));
const unknown = wanted.filter((name) => !names.includes(name));
if (unknown.length > 0) {
  console.error(`There is no benchmark ${unknown.join(", ")}. There are: ${names.join(", ")}.`);
  process.exit(2);
}
let failed = 0;
for (const name of wanted.length > 0 ? wanted : names) {
  console.log(`\n${name}`);
  const { status } = spawnSync(process.execPath, [join(folder, `${name}.ts`)], { stdio: "inherit" });
  if (status !== 0) failed += 1;
}
process.exit(failed === 0 ? 0 : 1);
