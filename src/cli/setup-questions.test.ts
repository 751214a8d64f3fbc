import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { posternEnvironment, runPostern } from "../../test/support/postern-process.ts";
import { makeScriptedMachine } from "../../test/support/scripted-agents.ts";
import { type ShellTerminal, startInShell } from "../../test/support/shell-terminal.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { openCommandStores } from "../app/command-stores.ts";
import { loadConfig } from "../app/config.ts";
import type { ListAgentsOutput } from "../wire/coding.ts";

// Each test starts Node processes, on a machine that may be busy with other tests.
vi.setConfig({ testTimeout: 90_000 });

const enter = "\r";
const down = "\x1b[B";
const ctrlC = "\x03";

async function makeMachine(installed: readonly ("claude" | "codex")[] = ["claude", "codex"]) {
  const root = await makeTempFolder();
  const machine = await makeScriptedMachine(root, installed);
  const env = posternEnvironment(join(root, "home"), { PATH: `${machine.bin}:/usr/bin:/bin`, HOME: root });
  return {
    ...machine,
    fails: join(root, "npm-fails"),
    env,
    async start(...flags: readonly string[]): Promise<ShellTerminal> {
      const terminal = await startInShell(["coding", "setup", ...flags], { env, cols: 120, rows: 40 });
      onTestFinished(() => terminal.close());
      return terminal;
    },
    async agents(): Promise<ListAgentsOutput> {
      const stores = await openCommandStores(loadConfig(env));
      const list = await stores.agents.list();
      await stores.close();
      return list;
    },
  };
}

/** Waits for a question on the screen, then answers it. */
async function answer(terminal: ShellTerminal, question: string | RegExp, keys: string): Promise<void> {
  await expect.poll(() => terminal.screen(), { timeout: 20_000 }).toMatch(question);
  terminal.write(keys);
}

