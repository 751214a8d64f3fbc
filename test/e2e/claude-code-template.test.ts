import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { claudeCode } from "../../src/agents/claude-code/claude-code.ts";
import { newUuid } from "../../src/core/ids.ts";
import { type AgentWorld, makeAgentWorld, type PlannedAgent } from "../support/planned-agent.ts";

// Each test asserts what the template of Claude Code relies on, with the real program: a fact that moved fails here.

const patience = { timeout: 30_000, interval: 50 };

async function readState(world: AgentWorld): Promise<Record<string, unknown>> {
  return JSON.parse(await readFile(join(world.stateDir, ".claude.json"), "utf8"));
}

function prompts(world: AgentWorld): readonly (string | null)[] {
  return world.model.requests.filter(({ kind }) => kind === "turn").map(({ prompt }) => prompt);
}

async function liveState(agent: PlannedAgent, sessionId: string): Promise<string | null> {
  return (await claudeCode.liveState(sessionId, agent))?.activity ?? null;
}

async function put(path: string, content: unknown): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, JSON.stringify(content));
}

describe("start and resume", () => {
  test("a start uses our id, prompt, model and instructions, and shows no dialog", async () => {
    const world = await makeAgentWorld(claudeCode);
    const sessionId = newUuid();
    const prompt = `--help me\nwith "two" 'lines' 🦊 $HOME \`id\``;
    const systemPrompt = "INSTRUCTION-OF-THE-TEST --with dashes";
    const agent = await world.launch({ sessionId, prompt, model: "claude-test-model", systemPrompt });
    await agent.until("turn_ended");
    expect(agent.kinds()).toEqual(["session_start", "prompt_submitted", "turn_ended"]);
    expect(new Set(agent.claims().map(({ agentSessionId }) => agentSessionId))).toEqual(new Set([sessionId]));
    expect(prompts(world)).toEqual([prompt]);
    expect(world.model.requests.find(({ kind }) => kind === "turn")).toMatchObject({
      model: "claude-test-model",
      systemPrompt: expect.stringContaining(systemPrompt),
    });
    // Private data is passed in files that only the owner can read.
    expect(agent.plan.argv.join("\n")).not.toMatch(/INSTRUCTION|sk-scripted/);
    const files = agent.plan.argv.filter((argument) => argument.includes("/launch-"));
    expect(await Promise.all(files.map(async (file) => (await stat(file)).mode & 0o777))).toEqual([0o600, 0o600]);
    const path = await claudeCode.findTranscript(sessionId, agent.env);
    expect(agent.claims().map(({ transcriptPath }) => transcriptPath)).toEqual([path, path, path]);
    expect(path?.startsWith(claudeCode.transcriptRoots(agent.env)[0] ?? "?")).toBe(true);
  });

  test("a resume from elsewhere continues the same file, keeps the instructions and accepts another model", async () => {
    const world = await makeAgentWorld(claudeCode);
    const sessionId = newUuid();
    const first = await world.launch({ sessionId, prompt: "first", systemPrompt: "INSTRUCTION-OF-THE-TEST" });
    await first.until("turn_ended");
    const path = await claudeCode.findTranscript(sessionId, world.env);
    // The file follows the hook: a kill at once would lose its last lines.
    const holds = async (pattern: RegExp): Promise<boolean> => pattern.test(await readFile(path ?? "", "utf8"));
    await expect.poll(() => holds(/ECHO first/), patience).toBe(true);
    await first.kill();
    const dir = join(world.root, "elsewhere");
    await mkdir(dir);
    const second = await world.launch({ kind: "resume", sessionId, dir, prompt: "-second", model: "claude-other" });
    await second.until("turn_ended");
    expect(second.claims()[0]).toMatchObject({ agentSessionId: sessionId, event: { reason: "resume" } });
    expect(await claudeCode.findTranscript(sessionId, world.env)).toBe(path);
    await expect.poll(() => holds(/first[^]*-second/), patience).toBe(true);
    const last = world.model.requests.findLast(({ kind }) => kind === "turn");
    expect(last).toMatchObject({ prompt: "-second", model: "claude-other" });
    expect(last?.systemPrompt?.includes("INSTRUCTION-OF-THE-TEST")).toBe(true);
  });

  test("an unknown id, and one that is taken, end with 1 and say why", async () => {
    const world = await makeAgentWorld(claudeCode);
    const unknown = await world.launch({ kind: "resume", sessionId: newUuid() });
    expect(await unknown.exited).toBe(1);
    await expect.poll(() => unknown.screen().join("\n")).toContain("No conversation found");
    const sessionId = newUuid();
    const first = await world.launch({ sessionId, prompt: "first" });
    await first.until("turn_ended");
    await first.kill();
    const again = await world.launch({ sessionId, prompt: "again" });
    expect(await again.exited).toBe(1);
    await expect.poll(() => again.screen().join("\n")).toContain("already in use");
  });
});

