import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { processRow } from "../../src/platform/process-table.ts";
import type { AskInput, AskOutput } from "../../src/wire/coding.ts";
import type { Problem } from "../../src/wire/problem.ts";
import { echoOf } from "../model-server/script.ts";
import { configureOpenCode } from "../support/configure-opencode.ts";
import { createWorld, killAndWait, startGateway, type TestGateway, type World } from "../support/gateway.ts";
import { factsOf, milestones, rememberedTurns } from "../support/remembered.ts";
import { atTerminal } from "../support/type-into.ts";

// OpenCode itself, in the gateway: what docs/agents.md says of it. Its start takes seconds of a core.

let world: World;
let gateway: TestGateway;
beforeAll(async () => {
  world = await createWorld({
    agents: "opencode",
    config: { memory: { record: "turn" } },
    // It knows thousands of models, and half of its start is to read their list.
    env: { OPENCODE_MODELS_PATH: join(import.meta.dirname, "../opencode/models.json") },
  });
  await configureOpenCode(world);
  gateway = await startGateway(world);
});
afterAll(async () => {
  await gateway.close();
  await world.close();
});

/** The session that the first test leaves, idle, and the second closes: each start costs seconds. */
let resumed: Awaited<ReturnType<TestGateway["api"]["ask"]>>;
const waitMs = 120_000;
const patience = { timeout: 120_000, interval: 100 };

async function sessionsOf(tool: "list_sessions" | "search_sessions", input: object): Promise<readonly string[]> {
  const { body } = await gateway.api.post<{ sessions: { sessionId: string }[] }>(`/api/coding/coding_${tool}`, input);
  return body.sessions.map(({ sessionId }) => sessionId);
}

/** A start that hung on a busy machine is reported as failed and repeated once. */
async function begin(inputOf: (attempt: number) => AskInput): Promise<AskOutput> {
  for (let attempt = 1; ; attempt += 1) {
    const { status, body } = await gateway.api.post<AskOutput & Pick<Problem, "code">>(
      "/api/coding/coding_ask",
      inputOf(attempt),
    );
    if (status === 200) return body;
    if (attempt === 3 || body.code !== "agent_start_failed") throw new Error(JSON.stringify(body));
  }
}

test("a session is started, asked, kept over a restart of the gateway, killed, resumed, listed, found and closed", async () => {
  const dir = world.repository;
  const prompt = `--help me\nwith "two" 'lines' 🦊 $HOME \`id\``;
  const first = await begin(() => ({ agent: "opencode", dir, prompt, waitMs, model: "local/model-b" }));
  expect(first).toMatchObject({ agent: "opencode", delivered: true, activity: "idle", started: "new" });
  expect(first).toMatchObject({ sessionId: expect.stringMatching(/^ses_/), model: "local/model-b" });
  const { sessionId, pid } = first;
  const second = await gateway.api.ask({ dir, sessionId, prompt: "a second one, of @README.md", waitMs });
  expect(second).toMatchObject({ delivered: true, activity: "idle", started: "reconnect", pid });

  await gateway.close();
  gateway = await startGateway(world);
  const told = await milestones(gateway);
  await killAndWait(pid);
  const file = { filePath: join(dir, "quokka.txt"), content: "hello" };
  const edit = `call write ${JSON.stringify(file)}\nsay it is written`;
  const third = await begin(() => ({ dir, sessionId, prompt: edit, waitMs, permissionMode: "edits" }));
  expect(third).toMatchObject({ delivered: true, activity: "idle", started: "resumed", sessionId });
  const { turns, skippedLines } = await gateway.api.read(sessionId);
  const texts = turns.map(({ text }) => text);
  const said = [prompt, "a second one, of @README.md"];
  expect(texts.slice(0, 5)).toEqual([...said.flatMap((text) => [text, echoOf(text)]), edit]);
  expect(texts.slice(5)).toEqual([expect.stringMatching(/^it is written\nRESULT 1 ok/)]);
  expect(turns[1]).toMatchObject({ usage: { inputTokens: 100, outputTokens: 10, cacheReadTokens: 20 } });
  expect(turns[5]?.blocks[0]).toMatchObject({ type: "tool_call", name: "write", result: { ok: true } });
  expect(skippedLines).toBe(0);
  expect(await readdir(dir)).toContain("quokka.txt");

  await expect.poll(() => sessionsOf("search_sessions", { query: "quokka", in: "all" }), patience).toEqual([sessionId]);
  expect(await sessionsOf("list_sessions", { agent: "opencode" })).toEqual([sessionId]);
  await expect.poll(told, patience).toEqual(expect.arrayContaining(["session.exited", "session.turn_ended"]));
  await expect.poll(() => rememberedTurns(gateway, sessionId), patience).toEqual([0, 1, 2, 3, 4, 5]);
  const facts = ["by_agent opencode", `in_repository ${dir}`, `edited ${file.filePath}`];
  expect(await factsOf(gateway, `Session:${sessionId}`)).toEqual(expect.arrayContaining(facts));
  resumed = third;
}, 480_000);