test("both agents are found, one is logged in, the other is logged in here, and the default is chosen", async () => {
  const machine = await makeMachine();
  await machine.logIn("claude");
  const terminal = await machine.start();
  await answer(terminal, /Agents \(space to select/, enter);
  await answer(terminal, /Claude Code is logged in\.[^]*Log in to Codex CLI now/, enter);
  await answer(terminal, /Code from the browser:$/m, "1234\r");
  await answer(terminal, /Codex CLI is logged in\.[^]*Default agent for/, `${down}${enter}`);
  const { code, before, after } = await terminal.ended();
  expect([code, after]).toEqual([0, before]);
  expect(terminal.screen()).toMatch(/codex +default +logged_in/);
  expect(await machine.agents()).toMatchObject({
    default: "codex",
    agents: [{ name: "claude-code" }, { name: "codex" }],
  });
});

test("confirming the existing setup changes nothing", async () => {
  const machine = await makeMachine();
  await machine.logIn("claude");
  await machine.logIn("codex");
  const elsewhere = join(machine.root, "elsewhere", "codex");
  await rm(join(machine.root, "bin", "codex"));
  expect(
    (
      await runPostern(["coding", "setup", "--agent", "codex", "--binary", elsewhere, "--default", "codex"], {
        env: machine.env,
      })
    ).code,
  ).toBe(0);
  await runPostern(["coding", "setup", "--agent", "claude-code"], { env: machine.env });
  const before = await machine.agents();
  expect(before).toMatchObject({ default: "codex", agents: [{}, { binary: elsewhere }] });
  const terminal = await machine.start();
  await answer(terminal, /Agents \(space/, enter);
  await answer(terminal, /Default agent for/, enter);
  expect((await terminal.ended()).code).toBe(0);
  expect(await machine.agents()).toEqual(before);
});

test("a missing agent is installed from npm with the command shown; a no asks again", async () => {
  const machine = await makeMachine([]);
  await writeFile(machine.fails, "");
  const terminal = await machine.start("--no-login");
  await answer(terminal, /Agents \(space/, `${down} ${enter}`);
  await answer(terminal, /Codex CLI is not on PATH\.[^]*Install it: npm install --global @openai\/codex/, enter);
  await expect.poll(() => terminal.output(), { timeout: 30_000 }).toContain("npm error E404");
  await rm(machine.fails);
  await answer(terminal, /failed[^]*Codex CLI is not on PATH\.[^]*Skip/, enter);
  expect((await terminal.ended()).code).toBe(0);
  expect(await machine.fileText("npm-calls")).toBe("npm install --global @openai/codex\n".repeat(2));
  expect(await machine.agents()).toMatchObject({ default: "codex", agents: [{ name: "codex", version: "0.160.0" }] });
});

test("an agent that is too old is updated with the command shown", async () => {
  const machine = await makeMachine(["codex"]);
  await writeFile(join(machine.bin, "codex"), "#!/bin/sh\necho codex-cli 0.155.0\n");
  const terminal = await machine.start("--no-login");
  await answer(terminal, /Agents \(space/, enter);
  const question =
    /0\.155\.0 is too old: Postern needs 0\.156\.0 or newer\.[^]*Update it: npm install --global @openai\/codex/;
  await answer(terminal, question, enter);
  expect((await terminal.ended()).code).toBe(0);
  expect(await machine.agents()).toMatchObject({ agents: [{ name: "codex", version: "0.160.0" }] });
});

test("with flags, an agent that is too old is left out, refused or updated; one newer than the tests is reported", async () => {
  const machine = await makeMachine();
  const setup = (...flags: readonly string[]) => runPostern(["coding", "setup", ...flags], { env: machine.env });
  await writeFile(join(machine.bin, "codex"), "#!/bin/sh\necho codex-cli 0.155.0\n");
  await writeFile(join(machine.bin, "claude"), "#!/bin/sh\necho 2.1.199\n");
  const tooOld =
    "Codex CLI 0.155.0 is too old: Postern needs 0.156.0 or newer. Run `npm install -g @openai/codex@latest`.\n";
  const none = await setup("--yes");
  expect(none).toMatchObject({ code: 1, stdout: "" });
  expect(none.stderr).toMatch(/^postern: agent_version_unsupported: Claude Code 2\.1\.199 is too old: /);
  expect(await setup("--agent", "codex")).toMatchObject({
    code: 1,
    stderr: `postern: agent_version_unsupported: ${tooOld}`,
  });
  expect(await machine.agents()).toMatchObject({ agents: [] });

  await writeFile(join(machine.bin, "claude"), "#!/bin/sh\necho 99.0.0\n");
  const some = await setup("--yes");
  expect(some.stderr).toContain(`Not configured: ${tooOld}`);
  expect(some.stderr).toMatch(
    /^Claude Code 99\.0\.0 is newer than [\d.]+, the newest version that Postern was tested with\.$/m,
  );
  expect(await machine.agents()).toMatchObject({ agents: [{ name: "claude-code" }] });

  expect(await setup("--agent", "codex", "--install")).toMatchObject({ code: 0 });
  expect(await machine.fileText("npm-calls")).toBe("npm install --global @openai/codex\n");
  expect(await machine.agents()).toMatchObject({ agents: [{}, { name: "codex", version: "0.160.0" }] });
});

test("a program elsewhere is used by its path, and a wrong path asks again", async () => {
  const machine = await makeMachine([]);
  const terminal = await machine.start("--no-login");
  await answer(terminal, /Agents \(space/, `${down} ${enter}`);
  await answer(terminal, /Skip/, `${down}${enter}`);
  await answer(terminal, /Path of the Codex CLI/, `/no/such/program${enter}`);
  await answer(terminal, /does not report a version\.[^]*Skip/, `${down}${enter}`);
  await answer(terminal, /version\.[^]*Path of the Codex CLI/, `${join(machine.root, "elsewhere", "codex")}${enter}`);
  expect((await terminal.ended()).code).toBe(0);
  expect(await machine.agents()).toMatchObject({
    agents: [{ name: "codex", binary: join(machine.root, "elsewhere/codex") }],
  });
});

test("a skipped agent is not configured, and a failed or declined login does not stop setup", async () => {
  const machine = await makeMachine(["claude"]);
  const terminal = await machine.start();
  await answer(terminal, /Agents \(space/, `${down} ${enter}`);
  await answer(terminal, /Log in to Claude Code now/, enter);
  await answer(terminal, /Code from the browser:$/m, "wrong\r");
  await answer(terminal, /is not logged in yet[^]*Codex CLI is not on PATH/, `${down}${down}${enter}`);
  expect((await terminal.ended()).code).toBe(0);
  expect(await machine.agents()).toMatchObject({
    default: "claude-code",
    agents: [{ name: "claude-code", login: "logged_out" }],
  });
});

test("with an API key, no login is offered", async () => {
  const machine = await makeMachine(["claude"]);
  machine.env["ANTHROPIC_API_KEY"] = "sk-scripted";
  const terminal = await machine.start();
  await answer(terminal, /Agents \(space/, enter);
  expect((await terminal.ended()).code).toBe(0);
  expect(terminal.output()).toMatch(/uses the key in ANTHROPIC_API_KEY/);
  expect(terminal.output()).not.toContain("Log in to");
});

const questions = [
  /Agents \(space/,
  /Log in to Claude Code now/,
  /Codex CLI is not on PATH/,
  /Path of the Codex/,
  /Log in to Codex CLI now/,
  /Default agent for/,
];

test.each(questions.map((question, index) => [question, index] as const))(
  "Ctrl-C at %s leaves nothing incomplete",
  async (_question, index) => {
    const machine = await makeMachine(["claude"]);
    const keys = [
      `${down} ${enter}`,
      `n`,
      `${down}${enter}`,
      `${join(machine.root, "elsewhere", "codex")}${enter}`,
      "n",
    ];
    const terminal = await machine.start();
    for (const [asked, question] of questions.slice(0, index).entries())
      await answer(terminal, question, keys[asked] ?? "");
    await answer(terminal, questions[index] ?? "", ctrlC);
    const { code, before, after } = await terminal.ended();
    expect([code, after]).toEqual([1, before]);
    expect(terminal.output()).toContain("postern: cancelled: Nothing was configured.");
    expect(await machine.agents()).toMatchObject({ agents: [], default: null });
  },
);

test("Ctrl-C in an agent's login ends only the login", async () => {
  const machine = await makeMachine(["claude"]);
  const terminal = await machine.start();
  await answer(terminal, /Agents \(space/, enter);
  await answer(terminal, /Log in to Claude Code now/, enter);
  await answer(terminal, /Code from the browser:$/m, ctrlC);
  // The shell that runs the command also exits on Ctrl-C, so its exit code is not the command's.
  await answer(terminal, /is not logged in yet[^]*claude-code +default +logged_out/, "");
  expect(await machine.agents()).toMatchObject({ agents: [{ name: "claude-code" }] });
});

test("every step has a flag, and a second run changes nothing", async () => {
  const machine = await makeMachine(["claude"]);
  const setup = (...flags: readonly string[]) => runPostern(["coding", "setup", ...flags], { env: machine.env });
  await writeFile(machine.fails, "");
  const env = { ...machine.env, OPENAI_API_KEY: "sk-key" };
  const failed = await runPostern(["coding", "setup", "--agent", "codex", "--install"], { env });
  expect(failed).toMatchObject({ code: 1, stdout: "" });
  expect(failed.stderr).toContain("$ npm install --global @openai/codex\n");
  expect(failed.stderr).toContain("npm error E404 key:\n");
  expect(await machine.agents()).toMatchObject({ agents: [] });
  await rm(machine.fails);
  const first = await setup("--agent", "agent_b", "--install", "--default", "codex", "--json");
  expect(JSON.parse(first.stdout)).toMatchObject({ default: "codex", agents: [{ name: "codex" }] });
  expect(await setup("--agent", "agent_b", "--install", "--default", "codex", "--json")).toEqual({
    ...first,
    stderr: "",
  });
  const terminal = await machine.start("--agent", "claude-code", "--login");
  await answer(terminal, /Code from the browser:$/m, "1234\r");
  expect((await terminal.ended()).code).toBe(0);
  expect(await machine.agents()).toMatchObject({ default: "codex", agents: [{ login: "logged_in" }, {}] });
  // If the agent is already logged in, no login is started.
  const again = await machine.start("--yes", "--login");
  expect((await again.ended()).code).toBe(0);
});