test("a transcript without a message cannot be resumed, as the template says", async () => {
  const world = await makeAgentWorld(claudeCode);
  const sessionId = newUuid();
  const folder = join(world.stateDir, "projects", world.dir.replaceAll(/[^A-Za-z0-9]/g, "-"));
  const path = join(folder, `${sessionId}.jsonl`);
  await mkdir(folder, { recursive: true });
  const metadata = `${JSON.stringify({ type: "permission-mode", permissionMode: "default", sessionId })}\n`;
  await writeFile(path, metadata);
  const refused = { resume: "No conversation found", start: "already in use" } as const;
  for (const kind of ["resume", "start"] as const) {
    const agent = await world.launch({ kind, sessionId, prompt: "again" });
    expect(await agent.exited).toBe(1);
    await expect.poll(() => agent.screen().join("\n")).toContain(refused[kind]);
  }
  expect(await claudeCode.canResume?.(path)).toBe(false);
  await writeFile(path, `${metadata}${JSON.stringify({ type: "user", message: { role: "user", content: "hi" } })}\n`);
  expect(await claudeCode.canResume?.(path)).toBe(true);
});

describe("permission modes", () => {
  test("ask: a file and a command are asked for; the question's key is that of the call's end", async () => {
    const world = await makeAgentWorld(claudeCode);
    const sessionId = newUuid();
    const agent = await world.launch({ sessionId, prompt: "write a.txt with hi\nrun touch b.txt" });
    for (const count of [1, 2]) {
      const { event } = await agent.until("permission_asked", count);
      await expect.poll(() => liveState(agent, sessionId), patience).toBe("needs_permission");
      expect(claudeCode.composerPainted(agent.screen())).toBe(false);
      const ends = (): number => agent.kinds().filter((kind) => kind === "tool_ended").length;
      await agent.approve(async () => ends() < count && (await liveState(agent, sessionId)) === "needs_permission");
      const ended = await agent.until("tool_ended", count);
      expect(ended.event).toEqual({ ...event, kind: "tool_ended", asks: undefined, cwd: undefined });
    }
    await agent.until("turn_ended");
    expect(await readFile(join(world.dir, "a.txt"), "utf8")).toMatch(/^hi\n?$/);
    await expect.poll(() => liveState(agent, sessionId), patience).toBe("idle");
  });

  test("edits: a file is written unasked, a command is asked for", async () => {
    const world = await makeAgentWorld(claudeCode);
    const agent = await world.launch({
      permissionMode: "edits",
      prompt: "write a.txt with hi\nrun sh -c 'touch b.txt'",
    });
    const { event } = await agent.until("permission_asked");
    expect(event).toMatchObject({ tool: "Bash", input: { command: "sh -c 'touch b.txt'" } });
    expect(agent.kinds()).toEqual(["session_start", "prompt_submitted", "tool_ended", "permission_asked"]);
  });

  test("all: a command runs unasked, as root too", async () => {
    const world = await makeAgentWorld(claudeCode);
    const agent = await world.launch({ permissionMode: "all", prompt: "run touch b.txt; false" });
    await agent.until("turn_ended");
    expect(agent.kinds()).toEqual(["session_start", "prompt_submitted", "tool_ended", "turn_ended"]);
    await stat(join(world.dir, "b.txt"));
  });

  test("a sub-agent's question stays open when the session's turn has ended", async () => {
    const world = await makeAgentWorld(claudeCode);
    const sessionId = newUuid();
    const task = { description: "sub", prompt: "run touch sub.txt", subagent_type: "general-purpose" };
    const agent = await world.launch({ sessionId, prompt: `call Agent ${JSON.stringify(task)}` });
    const { event } = await agent.until("permission_asked");
    await agent.until("turn_ended");
    expect(event).toMatchObject({ subagent: expect.stringMatching(/./) });
    await agent.approve(async () => (await liveState(agent, sessionId)) === "needs_permission");
    await agent.until("turn_ended", 2);
    const ended = agent.claims().find((claim) => claim.event.kind === "tool_ended" && claim.event.subagent !== null);
    expect(ended?.event).toEqual({ ...event, kind: "tool_ended", asks: undefined, cwd: undefined });
    expect(agent.claims().every((claim) => claim.agentSessionId === sessionId)).toBe(true);
  });
});

