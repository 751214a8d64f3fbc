// `npm run bench [-- --small] [-- name ...]`: the benchmarks in bench/ one after another, each in its own process, and at the end a line for
// each. `--small` runs them at small sizes, two at a time, to see that they work. A benchmark that measured nothing fails.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { join, resolve } from "node:path";

const folder = resolve(import.meta.dirname, "../bench");
/** Files that benchmarks share. */
const shared = ["measure.ts", "corpus.ts"];

/** The names of all benchmarks. */
export const benchmarks: readonly string[] = readdirSync(folder)
  .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts") && !shared.includes(file))
  .map((file) => file.slice(0, -3));

/** A benchmark's result. */
interface Outcome {
  readonly name: string;
  readonly seconds: number;
  /** Null if it measured something. */
  readonly failure: string | null;
}

/** Why the output is not a measurement, or null. */
function failureOf(output: string): string | null {
  if (!/\d/.test(output)) return "printed no figure";
  return /\b(?:NaN|Infinity|undefined)\b/.test(output) ? "printed a figure that was not measured" : null;
}

/** Runs one benchmark, whose file is `path`, and passes what it prints to `print` as it comes. */
export async function runBenchmark(
  path: string,
  options: readonly string[],
  print: (text: string) => void = (text) => process.stdout.write(text),
): Promise<Omit<Outcome, "name">> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, [path, ...options], { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    print(text);
    output += text;
  });
  await once(child, "close");
  const { exitCode, signalCode } = child;
  const ended = signalCode === null ? `exited with ${exitCode}` : `was ended by ${signalCode}`;
  const failure = exitCode === 0 ? failureOf(output) : ended;
  return { seconds: (performance.now() - startedAt) / 1_000, failure };
}

async function main(given: readonly string[]): Promise<void> {
  const options = given.filter((argument) => argument.startsWith("--"));
  const wanted = given.filter((argument) => !argument.startsWith("--"));
  const unknown = [
    ...wanted.filter((name) => !benchmarks.includes(name)),
    ...options.filter((option) => option !== "--small"),
  ];
  if (unknown.length > 0) {
    console.error(
      `Unknown: ${unknown.join(", ")}. Usage: npm run bench -- [--small] [name ...], with the names ${benchmarks.join(", ")}.`,
    );
    process.exitCode = 2;
    return;
  }
  const outcomes: Outcome[] = [];
  const waiting = [...(wanted.length > 0 ? wanted : benchmarks)];
  const isSmall = options.includes("--small");
  const runWaiting = async (): Promise<void> => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      const path = join(folder, `${name}.ts`);
      if (isSmall) {
        let output = `\n${name}\n`;
        const outcome = await runBenchmark(path, options, (text) => (output += text));
        process.stdout.write(output);
        outcomes.push({ name, ...outcome });
      } else {
        console.log(`\n${name}`);
        outcomes.push({ name, ...(await runBenchmark(path, options)) });
      }
    }
  };
  // Small sizes measure nothing that another benchmark could disturb.
  await Promise.all(Array.from({ length: isSmall ? 2 : 1 }, runWaiting));
  console.log("");
  for (const { name, seconds, failure } of outcomes) {
    console.log(
      `${name.padEnd(24)} ${seconds.toFixed(1).padStart(7)} s  ${failure === null ? "ok" : `failed: ${failure}`}`,
    );
  }
  process.exitCode = outcomes.every(({ failure }) => failure === null) ? 0 : 1;
}

if (import.meta.main) await main(process.argv.slice(2));
