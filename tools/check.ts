import { execFile } from "node:child_process";
import { availableParallelism } from "node:os";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");
/** A step that hangs is a failed step. The slowest takes a few seconds. */
const stepTimeoutMs = 300_000;
/** A step that prints more than this is stopped. */
const maxOutputBytes = 4 * 1024 * 1024;

interface Step {
  readonly name: string;
  readonly argv: readonly [string, ...string[]];
}

/** The slowest first, so that the others run in parallel with them. */
const steps: readonly Step[] = [
  { name: "lint", argv: [bin("oxlint")] },
  // With what only the build asks for (tsconfig.build.json), so that it is not the first to find it.
  { name: "types", argv: [bin("tsc"), "--project", ".", "--rewriteRelativeImportExtensions"] },
  { name: "web types", argv: [bin("tsc"), "--project", "web"] },
  { name: "dead code", argv: [bin("knip"), "--no-progress"] },
  { name: "layers", argv: [process.execPath, join(root, "tools/check-layers.ts"), root] },
  { name: "wording", argv: [process.execPath, join(root, "tools/check-wording.ts")] },
  { name: "formatting", argv: [bin("biome"), "check", "--colors=off"] },
];

function bin(name: string): string {
  return join(root, "node_modules", ".bin", name);
}

interface Outcome {
  readonly step: Step;
  readonly passed: boolean;
  readonly output: string;
  readonly seconds: number;
}

async function run(step: Step): Promise<Outcome> {
  const startedAt = performance.now();
  const [file, ...args] = step.argv;
  // The tools' launchers look for `node` on PATH: the one that runs this file, whatever the machine has.
  const env = {
    ...process.env,
    PATH: `${join(root, "node_modules", ".bin")}:${process.env["PATH"] ?? ""}`,
    NO_COLOR: "1",
  };
  const options = { cwd: root, env, timeout: stepTimeoutMs, maxBuffer: maxOutputBytes } as const;
  return new Promise((done) => {
    execFile(file, args, options, (error, stdout, stderr) => {
      const seconds = (performance.now() - startedAt) / 1000;
      const reason = error === null || stdout + stderr !== "" ? "" : error.message;
      done({ step, passed: error === null, output: `${stdout}${stderr}${reason}`.trim(), seconds });
    });
  });
}

function report({ step, passed, output, seconds }: Outcome): void {
  const summary = passed ? (output.split("\n").at(-1) ?? "") : "";
  console.log(
    `${passed ? "ok    " : "FAILED"} ${step.name.padEnd(10)} ${seconds.toFixed(1).padStart(5)} s  ${summary}`.trimEnd(),
  );
  if (!passed || /\b[1-9]\d* warning/.test(output)) console.log(`${output}\n`);
}

async function runAll(chosen: readonly Step[]): Promise<boolean> {
  const waiting = [...chosen];
  let passed = true;
  async function work(): Promise<void> {
    for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) {
      const outcome = await run(step);
      report(outcome);
      passed &&= outcome.passed;
    }
  }
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), chosen.length) }, work));
  return passed;
}

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !steps.some((step) => step.name === name));
if (unknown.length > 0) {
  console.error(`No step named ${unknown.join(", ")}. Steps: ${steps.map((step) => step.name).join(", ")}.`);
  process.exitCode = 2;
} else {
  const chosen = asked.length === 0 ? steps : steps.filter((step) => asked.includes(step.name));
  process.exitCode = (await runAll(chosen)) ? 0 : 1;
}
