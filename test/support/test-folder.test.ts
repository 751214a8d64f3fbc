import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { makeTempFolder } from "./temp-folder.ts";

test("folders of tests are outside the temporary folder, with room for the path of a socket", async () => {
  const folder = await makeTempFolder();
  expect(relative(realpathSync(tmpdir()), folder)).toMatch(/^\.\./);
  expect(Buffer.byteLength(join(folder, "home", "run", "host.sock"))).toBeLessThan(107);
});

test("they are in the cache folder where /var/tmp is the temporary folder", async () => {
  const cache = await makeTempFolder();
  const { folder, child } = await startRun({ TMPDIR: "/var/tmp", XDG_CACHE_HOME: cache });
  expect(relative(cache, folder)).not.toMatch(/^\.\./);
  await end(child, "SIGTERM");
});

test("a run that ends removes its folder; that of a killed run is removed by the next; that of a live one stays", async () => {
  const ended = await startRun();
  const killed = await startRun();
  const live = await startRun();
  await end(ended.child, "SIGTERM");
  await end(killed.child, "SIGKILL");
  const found = [ended, killed, live].map(({ folder }) => existsSync(dirname(folder)));
  expect(found).toEqual([false, true, true]);
  const next = await startRun();
  expect([killed, live, next].map(({ folder }) => existsSync(dirname(folder)))).toEqual([false, true, true]);
});

/** A run with one folder, which holds a file; SIGTERM ends it as a run ends. */
async function startRun(changes: NodeJS.ProcessEnv = {}): Promise<{ folder: string; child: ChildProcess }> {
  const { POSTERN_TEST_RUN: _ours, ...env } = process.env;
  const module = JSON.stringify(join(import.meta.dirname, "test-folder.ts"));
  const program = `import { makeTestFolder } from ${module};
process.on("SIGTERM", () => process.exit());
console.log(makeTestFolder("run"));
setInterval(() => {}, 60_000);`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    env: { ...env, ...changes },
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => end(child, "SIGTERM"));
  const [line] = await once(child.stdout, "data");
  const folder = String(line).trim();
  writeFileSync(join(folder, "file"), "");
  return { folder, child };
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill(signal);
  await exited;
}
