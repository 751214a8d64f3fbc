import { execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, copyFile, mkdir, realpath, rm, writeFile } from "node:fs/promises";
import { delimiter, dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { isRunning } from "../../src/platform/processes.ts";
import { endTerminalHost } from "../support/gateway.ts";
import { posternEnvironment, runPostern } from "../support/postern-process.ts";
import { makeTestFolder } from "../support/test-folder.ts";

const repository = resolve(import.meta.dirname, "../..");
const bin = join(repository, "bin/postern.js");
const older = olderNode();
const olderTest = test.skipIf(older === null);
const why = older === null ? " (skipped: PATH has no Node older than 24)" : "";
/** A Node 24 of this machine in a folder that Postern looks into, whatever the test's environment is. */
const installed = ["/usr/local/bin/node", "/usr/bin/node"].find((file) => versionOf(file) >= 24) ?? null;

/** An empty home, and a copy of the command without the dependencies next to it. */
let root = "";
let copy = "";

beforeAll(async () => {
  root = await realpath(makeTestFolder("older-node"));
  copy = join(root, "package/bin/postern.js");
  await mkdir(dirname(copy), { recursive: true });
  for (const name of ["postern.js", "newer-node.cjs"]) {
    await copyFile(join(repository, "bin", name), join(dirname(copy), name));
  }
  await writeFile(join(root, "package/package.json"), '{ "type": "module" }');
});

afterAll(() => rm(root, { recursive: true, force: true }));

function olderNode(): string | null {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/bin", "/usr/local/bin"];
  return folders.map((folder) => join(folder, "node")).find((node) => [20, 22].includes(versionOf(node))) ?? null;
}

function versionOf(node: string): number {
  try {
    const version = execFileSync(node, ["--version"], {
      encoding: "utf8",
      timeout: 10_000,
      stdio: ["ignore", "pipe", "ignore"],
    });
    return Number(/^v(\d+)/.exec(version)?.[1]);
  } catch {
    return 0; // no Node in this folder
  }
}

/** A program that says it is Node, and prints its arguments. */
async function plantNode(path: string, version: string, script = 'shift; echo "$0 ran: $*"'): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, `#!/bin/sh\n[ "$1" = --version ] && { echo ${version}; exit; }\n${script}\n`);
  await chmod(path, 0o755);
}

function runCopy(env: Readonly<Record<string, string>>, argv: readonly string[] = ["folder", "list", "a b"]) {
  return runPostern(argv, {
    env: { PATH: "/nowhere", HOME: join(root, "home"), ...env },
    node: older ?? "",
    bin: copy,
  });
}

olderTest(`a checkout uses the Node that npm installed${why}`, async () => {
  const run = await runPostern(["--version"], { env: { PATH: "/nowhere", HOME: root }, node: older ?? "", bin });
  expect(run).toEqual({ code: 0, stdout: "0.1.0\n", stderr: "" });
});

const places: readonly (readonly [name: string, path: string, variable: string | null])[] = [
  ["nvm", "home/.nvm/versions/node/v24.1.0/bin/node", null],
  ["nvm elsewhere", "nvm/versions/node/v26.0.0/bin/node", "NVM_DIR"],
  ["fnm", "home/.local/share/fnm/node-versions/v24.1.0/installation/bin/node", null],
  ["volta", "home/.volta/tools/image/node/24.1.0/bin/node", null],
  ["mise", "home/.local/share/mise/installs/node/24.1.0/bin/node", null],
  ["asdf", "home/.asdf/installs/nodejs/24.1.0/bin/node", null],
  ["a folder of one's own", "home/.local/bin/node", null],
];

olderTest.each(places)(`a Node of %s is found${why}`, async (_name, path, variable) => {
  const node = join(root, path);
  await plantNode(node, "v24.1.0");
  onTestFinished(() => rm(node));
  const folder = join(root, path.split("/")[0] ?? "");
  const run = await runCopy(variable === null ? {} : { [variable]: folder });
  expect(run).toEqual({ code: 0, stdout: `${node} ran: folder list a b\n`, stderr: "" });
});

