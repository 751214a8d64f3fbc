import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { codex } from "../../src/agents/codex/codex.ts";
import { newUuid } from "../../src/core/ids.ts";
import { type AgentWorld, makeAgentWorld, type PlannedAgent } from "../support/planned-agent.ts";

// Each test asserts what the template of Codex relies on, with the real program: a fact that moved fails here.

const run = promisify(execFile);
const patience = { timeout: 30_000, interval: 50 };

function prompts(world: AgentWorld): readonly (string | null)[] {
  return world.model.requests.filter(({ kind }) => kind === "turn").map(({ prompt }) => prompt);
}

/** The id by lock, as soon as there is one. */
async function discovered(agent: PlannedAgent): Promise<string> {
  await expect.poll(() => codex.discoverSessionId(agent), patience).not.toBeNull();
  return (await codex.discoverSessionId(agent)) ?? "";
}

/** The file may follow the hook. */
async function untilTranscriptHolds(agent: PlannedAgent, text: string): Promise<void> {
  const [claim] = agent.claims();
  const path = await codex.findTranscript(claim?.agentSessionId ?? "", agent.env);
  expect(claim?.transcriptPath).toBe(path);
  await expect.poll(async () => (await readFile(path ?? "", "utf8")).includes(text), patience).toBe(true);
}

describe("start and resume", () => {
  test("a start works with the key alone, uses prompt, model and instructions, and shows no dialog", async () => {
    const world = await makeAgentWorld(codex);
    await writeFile(join(world.stateDir, "config.toml"), `developer_instructions = "THE-PERSONS-OWN"`);
    const prompt = `--help me\nwith "two" 'lines' 🦊 $HOME \`id\``;
    const agent = await world.launch({ prompt, model: "test-model", systemPrompt: `OURS "quoted" \\ 🦊\n--dashes` });
    await agent.until("turn_ended");
    expect(agent.kinds()).toEqual(["session_start", "prompt_submitted", "turn_ended"]);
    expect(prompts(world)).toEqual([prompt]);
    const request = world.model.requests.find(({ kind }) => kind === "turn");
    expect(request?.model).toBe("test-model");
    expect(request?.headers["authorization"]).toBe(`Bearer ${world.env["OPENAI_API_KEY"]}`);
    const instructions = JSON.stringify(`THE-PERSONS-OWN\n\nOURS "quoted" \\ 🦊\n--dashes`).slice(1, -1);
    expect(request?.body.includes(instructions)).toBe(true);
    expect(agent.plan.argv.join("\n")).not.toContain(world.env["OPENAI_API_KEY"]);
    await untilTranscriptHolds(agent, "--help me");
    await expect(stat(join(world.stateDir, "auth.json"))).rejects.toThrow("ENOENT");
    expect(await readFile(join(world.stateDir, "config.toml"), "utf8")).not.toContain("trust_level");
  });

  test("a resume from elsewhere continues the same file without a dialog; an unknown id exits with 1", async () => {
    const world = await makeAgentWorld(codex);
    const first = await world.launch({ prompt: "first" });
    await first.until("turn_ended");
    const sessionId = first.claims()[0]?.agentSessionId ?? "";
    await first.kill();
    const path = await codex.findTranscript(sessionId, world.env);
    const dir = join(world.root, "elsewhere");
    await mkdir(dir);
    const second = await world.launch({ kind: "resume", sessionId, dir, prompt: "-second", model: "other-model" });
    await second.until("turn_ended");
    expect(second.claims()[0]).toMatchObject({ agentSessionId: sessionId, event: { reason: "resume" } });
    expect(await codex.findTranscript(sessionId, world.env)).toBe(path);
    await untilTranscriptHolds(second, "first");
    await untilTranscriptHolds(second, "-second");
    const last = world.model.requests.findLast(({ kind }) => kind === "turn");
    expect(last).toMatchObject({ prompt: "-second", model: "other-model" });
    const unknown = await world.launch({ kind: "resume", sessionId: newUuid() });
    expect(await unknown.exited).toBe(1);
  });

  test("a rollout without its whole first line cannot be resumed, as the template says; with it, it can", async () => {
    const world = await makeAgentWorld(codex);
    const first = await world.launch({ prompt: "first" });
    await first.until("turn_ended");
    const sessionId = first.claims()[0]?.agentSessionId ?? "";
    await first.kill();
    const path = (await codex.findTranscript(sessionId, world.env)) ?? "";
    const line = (await readFile(path, "utf8")).split("\n")[0] ?? "";
    for (const part of ["", line.slice(0, -10)]) {
      await writeFile(path, part);
      const agent = await world.launch({ kind: "resume", sessionId, prompt: "again" });
      expect(await agent.exited).toBe(1);
      expect(await codex.canResume?.(path)).toBe(false);
    }
    await writeFile(path, line);
    expect(await codex.canResume?.(path)).toBe(true);
    const agent = await world.launch({ kind: "resume", sessionId, prompt: "again" });
    await agent.until("turn_ended");
  });

  test("four started at once in one directory each get their own id, before the first hook and from it", async () => {
    const world = await makeAgentWorld(codex);
    const agents = await Promise.all([1, 2, 3, 4].map((number) => world.launch({ prompt: `say I am ${number}` })));
    const ids = await Promise.all(agents.map(discovered));
    expect(new Set(ids).size).toBe(4);
    for (const [index, agent] of agents.entries()) {
      expect((await agent.until("session_start")).agentSessionId).toBe(ids[index]);
      await agent.until("turn_ended");
      await untilTranscriptHolds(agent, `I am ${index + 1}`);
    }
  });

  test("nothing outlives the terminal", async () => {
    const world = await makeAgentWorld(codex);
    const agent = await world.launch({ prompt: "hello" });
    await agent.until("turn_ended");
    await agent.kill();
    // Every process of this test names its folder in its environment or arguments.
    const { stdout } = await run("ps", ["axww", "-o", "args"]);
    expect(stdout.split("\n").filter((line) => line.includes(world.root))).toEqual([]);
  });
});