describe("first-run dialogs", () => {
  test("without trust the folder's dialog stays; nothing of the repository has run", async () => {
    const world = await makeAgentWorld(claudeCode);
    const ran = join(world.root, "ran");
    const hooks = { SessionStart: [{ hooks: [{ type: "command", command: `touch ${ran}` }] }] };
    await put(join(world.dir, ".claude", "settings.json"), { hooks });
    const agent = await world.launch({ trustDir: false, prompt: "hello" });
    await agent.untilScreen("I trust this folder");
    expect(claudeCode.composerPainted(agent.screen())).toBe(false);
    await expect(stat(ran)).rejects.toThrow("ENOENT");
    expect(prompts(world)).toEqual([]);
  });

  test("with trust the repository's hooks run, but it cannot allow itself commands or MCP servers", async () => {
    const world = await makeAgentWorld(claudeCode);
    const [ran, served] = [join(world.root, "ran"), join(world.root, "served")];
    await put(join(world.dir, ".claude", "settings.json"), {
      permissions: { allow: ["Bash(touch:*)"] },
      enableAllProjectMcpServers: true,
      hooks: { SessionStart: [{ hooks: [{ type: "command", command: `touch ${ran}` }] }] },
    });
    await put(join(world.dir, ".mcp.json"), { mcpServers: { theirs: { command: "touch", args: [served] } } });
    const agent = await world.launch({ prompt: "run touch b.txt" });
    expect((await agent.until("permission_asked")).event).toMatchObject({ tool: "Bash" });
    await stat(ran);
    await expect(stat(served)).rejects.toThrow("ENOENT");
  });

  test("the person's own hooks still run next to ours", async () => {
    const world = await makeAgentWorld(claudeCode);
    const ran = join(world.root, "ran");
    const hooks = { Stop: [{ hooks: [{ type: "command", command: `touch ${ran}` }] }] };
    await put(join(world.stateDir, "settings.json"), { hooks });
    const agent = await world.launch({ prompt: "hello" });
    await agent.until("turn_ended");
    await expect.poll(() => stat(ran).catch(() => null), patience).not.toBeNull();
  });

  test("the key variable is approved, and nothing else in the state file is lost", async () => {
    const world = await makeAgentWorld(claudeCode);
    await put(join(world.stateDir, ".claude.json"), {
      mine: { kept: [1] },
      customApiKeyResponses: { rejected: ["x"] },
    });
    const agent = await world.launch({ prompt: "hello" });
    await agent.until("turn_ended");
    expect(await readState(world)).toMatchObject({
      mine: { kept: [1] },
      customApiKeyResponses: { approved: [world.env["ANTHROPIC_API_KEY"]?.slice(-20)], rejected: ["x"] },
    });
  });

  test("an existing login is kept, although a key variable is set", async () => {
    const world = await makeAgentWorld(claudeCode);
    const login = {
      accessToken: "token-of-the-login",
      refreshToken: "r",
      expiresAt: Date.now() + 1e9,
      scopes: ["user:inference"],
    };
    await put(join(world.stateDir, ".credentials.json"), { claudeAiOauth: login });
    const agent = await world.launch({ prompt: "hello" });
    await agent.until("turn_ended");
    const request = world.model.requests.find(({ kind }) => kind === "turn");
    expect(request?.headers).toMatchObject({ authorization: "Bearer token-of-the-login" });
    expect(await readState(world)).not.toHaveProperty("customApiKeyResponses");
  });

  test("without a key or a login the turn fails with login required", async () => {
    const world = await makeAgentWorld(claudeCode);
    const { ANTHROPIC_API_KEY: _key, ...env } = world.env;
    const agent = await world.launch({ prompt: "hello", env });
    expect((await agent.until("turn_failed")).event).toMatchObject({ needs: "login" });
  });
});

