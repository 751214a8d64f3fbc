import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Turn } from "../../src/wire/turn.ts";
import { echoOf } from "../model-server/script.ts";
import { createWorld, killAndWait, startGateway, type TestGateway, type World } from "../support/gateway.ts";

let world: World;
let gateway: TestGateway;
beforeAll(async () => {
  world = await createWorld({ agents: true });
  gateway = await startGateway(world);
});
afterAll(async () => {
  await gateway.close();
  await world.close();
});

const waitMs = 30_000;
/** Each exchange as `user text -> assistant text`, to see order and repetition at once. */
function exchanges(turns: readonly Turn[]): string[] {
  return turns.map(({ role, text }) => `${role}: ${text}`);
}

describe.for(["claude-code", "codex"])("%s", (agent) => {
  test("asks, continues in the same process, and resumes after a kill: three exchanges, in order, none twice", async () => {
    const { api } = gateway;
    const dir = world.repository;
    const first = await api.ask({ agent, dir, prompt: "first words", waitMs });
    expect(first).toMatchObject({ started: "new", delivered: true, status: "running", activity: "idle", agent });
    expect(exchanges(first.turns ?? [])).toEqual(["user: first words", `assistant: ${echoOf("first words")}`]);

    const { sessionId } = first;
    const second = await api.ask({ dir, sessionId, prompt: "second words", waitMs });
    expect(second).toMatchObject({ started: "reconnect", delivered: true, pid: first.pid });
    expect(exchanges(second.turns ?? [])).toEqual(["user: second words", `assistant: ${echoOf("second words")}`]);

    await killAndWait(first.pid);
    const third = await api.ask({ dir, sessionId, prompt: "third words", waitMs });
    expect(third).toMatchObject({ started: "resumed", delivered: true, sessionId, status: "running" });
    expect(third.pid).not.toBe(first.pid);

    const { turns, status } = await api.read(sessionId);
    expect(status).toBe("running");
    expect(exchanges(turns)).toEqual(
      ["first words", "second words", "third words"].flatMap((words) => [
        `user: ${words}`,
        `assistant: ${echoOf(words)}`,
      ]),
    );
    expect(turns.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4, 5]);

    const closed = await api.post("/api/coding/coding_close_session", { sessionId });
    expect(closed).toMatchObject({
      status: 200,
      body: { status: "completed", pid: null, activity: null, worktree: null },
    });
    expect(existsSync(`/proc/${third.pid}`)).toBe(false);
  });

  test("by its alias too, files that it writes and commands that it runs are tool calls with results", async () => {
    const { api } = gateway;
    const prompt = `write made-by-${agent}.txt with exact content\nrun echo told-$((20 + 1))\nsay done with both`;
    const alias = agent === "codex" ? "agent_b" : "agent_a";
    const asked = await api.ask({ agent: alias, dir: world.repository, prompt, permissionMode: "all", waitMs });
    expect(asked.agent).toBe(agent);
    expect((await readFile(join(world.repository, `made-by-${agent}.txt`), "utf8")).trim()).toBe("exact content");
    const [, answer] = asked.turns ?? [];
    const calls = (answer?.blocks ?? []).flatMap((block) => (block.type === "tool_call" ? [block] : []));
    expect(calls.length).toBeGreaterThanOrEqual(2);
    for (const call of calls) expect(call.result, call.name).toMatchObject({ ok: true, truncated: false });
    expect(JSON.stringify(calls.map(({ input }) => input))).toContain(`made-by-${agent}.txt`);
    expect(calls.map(({ result }) => result?.text).join("\n")).toContain("told-21");
    expect(answer?.text).toContain("done with both");
    await api.post("/api/coding/coding_close_session", { sessionId: asked.sessionId });
  });

  test("model and system prompt of a new session reach the model; on a running one a model is refused and a system prompt named as ignored", async () => {
    const { api } = gateway;
    const dir = world.repository;
    const model = agent === "codex" ? "some-model" : "claude-some-model";
    const systemPrompt = 'Answer "in verse",\nalways: $HOME `id`';
    const asked = await api.ask({ agent, dir, prompt: "who are you", model, systemPrompt, waitMs });
    const request = world.modelServer.requests.findLast(({ prompt }) => prompt === "who are you");
    expect(request?.model).toBe(model);
    expect(request?.body).toContain(JSON.stringify(systemPrompt).slice(1, -1));
    const { sessionId } = asked;
    const refused = await api.post("/api/coding/coding_ask", { dir, sessionId, prompt: "x", model });
    expect(refused).toMatchObject({ status: 422, body: { code: "model_not_supported" } });
    const ignored = await api.ask({ dir, sessionId, prompt: "still there", systemPrompt: "no", waitMs });
    expect(ignored.ignored).toEqual(["systemPrompt"]);
    await api.post("/api/coding/coding_close_session", { sessionId });
  });
});

test("four codex sessions started at once in one directory have four ids, each with its own turns", async () => {
  const { api } = gateway;
  const prompts = ["north", "east", "south", "west"];
  const asked = await Promise.all(
    prompts.map((prompt) => api.ask({ agent: "codex", dir: world.repository, prompt, waitMs })),
  );
  expect(new Set(asked.map(({ sessionId }) => sessionId)).size).toBe(4);
  for (const [index, prompt] of prompts.entries()) {
    const sessionId = asked[index]?.sessionId ?? "";
    const read = await api.read(sessionId);
    expect(exchanges(read.turns)).toEqual([`user: ${prompt}`, `assistant: ${echoOf(prompt)}`]);
    const [provisional = ""] = read.sessionAliases;
    expect((await api.read(provisional)).sessionId).toBe(sessionId);
    const rollout = world.modelServer.requests.find((request) => request.prompt === prompt);
    expect(rollout?.body, "the id of the answer is the one that the agent itself uses").toContain(sessionId);
  }
  const closed = await api.post<{ closed: unknown[]; failed: unknown[] }>("/api/coding/coding_close_all", {});
  expect(closed.body.closed).toHaveLength(4);
  expect(closed.body.failed).toEqual([]);
});