test("a permission is reported and answered; after a stop, the queued prompt is answered; a failure is reported", async () => {
  const { sessionId, dir, pid } = resumed;
  const asked = await gateway.api.ask({ dir, sessionId, prompt: "run touch made-asked.txt", waitMs });
  expect(asked).toMatchObject({ activity: "needs_permission", permissions: [{ tool: "bash", answerable: true }] });
  const prompt = "slow 60000\nsay long";
  const refused = await gateway.api.post("/api/coding/coding_ask", { dir, sessionId, prompt });
  expect(refused).toMatchObject({ status: 409, body: { code: "permission_pending" } });
  expect(await readdir(dir)).not.toContain("made-asked.txt");
  const answer = { sessionId, permissionId: asked.permissions[0]?.permissionId, decision: "allow" };
  expect(await gateway.api.post("/api/coding/coding_answer_permission", answer)).toMatchObject({ status: 200 });
  await expect.poll(() => readdir(dir), patience).toContain("made-asked.txt");

  await gateway.api.ask({ dir, sessionId, prompt });
  const prompts = () => world.modelServer.requests.map((request) => request.prompt);
  await expect.poll(prompts, patience).toContain(prompt);
  expect(await gateway.api.ask({ dir, sessionId, prompt: "wait for your turn" })).toMatchObject({ queuedPrompts: 1 });
  expect((await gateway.api.post("/api/coding/coding_interrupt", { sessionId })).status).toBe(200);
  const texts = async () => (await gateway.api.read(sessionId)).turns.map(({ text }) => text);
  await expect.poll(texts, patience).toContain(echoOf("wait for your turn"));
  const failed = await gateway.api.ask({ dir, sessionId, prompt: "fail 400", waitMs });
  expect(failed).toMatchObject({ activity: "idle", turnFailure: expect.stringContaining("Scripted failure 400.") });
  expect(await gateway.api.read(sessionId)).toMatchObject({ status: "running", turnCount: 14, pid });

  await atTerminal(world, pid, async ({ press, screen }) => {
    await press("/new");
    await expect.poll(screen, patience).toContain("New session");
    await press("\r");
    await expect.poll(screen, patience).not.toContain("New session");
  });
  const after = await gateway.api.ask({ dir, sessionId, prompt: "after", waitMs });
  expect(after).toMatchObject({ delivered: true, activity: "idle", pid });
  expect(await gateway.api.read(sessionId)).toMatchObject({ status: "completed", continuedBy: after.sessionId });
  const closed = await gateway.api.post("/api/coding/coding_close_session", { sessionId: after.sessionId });
  expect(closed).toMatchObject({ status: 200, body: { status: "completed", agent: "opencode", turnCount: 2 } });
  expect(processRow(pid ?? 0)).toBeUndefined();
});

test("in a worktree, allowed all: it runs a command unasked, with a system prompt, and ends", async () => {
  const place = { dir: world.repository, worktree: true, baseBranch: "main" };
  const prompt = "run touch made-unasked.txt";
  const given = { ...place, prompt, waitMs, permissionMode: "all", systemPrompt: "Say quokka." } as const;
  const asked = await begin((attempt) => ({ ...given, branch: `feature-${attempt}` }));
  expect(asked).toMatchObject({ activity: "idle", worktree: { baseBranch: "main" } });
  const { sessionId, dir, pid } = asked;
  expect(await readdir(dir)).toContain("made-unasked.txt");
  const told = world.modelServer.requests.filter((request) => request.prompt === prompt);
  expect(told.some(({ systemPrompt }) => systemPrompt?.includes("Say quokka."))).toBe(true);
  await gateway.api.post("/api/coding/coding_close_session", { sessionId, discardWorktree: true });
  expect(processRow(pid ?? 0)).toBeUndefined();
}, 480_000);

test("commands are refused", async () => {
  const ask = (input: object) => gateway.api.post("/api/coding/coding_ask", { dir: world.repository, ...input });
  for (const prompt of ["/exit", "!touch x", "@README.md", "quit"]) {
    expect(await ask({ prompt }), prompt).toMatchObject({ status: 400, body: { code: "prompt_not_text" } });
  }
});
