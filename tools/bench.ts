// `npm run bench [-- --quick] [-- name ...]`: the benchmarks of bench/ one after another, each in a process of its own. `--quick` runs them
// at small sizes, to see that they work. A benchmark that measured nothing fails.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { join, resolve } from "node:path";

const folder = resolve(import.meta.dirname, "../bench");
const shared = ["measure.ts", "corpus.ts"];
const options = process.argv.slice(2).filter((argument) => argument.startsWith("--"));
const wanted = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const names = readdirSync(folder)
  .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts") && !shared.includes(file))
  .map((file) => file.slice(0, -3));
const unknown = [
  ...wanted.filter((name) => !names.includes(name)),
  ...options.filter((option) => option !== "--quick"),
];
if (unknown.length > 0) {
  console.error(
    `Unknown: ${unknown.join(", ")}. Usage: npm run bench -- [--quick] [name ...], with the names ${names.join(", ")}.`,
  );
  process.exit(2);
}

/** Why this benchmark failed, or null. */
async function run(name: string): Promise<string | null> {
  console.log(`\n${name}`);
  const child = spawn(process.execPath, [join(folder, `${name}.ts`), ...options], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    process.stdout.write(text);
    output += text;
  });
  await once(child, "close");
  const { exitCode, signalCode } = child;
  if (exitCode !== 0) return signalCode === null ? `exited with ${exitCode}` : `was ended by ${signalCode}`;
  if (!/\d/.test(output)) return "printed no figure";
  return /\b(?:NaN|Infinity|undefined)\b/.test(output) ? "printed a figure that was not measured" : null;
}

const failures: string[] = [];
const chosen = wanted.length > 0 ? wanted : names;
for (const name of chosen) {
  const failure = await run(name);
  if (failure !== null) failures.push(`${name} ${failure}`);
}
console.log(`\n${chosen.length - failures.length} of ${chosen.length} benchmarks measured.`);
for (const failure of failures) console.error(`Failed: ${failure}.`);
process.exitCode = failures.length === 0 ? 0 : 1;
