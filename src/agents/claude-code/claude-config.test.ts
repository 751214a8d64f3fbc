import { writeFileSync } from "node:fs";
import { lstat, mkdir, readFile, rmdir, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { errorCode } from "../../../test/support/error-code.ts";
import { makeTempFolder } from "../../../test/support/temp-folder.ts";
import { changeClaudeConfig, readClaudeConfig, undecidedMcpServers } from "./claude-config.ts";

async function makeConfig(content: unknown): Promise<string> {
  const path = join(await makeTempFolder(), ".claude.json");
  await writeFile(path, JSON.stringify(content), { mode: 0o640 });
  return path;
}

test("a change keeps everything else in the file, and its mode", async () => {
  const path = await makeConfig({ oauthAccount: { id: "me" }, projects: { "/p": { history: [1] } }, unknown: null });
  await changeClaudeConfig(path, (config) => ({ ...config, hasCompletedOnboarding: true }));
  expect(JSON.parse(await readFile(path, "utf8"))).toEqual({
    oauthAccount: { id: "me" },
    projects: { "/p": { history: [1] } },
    unknown: null,
    hasCompletedOnboarding: true,
  });
  expect((await stat(path)).mode & 0o777).toBe(0o640);
});

test("a missing file is created with its folder, readable only by its owner", async () => {
  const path = join(await makeTempFolder(), "state", ".claude.json");
  await changeClaudeConfig(path, (config) => ({ ...config, hasCompletedOnboarding: true }));
  expect(await readClaudeConfig(path)).toEqual({ hasCompletedOnboarding: true });
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test("a change that changes nothing writes nothing", async () => {
  const path = await makeConfig({ hasCompletedOnboarding: true });
  const before = await stat(path);
  await changeClaudeConfig(path, (config) => ({ ...config, hasCompletedOnboarding: true }));
  expect(await stat(path)).toMatchObject({ ino: before.ino, mtimeMs: before.mtimeMs });
});

test("a file that cannot be read as an object is left as it is", async () => {
  const path = await makeConfig({});
  for (const text of ["{ not json", "[]", "null"]) {
    await writeFile(path, text);
    expect(await errorCode(changeClaudeConfig(path, () => ({ lost: true })))).toBe("agent_start_failed");
    expect(await readFile(path, "utf8")).toBe(text);
  }
});

test("a symbolic link stays a link, and its target is changed", async () => {
  const target = await makeConfig({ kept: 1 });
  const path = join(await makeTempFolder(), ".claude.json");
  await symlink(target, path);
  await changeClaudeConfig(path, (config) => ({ ...config, added: 2 }));
  expect((await lstat(path)).isSymbolicLink()).toBe(true);
  expect(JSON.parse(await readFile(target, "utf8"))).toEqual({ kept: 1, added: 2 });
});

test("50 concurrent changes are all applied", async () => {
  const path = await makeConfig({});
  await Promise.all(
    Array.from({ length: 50 }, (_, number) =>
      changeClaudeConfig(path, (config) => ({ ...config, [`key${number}`]: number })),
    ),
  );
  expect(Object.keys(await readClaudeConfig(path))).toHaveLength(50);
});

test("while Claude Code holds its lock nothing is written; its own changes are kept", async () => {
  const path = await makeConfig({});
  await mkdir(`${path}.lock`);
  const change = changeClaudeConfig(path, (config) => ({ ...config, ours: true }));
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(await readClaudeConfig(path)).toEqual({});
  await writeFile(path, JSON.stringify({ theirs: true }));
  await rmdir(`${path}.lock`);
  await change;
  expect(await readClaudeConfig(path)).toEqual({ theirs: true, ours: true });
  await expect(stat(`${path}.lock`)).rejects.toThrow("ENOENT");
});

test("a write without the lock, between the read and the write, is kept", async () => {
  const path = await makeConfig({});
  let looks = 0;
  await changeClaudeConfig(path, (config) => {
    looks += 1;
    if (looks === 2) writeFileSync(path, JSON.stringify({ theirs: true }));
    return { ...config, ours: true };
  });
  expect(await readClaudeConfig(path)).toEqual({ theirs: true, ours: true });
});

test("a change that changes nothing does not wait for the lock", async () => {
  const path = await makeConfig({ hasCompletedOnboarding: true });
  await mkdir(`${path}.lock`);
  const startedAt = Date.now();
  await changeClaudeConfig(path, (config) => ({ ...config, hasCompletedOnboarding: true }));
  expect(Date.now() - startedAt).toBeLessThan(1_500);
});

test("a stale lock is taken over", async () => {
  const path = await makeConfig({});
  await mkdir(`${path}.lock`);
  const old = new Date(Date.now() - 60_000);
  await utimes(`${path}.lock`, old, old);
  const startedAt = Date.now();
  await changeClaudeConfig(path, (config) => ({ ...config, ours: true }));
  expect(Date.now() - startedAt).toBeLessThan(1_500);
  expect(await readClaudeConfig(path)).toEqual({ ours: true });
});

async function put(path: string, content: unknown): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, JSON.stringify(content));
}

async function makeProject(): Promise<{ dir: string; configDir: string; repository: string }> {
  const root = await makeTempFolder();
  const repository = join(root, "repository");
  await put(join(repository, ".mcp.json"), { mcpServers: { one: {}, two: {} } });
  await mkdir(join(repository, "sub"));
  return { repository, dir: join(repository, "sub"), configDir: join(root, "config") };
}

test("the servers of the folder and of those above it are undecided at first", async () => {
  const { dir, configDir } = await makeProject();
  expect(await undecidedMcpServers(dir, configDir, {})).toEqual(["one", "two"]);
});

test("the user's decisions are kept: in the user settings, the local ones, or the state file", async () => {
  const { dir, repository, configDir } = await makeProject();
  const projects = { [repository]: { enabledMcpjsonServers: ["one"] } };
  expect(await undecidedMcpServers(dir, configDir, { projects })).toEqual(["two"]);
  await put(join(repository, ".claude", "settings.local.json"), { enabledMcpjsonServers: ["two"] });
  expect(await undecidedMcpServers(dir, configDir, { projects })).toEqual([]);
  expect(await undecidedMcpServers(dir, configDir, {})).toEqual(["one"]);
  await put(join(configDir, "settings.json"), { enableAllProjectMcpServers: true });
  expect(await undecidedMcpServers(dir, configDir, {})).toEqual([]);
});

test("a repository enables its own servers only if the user trusted it in Claude Code", async () => {
  const { dir, repository, configDir } = await makeProject();
  await put(join(repository, ".claude", "settings.json"), { enableAllProjectMcpServers: true });
  expect(await undecidedMcpServers(dir, configDir, {})).toEqual(["one", "two"]);
  const projects = { [repository]: { hasTrustDialogAccepted: true } };
  expect(await undecidedMcpServers(dir, configDir, { projects })).toEqual([]);
});

test("missing and malformed files decide nothing", async () => {
  const { dir, repository, configDir } = await makeProject();
  await put(join(repository, ".claude", "settings.local.json"), ["x"]);
  await mkdir(configDir, { recursive: true });
  await writeFile(join(configDir, "settings.json"), "{ broken");
  expect(await undecidedMcpServers(dir, configDir, { projects: 3 })).toEqual(["one", "two"]);
  await writeFile(join(repository, ".mcp.json"), "{ broken");
  expect(await undecidedMcpServers(dir, configDir, {})).toEqual([]);
});
