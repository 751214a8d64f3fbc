import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { silentLog } from "../../src/core/log.ts";
import { connectTerminalHost } from "../../src/terminal-host/client.ts";
import { echoOf } from "../model-server/script.ts";
import { useGateway } from "../support/use-gateway.ts";

const used = useGateway({ agents: true });

const waitMs = 30_000;

/** What the old session and its successor say once the agent has moved on. */
async function expectMoved(sessionId: string, pid: number | null): Promise<string> {
  const { api } = used.gateway;
  await expect.poll(async () => (await api.read(sessionId)).continuedBy, { timeout: 15_000 }).not.toBeNull();
  const old = await api.read(sessionId);
  expect(old).toMatchObject({ status: "completed", pid: null, activity: null });
  expect(old.turns.map(({ text }) => text)).toEqual(["before", echoOf("before")]);
  const next = old.continuedBy ?? "";
  expect(await api.read(next)).toMatchObject({ status: "running", pid });
  return next;
}

test("claude-code: after /clear process and lease move to the agent's next session, and the old one can be resumed next to it", async () => {
  const { api } = used.gateway;
  const dir = used.world.repository;
  const { sessionId, pid } = await api.ask({ agent: "claude-code", dir, prompt: "before", waitMs });
  const moved = await api.ask({ dir, sessionId, prompt: "/clear", allowCommands: true });
  expect(moved.delivered, "a command is not confirmed as a prompt").toBeNull();
  const next = await expectMoved(sessionId, pid);
  const after = await api.ask({ dir, sessionId: next, prompt: "after", waitMs });
  expect(after).toMatchObject({ delivered: true, pid });
  expect((await api.read(next)).turns.map(({ text }) => text)).toEqual(["after", echoOf("after")]);
  const resumed = await api.ask({ dir, sessionId, prompt: "once more", waitMs });
  expect(resumed).toMatchObject({ started: "resumed", sessionId });
  expect(resumed.pid).not.toBe(pid);
  await api.post("/api/coding/coding_close_all", {});
});

test("codex: /new opens a dialog that no prompt is pasted into; once it is answered, what waited goes to the next session", async () => {
  const { api } = used.gateway;
  const dir = used.world.repository;
  const { sessionId, pid } = await api.ask({ agent: "codex", dir, prompt: "before", waitMs });
  await api.ask({ dir, sessionId, prompt: "/new", allowCommands: true });
  await sleep(2_000);
  const waiting = await api.ask({ dir, sessionId, prompt: "after" });
  expect(waiting).toMatchObject({ delivered: null, queuedPrompts: 1 });
  const host = await connectTerminalHost({
    socketPath: join(used.world.home, "run", "host.sock"),
    stateDir: join(used.world.home, "terminal-host"),
    log: silentLog,
    clock: systemClock,
  });
  const terminal = (await host.list()).find((info) => info.pid === pid);
  await host.write(terminal?.terminalId ?? "", "\r");
  await host.close();
  const next = await expectMoved(sessionId, pid);
  await expect
    .poll(async () => (await api.read(next)).turns.map(({ text }) => text), { timeout: 10_000 })
    .toEqual(["after", echoOf("after")]);
  await api.post("/api/coding/coding_close_session", { sessionId: next });
});

test.for(["claude-code", "codex"])(
  "%s: spawn gives a terminal without a prompt, the same one again, and resumes it",
  async (agent) => {
    const { api } = used.gateway;
    const dir = used.world.repository;
    const spawned = await api.post<{ sessionId: string; pid: number }>("/api/coding/spawn", {
      agent,
      dir,
      cols: 100,
      rows: 30,
    });
    expect(spawned).toMatchObject({ status: 200, body: { status: "new" } });
    const { sessionId, pid } = spawned.body;
    const again = await api.post("/api/coding/spawn", { sessionId });
    expect(again.body).toEqual({ sessionId, pid, status: "reconnect" });
    const asked = await api.ask({ dir, sessionId, prompt: "into the waiting terminal", waitMs });
    expect(asked).toMatchObject({ delivered: true, pid });
    expect(asked.turns?.map(({ text }) => text)).toEqual([
      "into the waiting terminal",
      echoOf("into the waiting terminal"),
    ]);
    await api.post("/api/coding/coding_close_session", { sessionId });
    const resumed = await api.post("/api/coding/spawn", { sessionId });
    expect(resumed).toMatchObject({ status: 200, body: { sessionId, status: "resumed" } });
    await api.post("/api/coding/coding_close_session", { sessionId });
  },
);