describe("permission modes", () => {
  const approve = (agent: PlannedAgent): Promise<void> =>
    agent.approve(() => agent.screen().join("\n").includes("Press enter to confirm"));

  test("ask: an edit is asked for, a command cannot write; the question's key is that of the call's end", async () => {
    const world = await makeAgentWorld(codex);
    const agent = await world.launch({ prompt: "run touch b.txt\nwrite a.txt with hi" });
    const { event } = await agent.until("permission_asked");
    expect(event).toMatchObject({ tool: "apply_patch", subagent: null });
    // The hook comes before the dialog.
    await agent.untilScreen("Press enter to confirm");
    expect(codex.composerPainted(agent.screen())).toBe(false);
    expect(await readdir(world.dir)).toEqual([]);
    await approve(agent);
    await agent.until("turn_ended");
    const ended = agent.claims().findLast((claim) => claim.event.kind === "tool_ended")?.event;
    expect(ended).toMatchObject({ tool: "apply_patch" });
    expect(ended).toHaveProperty("callKey", event.kind === "permission_asked" ? event.callKey : "");
    expect(await readdir(world.dir)).toEqual(["a.txt"]);
  });

  test("ask: leaving the sandbox is asked for", async () => {
    const world = await makeAgentWorld(codex);
    const call = { cmd: "touch b.txt", sandbox_permissions: "require_escalated", justification: "why not" };
    const agent = await world.launch({ prompt: `call exec_command ${JSON.stringify(call)}` });
    const { event } = await agent.until("permission_asked");
    expect(event).toMatchObject({ tool: "Bash", input: { command: "touch b.txt", description: "why not" } });
    await approve(agent);
    const ended = await agent.until("tool_ended");
    expect(ended.event).toHaveProperty("callKey", event.kind === "permission_asked" ? event.callKey : "");
  });

  test("edits: a file is written unasked; all: so is everything", async () => {
    const world = await makeAgentWorld(codex);
    const [edits, all] = await Promise.all([
      world.launch({ permissionMode: "edits", prompt: "write a.txt with hi" }),
      world.launch({ permissionMode: "all", prompt: `run touch ${join(world.root, "outside")}` }),
    ]);
    await edits.until("turn_ended");
    await all.until("turn_ended");
    expect([...edits.kinds(), ...all.kinds()]).not.toContain("permission_asked");
    expect(await readdir(world.dir)).toEqual(["a.txt"]);
    await stat(join(world.root, "outside"));
  });
});