describe("a live session", () => {
  test("its state file has its process and activity, and Escape stops a turn without a hook", async () => {
    const world = await makeAgentWorld(claudeCode);
    const sessionId = newUuid();
    const agent = await world.launch({ sessionId, prompt: "slow 60000" });
    await expect.poll(() => liveState(agent, sessionId), patience).toBe("working");
    expect(await claudeCode.externalHolder(sessionId, world.env)).toMatchObject({ pid: agent.pid });
    await expect.poll(() => prompts(world), patience).toHaveLength(1);
    agent.write(claudeCode.interruptKeys);
    await expect.poll(() => liveState(agent, sessionId), patience).toBe("idle");
    expect(agent.kinds()).toEqual(["session_start", "prompt_submitted"]);
    await agent.kill();
    expect(await claudeCode.externalHolder(sessionId, world.env)).toBeNull();
    await stat(join(world.stateDir, "sessions", `${agent.pid}.json`)); // left behind by the kill
  });

  test("a pasted prompt is taken as soon as the session has begun, whatever it ends with; then /clear moves on", async () => {
    const world = await makeAgentWorld(claudeCode);
    const sessionId = newUuid();
    const agent = await world.launch({ sessionId });
    await agent.until("session_start");
    await agent.untilComposer();
    await agent.paste("ends with \\");
    await agent.until("turn_ended");
    await agent.paste("look at @file");
    await agent.until("turn_ended", 2);
    expect(prompts(world)).toEqual(["ends with \\", "look at @file"]);
    agent.write("/clear");
    await agent.untilScreen("/clear");
    await new Promise((resolve) => setTimeout(resolve, 500));
    agent.write("\r");
    expect(await agent.until("session_end")).toMatchObject({ agentSessionId: sessionId, event: { reason: "clear" } });
    const next = await agent.until("session_start", 2);
    expect(next.event).toEqual({ kind: "session_start", reason: "clear" });
    expect(next.agentSessionId).not.toBe(sessionId);
    expect(await claudeCode.discoverSessionId(agent)).toBe(next.agentSessionId);
  });

  test("each of the words that are commands ends the agent; as part of a sentence they do not", async () => {
    const world = await makeAgentWorld(claudeCode);
    const agent = await world.launch({ prompt: "exit now" });
    await agent.until("turn_ended");
    await agent.untilComposer();
    expect(claudeCode.commandWords).toContain("exit");
    await agent.paste("exit");
    expect(await agent.exited).toBe(0);
    expect(agent.kinds().at(-1)).toBe("session_end");
  });

  test("an error of the API fails the turn", async () => {
    const world = await makeAgentWorld(claudeCode);
    const agent = await world.launch({ prompt: "fail 400" });
    const { event } = await agent.until("turn_failed");
    expect(event).toMatchObject({ message: expect.stringContaining("400") });
    expect(agent.kinds()).not.toContain("turn_ended");
  });
});

test("a login, a key variable and neither are distinguished", async () => {
  const world = await makeAgentWorld(claudeCode);
  const { ANTHROPIC_API_KEY: _key, ...keyless } = world.env;
  expect(await claudeCode.loginState(world.binary, world.env)).toBe("key_variable");
  expect(await claudeCode.loginState(world.binary, keyless)).toBe("logged_out");
  expect(await claudeCode.loginState("/nowhere/claude", keyless)).toBe("unknown");
  const login = { accessToken: "t", refreshToken: "r", expiresAt: Date.now() + 1e9, scopes: ["user:inference"] };
  await put(join(world.stateDir, ".credentials.json"), { claudeAiOauth: login });
  expect(await claudeCode.loginState(world.binary, world.env)).toBe("logged_in");
});
