import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { makeTempFolder } from "../../../test/support/temp-folder.ts";
import { undecidedMcpServers } from "./claude-mcp.ts";

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

test("what the person decided stands: in the user's settings, the local ones, or the state file", async () => {
  const { dir, repository, configDir } = await makeProject();
  const projects = { [repository]: { enabledMcpjsonServers: ["one"] } };
  expect(await undecidedMcpServers(dir, configDir, { projects })).toEqual(["two"]);
  await put(join(repository, ".claude", "settings.local.json"), { enabledMcpjsonServers: ["two"] });
  expect(await undecidedMcpServers(dir, configDir, { projects })).toEqual([]);
  expect(await undecidedMcpServers(dir, configDir, {})).toEqual(["one"]);
  await put(join(configDir, "settings.json"), { enableAllProjectMcpServers: true });
  expect(await undecidedMcpServers(dir, configDir, {})).toEqual([]);
});

test("a repository enables its own servers only where the person has trusted it in Claude Code", async () => {
  const { dir, repository, configDir } = await makeProject();
  await put(join(repository, ".claude", "settings.json"), { enableAllProjectMcpServers: true });
  expect(await undecidedMcpServers(dir, configDir, {})).toEqual(["one", "two"]);
  const projects = { [repository]: { hasTrustDialogAccepted: true } };
  expect(await undecidedMcpServers(dir, configDir, { projects })).toEqual([]);
});

test("files that are missing or in another form decide nothing", async () => {
  const { dir, repository, configDir } = await makeProject();
  await put(join(repository, ".claude", "settings.local.json"), ["x"]);
  await mkdir(configDir, { recursive: true });
  await writeFile(join(configDir, "settings.json"), "{ broken");
  expect(await undecidedMcpServers(dir, configDir, { projects: 3 })).toEqual(["one", "two"]);
  await writeFile(join(repository, ".mcp.json"), "{ broken");
  expect(await undecidedMcpServers(dir, configDir, {})).toEqual([]);
});
