import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { networkTests } from "../test/support/further-tests.ts";
import { installAgentVersions } from "./agent-versions.ts";
import { prepareDebianRoot } from "./debian-root.ts";
import { installAgents } from "./install-agents.ts";
import { runNpm } from "./npm.ts";
import { preparePackageInstall } from "./package-install.ts";
import { ensurePrograms } from "./programs.ts";
import {
  closingLine,
  countsFileVariable,
  mayRunAgain,
  noCounts,
  readCounts,
  sumOf,
  type TestCounts,
  withSecondRun,
} from "./test-counts.ts";

// `npm test [-- vitest arguments]`: all setup, the checks, then the tests, without internet access. `--full` adds the further tests,
// a small kill storm and each benchmark at a small size; `--further` runs these alone, `--long` the long tests.

const root = resolve(import.meta.dirname, "..");
const ownFlags = ["--full", "--further", "--long"];
const flags = process.argv.filter((argument) => ownFlags.includes(argument));
const [full, further, long] = ownFlags.map((flag) => flags.includes(flag));
const vitestArgs = process.argv.slice(2).filter((argument) => !ownFlags.includes(argument));
/** A longer run is ended and counts as failed. */
const deadlineMs = long ? 4 * 60 * 60_000 : 40 * 60_000;

function say(sentence: string): void {
  console.log(`· ${sentence}`);
}

const endSignals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

async function runToEnd(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const [file = "", ...args] = argv;
  const child = spawn(file, args, { cwd: root, stdio: "inherit", env });
  const late = setTimeout(() => {
    say(`Not finished after ${deadlineMs / 60_000} minutes: stopping it.`);
    child.kill("SIGTERM");
    setTimeout(() => child.kill("SIGKILL"), 10_000).unref();
  }, deadlineMs);
  // The child ends what it started and reports; a second signal is not needed.
  const pass = (signal: NodeJS.Signals): boolean => child.kill(signal);
  for (const signal of endSignals) process.on(signal, pass);
  await once(child, "exit");
  for (const signal of endSignals) process.off(signal, pass);
  clearTimeout(late);
  return child.exitCode ?? 1;
}

/** From util-linux, see {@link requirements}. */
const unshare = "unshare";

/** The argv that runs `argv` with only a loopback network; null if the system refuses. */
function isolated(argv: readonly string[]): readonly string[] | null {
  const asUser = process.getuid?.() === 0 ? [] : ["--map-current-user", "--keep-caps"];
  const namespace = ["--net", ...asUser, "--", process.execPath, join(root, "tools", "run-isolated.ts")];
  const probe = spawnSync(unshare, [...namespace, process.execPath, "--version"], { stdio: "ignore" });
  return probe.status === 0 ? [unshare, ...namespace, ...argv] : null;
}

/** Variables of a developer's own agents and gateway, which the tests do not get. */
const privateVariables = /^(ANTHROPIC|OPENAI|CLAUDE|CODEX|POSTERN)|^(https?|all)_proxy$/i;

function testEnvironment(countsFile: string): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !privateVariables.test(name));
  const bins = join(root, "node_modules", ".bin");
  return {
    ...Object.fromEntries(kept),
    PATH: `${bins}:${process.env["PATH"] ?? ""}:/usr/sbin:/sbin`,
    [countsFileVariable]: countsFile,
  };
}

/** Sends everything except loopback to a port without a listener. */
const deadProxy = {
  HTTP_PROXY: "http://127.0.0.1:9",
  HTTPS_PROXY: "http://127.0.0.1:9",
  ALL_PROXY: "http://127.0.0.1:9",
  NO_PROXY: "127.0.0.1,localhost,::1",
};

/** Which tests to run. */
interface Run {
  readonly args: readonly string[];
  /** See `vitest.config.ts`; all tests without it. */
  readonly set?: "main" | "further";
  /** With this machine's network. */
  readonly network?: true;
  /** With the configuration of the long tests, of these sizes. */
  readonly sizes?: NodeJS.ProcessEnv;
}

async function runVitest(countsFile: string, { args, set, sizes, network }: Run): Promise<number> {
  const argv = [
    process.execPath,
    join(root, "node_modules", "vitest", "vitest.mjs"),
    "run",
    ...(long || sizes !== undefined ? ["--config=vitest.long.config.ts"] : []),
    "--reporter=default",
    `--reporter=${join(root, "tools", "test-counts.ts")}`,
    ...args,
  ];
  const env = { ...testEnvironment(countsFile), ...sizes, ...(set === undefined ? {} : { POSTERN_TEST_SET: set }) };
  if (network) return await runToEnd(argv, env);
  const withoutNetwork = isolated(argv);
  if (withoutNetwork === null) {
    say("This system refuses network namespaces: running the tests with a proxy without a listener instead.");
    return await runToEnd(argv, { ...env, ...deadProxy });
  }
  say("Running the tests in a network namespace with only loopback.");
  return await runToEnd(withoutNetwork, { ...env, POSTERN_TEST_ISOLATED: "1" });
}

