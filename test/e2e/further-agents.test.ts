import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { echoOf } from "../model-server/script.ts";
import { createWorld, killAndWait, startGateway, type TestGateway, type World } from "../support/gateway.ts";

// Gemini CLI itself, in the gateway: what docs/agents.md says of it. Its start takes seconds of a core.

let world: World;
let gateway: TestGateway;
beforeAll(async () => {
  world = await createWorld({ agents: "gemini" });
  gateway = await startGateway(world);
});
afterAll(async () => {
  await gateway.close();
  await world.close();
});

const waitMs = 60_000;
const patience = { timeout: 60_000, interval: 100 };
const model = "gemini-2.5-pro";

async function sessionsOf(tool: "list_sessions" | "search_sessions", input: object): Promise<readonly string[]> {
  const { body } = await gateway.api.post<{ sessions: { sessionId: string }[] }>(`/api/coding/coding_${tool}`, input);
  return body.sessions.map(({ sessionId }) => sessionId);
}

test("a session is started, asked, kept over a restart of the gateway, killed, resumed, listed, found and closed", async () => {
  const dir = world.repository;
  const { body } = await gateway.api.post<{ agents: unknown[] }>("/api/coding/coding_list_agents", {});
  expect(body.agents).toMatchObject([{ name: "gemini-cli", aliases: ["gemini"], login: "key_variable" }]);
  const prompt = `--help me\nwith "two" 'lines' 🦊 $HOME \`id\``;
  const first = await gateway.api.ask({ agent: "gemini", dir, prompt, waitMs, model });
  expect(first).toMatchObject({ agent: "gemini-cli", delivered: true, activity: "idle", started: "new", model });
  const { sessionId, pid } = first;
  const second = await gateway.api.ask({ dir, sessionId, prompt: "a second one, typed \\", waitMs });
  expect(second).toMatchObject({ delivered: true, activity: "idle", started: "reconnect", pid });

  await gateway.close();
  gateway = await startGateway(world);
  const third = await gateway.api.ask({ dir, sessionId, prompt: "a third one", waitMs });
  expect(third).toMatchObject({ delivered: true, activity: "idle", started: "reconnect", pid });

  await killAndWait(pid ?? 0);
  const edit = "write quokka.txt with hello\nsay it is written";
  const fourth = await gateway.api.ask({ dir, sessionId, prompt: edit, waitMs, model, permissionMode: "edits" });
  expect(fourth).toMatchObject({ delivered: true, activity: "idle", started: "resumed", sessionId });
  const said = [prompt, "a second one, typed \\", "a third one"];
  const texts = (await gateway.api.read(sessionId)).turns.map(({ text }) => text);
  expect(texts.slice(0, 7)).toEqual([...said.flatMap((text) => [text, echoOf(text)]), edit]);
  expect(texts.slice(7)).toEqual([expect.stringMatching(/^it is written\nRESULT 1 ok/)]);
  expect(await readdir(dir)).toContain("quokka.txt");

  await expect.poll(() => sessionsOf("search_sessions", { query: "quokka", in: "all" }), patience).toEqual([sessionId]);
  expect(await sessionsOf("list_sessions", { agent: "gemini" })).toEqual([sessionId]);
  const closed = await gateway.api.post("/api/coding/coding_close_session", { sessionId });
  expect(closed).toMatchObject({ status: 200, body: { status: "completed", agent: "gemini-cli", turnCount: 8 } });
});

test("an open dialog is told and nothing is typed into it; stopped, the prompt that waited is answered", async () => {
  const dir = world.repository;
  const asked = await gateway.api.ask({ dir, prompt: "run touch made-unasked.txt", waitMs, model });
  expect(asked).toMatchObject({ activity: "needs_permission", permissions: [], status: "running" });
  const { sessionId } = asked;
  expect(await gateway.api.ask({ dir, sessionId, prompt: "wait for your turn" })).toMatchObject({ queuedPrompts: 1 });
  const stopped = await gateway.api.post("/api/coding/coding_interrupt", { sessionId });
  expect(stopped.status).toBe(200);
  const texts = async () => (await gateway.api.read(sessionId)).turns.map(({ text }) => text);
  await expect.poll(texts, patience).toContain(echoOf("wait for your turn"));
  expect(await readdir(dir)).not.toContain("made-unasked.txt");
  expect(await gateway.api.read(sessionId)).toMatchObject({ queuedPrompts: 0, skippedLines: 0 });
  await gateway.api.post("/api/coding/coding_close_session", { sessionId });
});

test("in a worktree, allowed all: it runs a command unasked; stopped before it answered, the next prompt is typed alone", async () => {
  const place = { dir: world.repository, worktree: true, branch: "feature", baseBranch: "main" };
  const prompt = "run touch made-unasked.txt";
  const asked = await gateway.api.ask({ ...place, prompt, waitMs, model, permissionMode: "all" });
  expect(asked).toMatchObject({ activity: "idle", worktree: { branch: "feature" } });
  const { sessionId, dir } = asked;
  expect(await readdir(dir)).toContain("made-unasked.txt");
  await gateway.api.ask({ dir, sessionId, prompt: "fail 503" });
  const requests = () => world.modelServer.requests.map((request) => request.prompt);
  await expect.poll(requests, patience).toContain("fail 503");
  await gateway.api.post("/api/coding/coding_interrupt", { sessionId });
  const next = await gateway.api.ask({ dir, sessionId, prompt: "alone", waitMs });
  expect(next).toMatchObject({ delivered: true, activity: "idle" });
  expect(requests().at(-1)).toBe("alone");
  await gateway.api.post("/api/coding/coding_close_session", { sessionId, discardWorktree: true });
});

test("what it would take as a command is refused, as are a system prompt and a title that tells nothing", async () => {
  const ask = (input: object) => gateway.api.post("/api/coding/coding_ask", { dir: world.repository, ...input });
  for (const prompt of ["/quit", "!touch x", "@README.md", "?", "exit"]) {
    expect(await ask({ prompt }), prompt).toMatchObject({ status: 400, body: { code: "prompt_not_text" } });
  }
  expect(await ask({ prompt: "hi", systemPrompt: "be brief" })).toMatchObject({ status: 422 });
  await mkdir(join(world.repository, ".gemini"));
  await writeFile(join(world.repository, ".gemini", "settings.json"), '{"ui": {"dynamicWindowTitle": false}}');
  expect(await ask({ prompt: "hi" })).toMatchObject({
    status: 503,
    body: { code: "agent_start_failed", detail: expect.stringContaining(join(world.repository, ".gemini")) },
  });
});
