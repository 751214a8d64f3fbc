import { describe, expect, test } from "vitest";
import type { InterruptOutput } from "../../src/wire/coding.ts";
import { echoOf } from "../model-server/script.ts";
import { useGateway } from "../support/use-gateway.ts";

const used = useGateway({ agents: true });
const waitMs = 30_000;
const patience = { timeout: 30_000, interval: 100 };

async function interrupt(sessionId: string): Promise<InterruptOutput> {
  const { status, body } = await used.gateway.api.post<InterruptOutput>("/api/coding/coding_interrupt", { sessionId });
  expect(status, JSON.stringify(body)).toBe(200);
  return body;
}

/** The next prompt reaches the agent as it is, with nothing before it. */
async function expectNextWorks(sessionId: string, prompt: string): Promise<void> {
  const dir = used.world.repository;
  const asked = await used.gateway.api.ask({ dir, sessionId, prompt, waitMs });
  expect(asked).toMatchObject({ started: "reconnect", delivered: true, activity: "idle" });
  expect(asked.turns?.map(({ text }) => text)).toEqual([prompt, echoOf(prompt)]);
  await used.gateway.api.post("/api/coding/coding_close_session", { sessionId });
}

describe.for(["claude-code", "codex"])("%s", (agent) => {
  test("an answer that streams, a command, a turn that has not answered: each is stopped, and what comes next works", async () => {
    const { api } = used.gateway;
    const dir = used.world.repository;
    const { sessionId, pid } = await api.ask({ agent, dir, prompt: "slow 60000", permissionMode: "all" });
    const untilWorking = () =>
      expect.poll(async () => (await api.read(sessionId, { last: 1 })).activity, patience).toBe("working");
    await untilWorking();
    const began = performance.now();
    const stopped = await interrupt(sessionId);
    expect(stopped).toMatchObject({ interrupted: true, status: "running", activity: "idle", pid, queuedPrompts: 0 });
    expect(performance.now() - began).toBeLessThan(20_000);
    expect(await interrupt(sessionId), "no turn runs").toMatchObject({ interrupted: false, activity: "idle" });

    await api.ask({ dir, sessionId, prompt: "run touch started.txt; sleep 30" });
    await untilWorking();
    const queued = await api.ask({ dir, sessionId, prompt: "what waited" });
    expect(queued.queuedPrompts).toBe(1);
    expect(await interrupt(sessionId)).toMatchObject({ interrupted: true });
    await expect
      .poll(async () => (await api.read(sessionId, { last: 1 })).turns.at(-1)?.text, patience)
      .toBe(echoOf("what waited"));
    await expect.poll(async () => (await api.read(sessionId, { last: 1 })).activity, patience).toBe("idle");

    // Claude Code puts the prompt of such a turn back into its composer.
    await api.ask({ dir, sessionId, prompt: "fail 529\n\nof several lines" });
    await untilWorking();
    expect(await interrupt(sessionId)).toMatchObject({ interrupted: true, activity: "idle" });
    await expectNextWorks(sessionId, `not behind the other in ${agent}`);
  });

  test("an open permission is denied by it", async () => {
    const { api } = used.gateway;
    const asked = await api.ask({ agent, dir: used.world.repository, prompt: `write no-${agent}.txt with x`, waitMs });
    const [permission] = asked.permissions;
    expect(asked.activity).toBe("needs_permission");
    const { sessionId } = asked;
    expect(await interrupt(sessionId)).toMatchObject({ interrupted: true, activity: "idle", permissions: [] });
    const late = await api.post("/api/coding/coding_answer_permission", {
      sessionId,
      permissionId: permission?.permissionId,
      decision: "allow",
    });
    expect(late).toMatchObject({ status: 404, body: { code: "permission_gone" } });
    await expectNextWorks(sessionId, `after the denial in ${agent}`);
  });
});
