import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newUuid } from "../../src/core/ids.ts";
import type { ListAgentsOutput } from "../../src/wire/coding.ts";
import type { ListOutput } from "../../src/wire/session-lists.ts";
import { echoOf } from "../model-server/script.ts";
import { createWorld, killAndWait, startGateway, type TestGateway, type World } from "../support/gateway.ts";
import { factsOf, milestones, rememberedTurns } from "../support/remembered.ts";
import { hostOf } from "../support/situations.ts";

// Gemini CLI itself, in the gateway: what docs/agents.md says of it. Its start takes seconds of a core.

let world: World;
let gateway: TestGateway;
beforeAll(async () => {
  world = await createWorld({ agents: "gemini", config: { memory: { record: "turn" } } });
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

/** Longer than it takes to type a prompt and press Enter. */
const stoppedMs = 1_000;

/** The agent reads nothing while it is typed into, and then all at once: Enter that comes together with a paste is a new line to it. */
async function whileStopped<T>(pid: number | null, ask: () => Promise<T>): Promise<T> {
  process.kill(pid ?? 0, "SIGSTOP");
  const asking = ask();
  await sleep(stoppedMs);
  process.kill(pid ?? 0, "SIGCONT");
  return asking;
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
  const told = await milestones(gateway);
  const third = await whileStopped(pid, () => gateway.api.ask({ dir, sessionId, prompt: "a third one", waitMs }));
  expect(third).toMatchObject({ delivered: true, activity: "idle", started: "reconnect", pid });

  await killAndWait(pid);
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
  const ended = ["session.turn_ended", "session.exited", "session.turn_ended", "session.exited", "session.closed"];
  await expect.poll(told, patience).toEqual(ended);

  await expect.poll(() => rememberedTurns(gateway, sessionId), patience).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  const facts = ["by_agent gemini-cli", `in_repository ${dir}`, `edited ${join(dir, "quokka.txt")}`];
  expect(await factsOf(gateway, `Session:${sessionId}`)).toEqual(expect.arrayContaining(facts));
});

test.skipIf(process.platform !== "linux")("a session that runs elsewhere is reported, and not run twice", async () => {
  const dir = world.repository;
  const listed = async () => {
    const { body } = await gateway.api.post<ListOutput>("/api/coding/coding_list_sessions", {});
    return body.sessions.map(({ sessionId, owner, pid }) => ({ sessionId, owner, pid }));
  };
  const { body } = await gateway.api.post<ListAgentsOutput>("/api/coding/coding_list_agents", {});
  const [before] = await listed();
  expect(before).toMatchObject({ owner: null });
  const host = await hostOf(world);
  const terminalId = newUuid();
  const env = { ...world.env, GEMINI_CLI_NO_RELAUNCH: "true", GEMINI_CLI_TRUST_WORKSPACE: "true" };
  const argv = [body.agents[0]?.binary ?? "", `--resume=${before?.sessionId}`] as const;
  const { pid } = await host.spawn({ terminalId, leaseKey: terminalId, argv, cwd: dir, env, cols: 100, rows: 30 });
  await expect.poll(listed, patience).toEqual([{ ...before, owner: "external", pid }]);
  const ask = { dir, sessionId: before?.sessionId, prompt: "hi" };
  expect(await gateway.api.post("/api/coding/coding_ask", ask)).toMatchObject({ body: { code: "session_busy" } });
  await host.end(terminalId);
  await host.close();
  await expect.poll(listed, patience).toEqual([before]);
});

test("an open dialog is reported and gets no input; after a stop, the queued prompt is answered; after /clear the next session is reported", async () => {
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

  const { pid } = asked;
  const successor = async () => (await gateway.api.read(sessionId)).continuedBy;
  const clear = { dir, sessionId, prompt: "/clear", allowCommands: true };
  expect(await whileStopped(pid, () => gateway.api.ask(clear))).toMatchObject({ delivered: null });
  await expect.poll(successor, patience).not.toBeNull();
  expect(await gateway.api.read(sessionId)).toMatchObject({ status: "completed", pid: null });
  const next = (await successor()) ?? "";
  const after = await gateway.api.ask({ dir, sessionId: next, prompt: "after", waitMs });
  expect(after).toMatchObject({ sessionId: next, pid, delivered: true, activity: "idle" });
  expect((await gateway.api.read(next)).turns.map(({ text }) => text)).toEqual(["after", echoOf("after")]);
  await gateway.api.post("/api/coding/coding_close_session", { sessionId: next });
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

test("commands are refused, as are a system prompt and a window title without the state", async () => {
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
