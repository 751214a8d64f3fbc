import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, lstat, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { isRunning } from "../../src/platform/processes.ts";
import { createApiClient, createWorld, type World } from "../support/gateway.ts";
import { prepareStore } from "../support/prepared-store.ts";
import { startServing } from "../support/serving-gateway.ts";

const bin = resolve(import.meta.dirname, "../../bin/postern.js");
let world: World;
let token = "";

beforeAll(async () => {
  world = await createWorld({ agents: "scripted" });
  token = await prepareStore(world);
});

afterAll(() => world?.close());

/** With the compiled code's folder of a person, not of the tests. */
async function postern(argv: readonly string[], { input = "", PATH = "/usr/bin:/bin" } = {}) {
  const { NODE_COMPILE_CACHE: _shared, ...env } = world.env;
  const child = spawn(process.execPath, [bin, ...argv], { env: { ...env, PATH }, stdio: "pipe" });
  child.stdin.end(input);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  return { code: child.exitCode, stdout, stderr };
}

test("uninstall removes what Postern made, and never a worktree or another's file", async () => {
  const gateway = await startServing(world);
  onTestFinished(async () => void (await gateway.end("SIGKILL")));
  const api = createApiClient(gateway.url, token);
  const session = await api.ask({ agent: "scripted", dir: world.repository, prompt: "Say hello", worktree: {} });
  const listed = JSON.parse((await postern(["coding", "list", "--json"])).stdout);
  const [{ worktree, pid }] = listed.sessions;
  expect(session.sessionId).toBe(listed.sessions[0].sessionId);
  await writeFile(join(worktree.path, "unsaved"), "work");

  const cache = join(world.root, ".cache/postern");
  const codexHome = world.env["CODEX_HOME"] ?? "";
  const link = join(codexHome, "postern-01234567-89ab-4cde-8f01-23456789abcd.config.toml");
  await symlink("/nowhere", link);
  await writeFile(join(codexHome, "config.toml"), "");
  const binDir = join(world.root, "prefix/bin");
  await mkdir(binDir, { recursive: true });
  await symlink(bin, join(binDir, "postern"));
  expect(existsSync(cache)).toBe(true);

  const PATH = `${binDir}:/usr/bin:/bin`;
  const dry = await postern(["uninstall", "--dry-run"], { PATH });
  expect(dry.code).toBe(0);
  expect(dry.stdout).toContain("settings) and its running agent. To delete it: postern uninstall --purge\n");
  for (const what of [`pid ${gateway.pid}`, link, cache, join(binDir, "postern"), worktree.path, world.home]) {
    expect(dry.stdout).toContain(what);
  }
  expect(isRunning(gateway.pid)).toBe(true);

  const kept = await postern(["uninstall", "--yes"], { PATH });
  expect(kept).toMatchObject({ code: 0, stdout: expect.stringContaining(`Kept the state folder (${world.home}`) });
  expect([isRunning(gateway.pid), isRunning(pid)]).toEqual([false, true]);
  expect(await readdir(codexHome)).toEqual(["config.toml"]);
  expect(await readdir(binDir)).toEqual([]);
  expect(existsSync(cache), "not written again when the command ends").toBe(false);
  expect(existsSync(join(world.home, "postern.db"))).toBe(true);

  // What only some features create.
  for (const name of ["attachments", "looks", "scripts", "turns"])
    await mkdir(join(world.home, name), { recursive: true });
  await writeFile(join(world.home, "mine"), "");
  const purged = await postern(["uninstall", "--yes", "--purge"], { input: "delete\n" });
  expect(purged).toMatchObject({ code: 0, stdout: expect.stringContaining("has other files: mine.") });
  expect(isRunning(pid)).toBe(false);
  expect(await readdir(world.home)).toEqual(["mine"]);
  expect(await readFile(join(worktree.path, "unsaved"), "utf8")).toBe("work");
});

test("an installed package is removed with npm", async () => {
  const prefix = join(world.root, "npm-prefix");
  const binDir = join(prefix, "bin");
  await mkdir(join(prefix, "lib/node_modules/postern"), { recursive: true });
  await mkdir(binDir);
  await symlink(bin, join(binDir, "postern"));
  await writeFile(join(binDir, "npm"), `#!/bin/sh\necho "$@" >"${prefix}/asked"\n`);
  await chmod(join(binDir, "npm"), 0o755);
  const run = await postern(["uninstall", "--yes"], { PATH: `${binDir}:/usr/bin:/bin` });
  expect(run).toMatchObject({ code: 0, stdout: expect.stringContaining("Removed the command") });
  expect(await readFile(join(prefix, "asked"), "utf8")).toBe(`rm --global --prefix ${prefix} postern\n`);
  expect((await lstat(join(binDir, "postern"))).isSymbolicLink(), "npm removes it").toBe(true);
});