olderTest(`PATH wins over version managers, and what is old or broken is passed over${why}`, async () => {
  const folders = ["old", "broken", "stuck", "good"].map((name) => join(root, name));
  const [old = "", broken = "", stuck = "", good = ""] = folders.map((folder) => join(folder, "node"));
  await plantNode(old, "v22.1.0");
  await plantNode(broken, "; exit 1");
  await plantNode(stuck, "v24.0.0; exec sleep 60");
  await plantNode(good, "v24.0.0");
  const managed = join(root, "home/.nvm/versions/node/v25.0.0/bin/node");
  await plantNode(managed, "v25.0.0");
  onTestFinished(() => rm(managed));
  const run = await runCopy({ PATH: [...folders, "/usr/bin", "/bin"].join(delimiter) });
  expect(run).toMatchObject({ code: 0, stdout: `${good} ran: folder list a b\n` });
});

olderTest(`its exit code and its signal are those of the command${why}`, async () => {
  const node = join(root, "ending/node");
  const PATH = [dirname(node), "/usr/bin", "/bin"].join(delimiter);
  await plantNode(node, "v24.0.0", "echo error >&2; exit 7");
  expect(await runCopy({ PATH })).toMatchObject({ code: 7, stderr: "error\n" });
  await plantNode(node, "v24.0.0", "kill -KILL $$");
  const child = spawn(older ?? "", [copy], { env: { PATH, HOME: root }, stdio: "ignore" });
  expect(await once(child, "exit")).toEqual([null, "SIGKILL"]);
});

olderTest(`a gateway stops at the signal that its command gets${why}`, async () => {
  const home = join(root, "state");
  const env = posternEnvironment(home);
  const child = spawn(older ?? "", [bin, "serve", "--port", "0"], { env, stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await endTerminalHost(home);
  });
  await once(child.stdout, "data");
  const { stdout } = await runPostern(["status", "--json"], { env, node: older ?? "" });
  const { pid } = JSON.parse(stdout).gateway;
  expect([pid !== child.pid, isRunning(pid)]).toEqual([true, true]);
  child.kill("SIGTERM");
  expect(await once(child, "exit")).toEqual([0, null]);
  expect(isRunning(pid)).toBe(false);
});

const noneTest = test.skipIf(older === null || installed !== null);
const whyNone = installed === null ? why : ` (skipped: ${installed} is new enough)`;

noneTest(`without a newer Node, one line says what to do${whyNone}`, async () => {
  const run = await runCopy({ PATH: dirname(older ?? "") });
  expect(run).toMatchObject({ code: 1, stdout: "" });
  expect(run.stderr).toMatch(/^postern: needs Node\.js 24 or newer, this is v\d+.*nodejs\.org.*nvm install 24.*\n$/);
});

const npm = older === null ? null : join(dirname(older), "../lib/node_modules/npm/bin/npm-cli.js");
const hasNpm = npm !== null && existsSync(npm);

test.skipIf(!hasNpm)(`npm ci prints no warning${hasNpm ? "" : " (skipped: the older Node has no npm)"}`, async () => {
  const folder = join(root, "checkout");
  await mkdir(folder);
  const files = ["package.json", "package-lock.json", ".npmrc"];
  for (const name of files) await copyFile(join(repository, name), join(folder, name));
  const ci = async (...more: readonly string[]) => {
    const argv = [npm ?? "", "ci", "--dry-run", "--offline", "--ignore-scripts", ...more];
    const env = { PATH: "/usr/bin:/bin", HOME: root, npm_config_update_notifier: "false" };
    return promisify(execFile)(older ?? "", argv, { cwd: folder, env, timeout: 60_000, maxBuffer: 16_000_000 });
  };
  const { stdout, stderr } = await ci();
  expect(stdout).toContain("added ");
  expect(stderr).toBe("");
  expect((await ci("--loglevel=warn")).stderr, "without the setting").toContain("EBADENGINE");
});