/** Runs tests and counts them. */
async function countTests(run: Run): Promise<TestCounts> {
  const scratch = await mkdtemp(join(tmpdir(), "postern-test-"));
  const file = join(scratch, "counts.json");
  const exitCode = await runVitest(file, run);
  const counts = readCounts(file) ?? { ...noCounts, failed: 1 };
  await rm(scratch, { recursive: true, force: true });
  // vitest can fail for a reason that no test shows, such as a failed teardown.
  const unexplained = exitCode !== 0 && counts.failed === 0 && counts.passed > 0;
  return unexplained ? { ...counts, failed: 1 } : counts;
}

/** More failed files than this cannot be a coincidence. */
const maxFilesRunAgain = 4;

/**
 * Agents and Chromium can be slow on a busy machine. Failed files that start them run once more, alone. A test that fails both times is a failure; one that
 * passes once is named in the closing lines. Any other failure counts.
 */
async function runTests(run: Run): Promise<TestCounts> {
  const first = await countTests(run);
  const filesAgain = first.failedFiles.filter(mayRunAgain);
  if (run.set === undefined || filesAgain.length === 0 || first.failedFiles.length > maxFilesRunAgain) return first;
  for (const name of first.failedNames) say(`Failed: ${name}`);
  say("Running the files that start agents or Chromium once more, alone.");
  return withSecondRun(first, await countTests({ ...run, args: filesAgain.map(({ path }) => path) }));
}

/** A program that counts as one test. */
async function runAsTest(name: string, argv: readonly string[]): Promise<TestCounts> {
  say(`Running ${name}.`);
  const passed = (await runToEnd([process.execPath, ...argv], process.env)) === 0;
  return passed ? { ...noCounts, passed: 1 } : { ...noCounts, failed: 1, failedNames: [name] };
}

/** The tests that `npm test` leaves out. */
async function runFurther(): Promise<TestCounts> {
  const counts = await runTests({ args: [], set: "further" });
  say("Running the tests that install from npm's registry.");
  const network = await countTests({ args: networkTests, network: true });
  say("Running a small kill storm.");
  const sizes = { POSTERN_STORM_KILLS: "8", POSTERN_STORM_CALLERS: "1" };
  const storm = await countTests({ args: ["test/long/kill-storm.long.test.ts"], sizes });
  const benchmarks = await runAsTest("each benchmark at a small size", [join(root, "tools", "bench.ts"), "--small"]);
  return sumOf(counts, network, storm, benchmarks);
}

async function runChosen(): Promise<TestCounts> {
  if (vitestArgs.length > 0 || long) {
    say("Running only some tests, without `npm run check`.");
    return runTests({ args: vitestArgs });
  }
  if (further) return runFurther();
  const main = await runTests({ args: [], set: "main" });
  return full ? sumOf(main, await runFurther()) : main;
}

/** The tests run without network: what they need is installed before. */
async function installNeededAgents(): Promise<void> {
  await installAgents(say);
  if (full || further || vitestArgs.some((argument) => argument.includes("agent-versions"))) {
    await installAgentVersions(say);
  }
}

/** Deno and Bun, for the client package. */
async function installRuntimes(): Promise<void> {
  const cwd = join(root, "test", "runtimes");
  if (!(full || further) || existsSync(join(cwd, "node_modules"))) return;
  say("Installing Deno and Bun into test/runtimes (about 200 MB on disk, once) …");
  await runNpm(["ci", "--ignore-scripts", "--no-fund", "--no-audit"], { cwd });
}

/** The checks are left out for a selection of tests. */
async function runChecks(): Promise<TestCounts> {
  if (vitestArgs.length > 0 || long || further) return noCounts;
  return runAsTest("the checks (`npm run check`)", [join(root, "tools", "check.ts")]);
}

async function main(): Promise<number> {
  if (Number(process.versions.node.split(".")[0]) < 24) {
    throw new Error(`Tests run on Node 24 or newer, not ${process.version}: use \`npm test\`, which uses its own.`);
  }
  ensurePrograms({ bootsMachines: full === true || further === true, say });
  const startedAt = performance.now();
  // One part waits for network and disk, the other uses the CPU.
  const debian = full || further ? [prepareDebianRoot(say)] : [];
  const setup = [installNeededAgents(), preparePackageInstall(say), installRuntimes(), ...debian];
  const [checks] = await Promise.all([runChecks(), ...setup]);
  const tests = await runChosen();
  const ranNone = tests.passed + tests.failed === 0;
  const total = sumOf(checks, ranNone ? { ...tests, failed: 1, failedNames: ["no test ran"] } : tests);
  const seconds = (performance.now() - startedAt) / 1000;
  const lines = [
    ...total.skippedNames.map((name) => `Skipped: ${name}`),
    ...total.retriedNames.map((name) => `Passed in one of two runs, with a third party's agent or browser: ${name}`),
    ...total.failedNames.map((name) => `Failed: ${name}`),
    closingLine({ ...total, seconds }),
  ];
  await mkdir(join(root, ".cache"), { recursive: true });
  await writeFile(join(root, ".cache", "test-result"), `${lines.join("\n")}\n`);
  for (const line of lines) console.log(line);
  return total.failed > 0 ? 1 : 0;
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  console.log(closingLine({ passed: 0, failed: 1, skipped: 0, seconds: performance.now() / 1000 }));
  process.exitCode = 1;
}
