import { expect, test } from "vitest";
import { agentsOf } from "../support/storm-processes.ts";
import { useGateway } from "../support/use-gateway.ts";

const used = useGateway({ agents: true, config: { idleTimeout: "20s" } });
const waitMs = 120_000;

test("idle agents exit in their own way, and the conversation goes on after that", async () => {
  const { gateway, world } = used;
  const { api } = gateway;
  const dir = world.repository;
  const agents = ["claude-code", "codex", "claude-code", "codex"];
  const ids = await Promise.all(
    agents.map(async (agent, nth) => (await api.ask({ agent, dir, prompt: `say word${nth}`, waitMs })).sessionId),
  );
  expect(agentsOf(world).length).toBeGreaterThanOrEqual(agents.length);
  for (const sessionId of ids) {
    await expect
      .poll(() => api.read(sessionId), { timeout: 120_000, interval: 500 })
      .toMatchObject({ status: "completed", exitCode: 0, signal: null });
    expect((await api.read(sessionId)).endedAfterIdleMs).toBeGreaterThanOrEqual(20_000);
  }
  expect(agentsOf(world), "nothing is left").toEqual([]);
  for (const [nth, sessionId] of ids.entries()) {
    const answer = await api.ask({ dir, sessionId, prompt: `say again${nth}`, waitMs });
    expect(answer).toMatchObject({ sessionId, started: "resumed", delivered: true });
    const prompts = (await api.read(sessionId)).turns.filter(({ role }) => role === "user");
    expect(prompts.map(({ text }) => text)).toEqual([`say word${nth}`, `say again${nth}`]);
    const request = world.modelServer.requests.findLast(({ body }) => body.includes(`say again${nth}`));
    expect(request?.body, "the agent remembers").toContain(`say word${nth}`);
  }
}, 600_000);
