import { expect, onTestFinished, test } from "vitest";
import { scriptedAgent } from "../scripted-agent/scripted-agent.ts";
import { createWorld, killAndWait, startGateway } from "../support/gateway.ts";

test("an agent that is too old is neither started nor resumed, while its live session continues", async () => {
  const world = await createWorld({ agents: "scripted" });
  onTestFinished(() => world.close());
  // The scripted agent is version 1.0.0.
  const startWith = async (minimum: string) => {
    const releases = { npmPackage: "@tests/scripted", minimum, newestTested: "1.0.0", updateCommand: "update it" };
    const gateway = await startGateway({ ...world, furtherAgents: [{ ...scriptedAgent, releases }] });
    onTestFinished(() => gateway.close());
    return gateway;
  };
  const dir = world.repository;
  const before = await startWith("1.0.0");
  const { sessionId, pid } = await before.api.ask({ dir, prompt: "first", waitMs: 30_000 });
  await before.close();

  const { api } = await startWith("1.1.0");
  const tooOld = {
    status: 422,
    body: {
      code: "agent_version_unsupported",
      detail: "Scripted agent 1.0.0 is too old: Postern needs 1.1.0 or newer. Run `update it`.",
      found: "1.0.0",
      minimum: "1.1.0",
      command: "update it",
    },
  };
  expect(await api.ask({ dir, sessionId, prompt: "second", waitMs: 30_000 })).toMatchObject({ activity: "idle", pid });
  expect(await api.post("/api/coding/coding_ask", { dir, prompt: "another" })).toMatchObject(tooOld);
  expect(await api.post("/api/coding/spawn", { dir })).toMatchObject(tooOld);
  await killAndWait(pid);
  expect(await api.post("/api/coding/coding_ask", { dir, sessionId, prompt: "third" })).toMatchObject(tooOld);
  expect(await api.read(sessionId)).toMatchObject({ turnCount: 4, queuedPrompts: 0 });
});