describe("first-run dialogs", () => {
  test("without trust a repository's dialog stays", async () => {
    const world = await makeAgentWorld(codex);
    await run("git", ["init", "--quiet", world.dir]);
    const agent = await world.launch({ trustDir: false, prompt: "hello" });
    await agent.untilScreen("Trust this folder?");
    expect(codex.composerPainted(agent.screen())).toBe(false);
    expect(prompts(world)).toEqual([]);
  });

  test("an unreviewed hook of the person's does not become trusted through ours", async () => {
    const world = await makeAgentWorld(codex);
    const ran = join(world.root, "ran");
    const hook = `[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "touch ${ran}"\n`;
    await writeFile(join(world.stateDir, "config.toml"), hook);
    const agent = await world.launch({ prompt: "hello" });
    await agent.untilScreen("Hooks need review");
    expect(codex.composerPainted(agent.screen())).toBe(false);
    const goOnWithout = (): boolean => {
      const asks = agent.screen().join("\n").includes("Hooks need review");
      if (asks) agent.write("3"); // a key that comes right after the first paint is lost
      return asks;
    };
    await expect.poll(goOnWithout, { ...patience, interval: 500 }).toBe(false);
    await agent.until("turn_ended");
    await expect(stat(ran)).rejects.toThrow("ENOENT");
  });

  test("an existing login is used, although a key variable is set", async () => {
    const world = await makeAgentWorld(codex);
    await writeFile(
      join(world.stateDir, "auth.json"),
      JSON.stringify({ auth_mode: "apikey", OPENAI_API_KEY: "from-the-login" }),
    );
    await writeFile(join(world.stateDir, "config.toml"), `openai_base_url = "${world.model.url}/v1"`);
    const agent = await world.launch({ prompt: "hello" });
    await agent.until("turn_ended");
    const request = world.model.requests.find(({ kind }) => kind === "turn");
    expect(request?.headers["authorization"]).toBe("Bearer from-the-login");
  });

  test("a provider that is configured is used, although a key variable is set", async () => {
    const world = await makeAgentWorld(codex);
    const provider = `name = "mine"\nbase_url = "${world.model.url}/v1"\nenv_key = "MINE"\nwire_api = "responses"`;
    await writeFile(
      join(world.stateDir, "config.toml"),
      `model_provider = "mine"\n[model_providers.mine]\n${provider}\n`,
    );
    const agent = await world.launch({ prompt: "hello", env: { ...world.env, MINE: "my-key" } });
    await agent.until("turn_ended");
    const request = world.model.requests.find(({ kind }) => kind === "turn");
    expect(request?.headers["authorization"]).toBe("Bearer my-key");
  });

  test("without a key or a login the login dialog is shown", async () => {
    const world = await makeAgentWorld(codex);
    const { OPENAI_API_KEY: _key, ...env } = world.env;
    const agent = await world.launch({ prompt: "hello", env });
    await agent.untilScreen("Sign in");
    expect(codex.composerPainted(agent.screen())).toBe(false);
  });
});

describe("a live session", () => {
  test("a lock has its process, and Escape stops a turn without a hook but with a line in the transcript", async () => {
    const world = await makeAgentWorld(codex);
    const agent = await world.launch({ prompt: "slow 60000" });
    const sessionId = await discovered(agent);
    expect(await codex.externalHolder(sessionId, world.env)).toMatchObject({ pid: agent.pid });
    await agent.until("prompt_submitted");
    await expect.poll(() => prompts(world), patience).toHaveLength(1);
    agent.write(codex.interruptKeys);
    await untilTranscriptHolds(agent, `"turn_aborted"`);
    expect(agent.kinds()).toEqual(["session_start", "prompt_submitted"]);
    await agent.kill();
    expect(await codex.externalHolder(sessionId, world.env)).toBeNull();
  });

  test("a prompt is taken as soon as the composer is painted, whatever it ends with; then /new moves on", async () => {
    const world = await makeAgentWorld(codex);
    const agent = await world.launch();
    await agent.untilComposer();
    expect(agent.claims()).toEqual([]);
    await agent.paste("look at @file");
    await agent.until("turn_ended");
    await agent.paste("and $word, or \\");
    await agent.until("turn_ended", 2);
    expect(prompts(world)).toEqual(["look at @file", "and $word, or \\"]);
    const before = await discovered(agent);
    agent.write("/new");
    await agent.untilScreen("/new");
    await new Promise((resolve) => setTimeout(resolve, 500));
    agent.write("\r");
    await expect.poll(() => agent.screen().join("\n"), patience).not.toContain("look at @file");
    await agent.untilComposer();
    await agent.paste("in the new one");
    const next = await agent.until("session_start", 2);
    expect(next.agentSessionId).not.toBe(before);
    expect(agent.kinds()).not.toContain("session_end");
    await agent.until("turn_ended", 3);
    // Both threads are held now, and no guess is made.
    expect(await codex.discoverSessionId(agent)).toBeNull();
    agent.write("/quit");
    await agent.untilScreen("/quit");
    await new Promise((resolve) => setTimeout(resolve, 500));
    agent.write("\r");
    expect(await agent.exited).toBe(0);
    expect(agent.kinds()).toContain("session_end");
  });

  test("an API error ends the turn without a hook, but in the transcript", async () => {
    const world = await makeAgentWorld(codex);
    const agent = await world.launch({ prompt: "fail 400" });
    await agent.until("prompt_submitted");
    await untilTranscriptHolds(agent, `"task_complete"`);
    expect(agent.kinds()).toEqual(["session_start", "prompt_submitted"]);
  });
});

test("a login, a key variable and neither are distinguished", async () => {
  const world = await makeAgentWorld(codex);
  const { OPENAI_API_KEY: _key, ...keyless } = world.env;
  expect(await codex.loginState(world.binary, world.env)).toBe("key_variable");
  expect(await codex.loginState(world.binary, keyless)).toBe("logged_out");
  await writeFile(join(world.stateDir, "auth.json"), JSON.stringify({ auth_mode: "apikey", OPENAI_API_KEY: "k" }));
  expect(await codex.loginState(world.binary, world.env)).toBe("logged_in");
});
