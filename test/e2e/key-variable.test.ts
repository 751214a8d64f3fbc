import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import type { Log } from "../../src/core/log.ts";
import { createWorld, startGateway, type TestGateway, type World } from "../support/gateway.ts";
import { runPostern } from "../support/postern-process.ts";

// Real agents in a home without a login: they only have a variable in the gateway's environment.

vi.setConfig({ testTimeout: 120_000 });

const claudeKey = "sk-ant-scripted-Aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1111";
const openAiKey = "sk-scripted-Bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb2222";

async function homeWith(keys: Readonly<Record<string, string>>): Promise<World> {
  const world = await createWorld({ agents: true });
  onTestFinished(() => world.close());
  const {
    CLAUDE_CONFIG_DIR: _claude,
    CODEX_HOME: _codex,
    ANTHROPIC_API_KEY: _first,
    OPENAI_API_KEY: _second,
    ...env
  } = world.env;
  return { ...world, env: { ...env, ...keys } };
}

/** Both agents answer, each with its key and without a question on the way. */
async function expectAnswers({ api }: TestGateway, world: World): Promise<void> {
  const ask = async (agent: string): Promise<void> => {
    const { turns } = await api.ask({ agent, dir: world.repository, prompt: `say ${agent} lives`, waitMs: 60_000 });
    expect(JSON.stringify(turns), agent).toContain(`${agent} lives`);
  };
  await Promise.all([ask("claude-code"), ask("codex")]);
  const shown = world.modelServer.requests
    .filter(({ kind }) => kind === "turn")
    .map(({ headers }) => headers["authorization"] ?? headers["x-api-key"]);
  expect(new Set(shown)).toEqual(new Set([expect.stringContaining(claudeKey), expect.stringContaining(openAiKey)]));
}

/** All of a folder that can be read. */
async function textsIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return Promise.all(files.map((file) => readFile(join(file.parentPath, file.name), "latin1")));
}

/** The arguments of every process. */
async function argumentsOfAll(): Promise<readonly string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  return Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")));
}

async function expectKeysNowhere(world: World, logged: readonly string[]): Promise<void> {
  const places = { files: await textsIn(world.home), argv: await argumentsOfAll(), log: logged };
  expect(places.files.length).toBeGreaterThan(3);
  expect(places.argv.some((argv) => argv.includes("env_key="))).toBe(true);
  for (const [place, texts] of Object.entries(places)) {
    for (const key of [claudeKey, openAiKey])
      expect(
        texts.some((text) => text.includes(key)),
        place,
      ).toBe(false);
  }
}

function logInto(lines: string[]): Log {
  const write = (fields: Readonly<Record<string, unknown>>, message: string): void =>
    void lines.push(JSON.stringify({ message, ...fields }));
  return { debug: write, info: write, warn: write, error: write };
}

test("set up on the command line, with the vendors' keys and no login, both agents start without a dialog", async () => {
  const world = await homeWith({ ANTHROPIC_API_KEY: claudeKey, OPENAI_API_KEY: openAiKey });
  const setup = await runPostern(["coding", "setup", "--yes", "--default", "codex"], { env: { ...world.env } });
  expect(setup.stdout).toMatch(/^claude-code +configured +key_variable/m);
  expect(setup.stdout).toMatch(/^codex +default +key_variable/m);
  expect(`${setup.stdout}${setup.stderr}`).not.toMatch(/sk-/);
  const lines: string[] = [];
  const gateway = await startGateway(world, logInto(lines));
  onTestFinished(() => gateway.close());
  await expectAnswers(gateway, world);
  await expectKeysNowhere(world, lines);
  // The agents' own files: Claude Code remembers the end of a key that it may use, of Codex nothing is written.
  const own = await readFile(join(world.root, ".claude.json"), "utf8");
  expect(JSON.parse(own)).toMatchObject({ customApiKeyResponses: { approved: [claudeKey.slice(-20)] } });
  expect(own).not.toContain(claudeKey);
  await expect(stat(join(world.root, ".codex", "auth.json"))).rejects.toThrow("ENOENT");
});

test("never set up by command, with the other variables that the vendors have, it is the same", async () => {
  const world = await homeWith({ ANTHROPIC_AUTH_TOKEN: claudeKey, CODEX_API_KEY: openAiKey });
  const lines: string[] = [];
  const gateway = await startGateway(world, logInto(lines));
  onTestFinished(() => gateway.close());
  await expectAnswers(gateway, world);
  await expectKeysNowhere(world, lines);
});
