import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { SessionSummary } from "../../src/wire/coding.ts";
import { createWorld, startGateway, type TestGateway, type World } from "../support/gateway.ts";
import { agentsOf, hostsOf } from "../support/storm-processes.ts";

const sessions = 40;
const waitMs = 60_000;
let world: World;
let gateway: TestGateway;
beforeAll(async () => {
  world = await createWorld({ agents: "scripted", config: { maxSessions: sessions + 5 } });
  gateway = await startWith("off");
});
afterAll(async () => {
  await gateway.close();
  await world.close();
});

function startWith(idleTimeout: string): Promise<TestGateway> {
  return startGateway({ ...world, env: { ...world.env, POSTERN_IDLE_TIMEOUT: idleTimeout } });
}

/** The next gateway finds the agents of the one before. */
async function restartWith(idleTimeout: string): Promise<void> {
  await gateway.close();
  gateway = await startWith(idleTimeout);
}

/** The terminal host and all agents. */
function running(): readonly number[] {
  return [...hostsOf(world), ...agentsOf(world)];
}

/** Of the host and the agents, with shared pages counted once, in MiB. */
function memoryMb(): number {
  const kib = running().map((pid) =>
    Number(/^Pss: +(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1]),
  );
  return Math.round(kib.reduce((sum, one) => sum + one, 0) / 1024);
}

function figures(): { readonly processes: number; readonly mb: number } {
  return { processes: running().length, mb: memoryMb() };
}

function ask(prompt: string, sessionId?: string) {
  const to = sessionId === undefined ? { agent: "scripted" } : { sessionId };
  return gateway.api.ask({ ...to, dir: world.repository, prompt, waitMs });
}

async function keep(sessionId: string, keepRunning: boolean): Promise<SessionSummary> {
  const path = "/api/coding/coding_keep_session";
  const { status, body } = await gateway.api.post<SessionSummary>(path, { sessionId, keepRunning });
  expect(status).toBe(200);
  return body;
}

async function untilEnded(sessionIds: readonly string[]): Promise<void> {
  for (const sessionId of sessionIds) {
    await expect
      .poll(() => gateway.api.read(sessionId), { timeout: 120_000, interval: 200 })
      .toMatchObject({ status: "completed", activity: null, idleEndsAt: null, exitCode: 0 });
  }
}

test(`${sessions} idle agents end, also after a restart, and each session resumes once with its conversation`, async () => {
  const kept = await ask("say kept");
  expect(kept).toMatchObject({ keepRunning: false, idleEndsAt: null });
  await keep(kept.sessionId, true);
  const before = figures();
  const ids: string[] = [];
  for (let nth = 0; nth < sessions; nth += 1) ids.push((await ask(`say word${nth}`)).sessionId);
  const full = figures();
  expect(full.processes).toBe(before.processes + sessions);

  await restartWith("3s");
  await untilEnded(ids);
  const after = figures();
  console.info("terminal host and agents, MiB and processes:", { before, full, after });
  expect(after.processes).toBe(before.processes);
  expect(after.mb).toBeLessThan(before.mb + (full.mb - before.mb) * 0.15);
  expect(await gateway.api.read(kept.sessionId)).toMatchObject({ status: "running", pid: kept.pid, idleEndsAt: null });

  for (const [nth, sessionId] of ids.entries()) {
    expect((await gateway.api.read(sessionId)).endedAfterIdleMs).toBeGreaterThanOrEqual(3_000);
    const answer = await ask(`say again${nth}`, sessionId);
    expect(answer).toMatchObject({ sessionId, started: "resumed", delivered: true, endedAfterIdleMs: null });
    const { turns } = await gateway.api.read(sessionId);
    expect(turns.map(({ text }) => text)).toEqual([`say word${nth}`, `word${nth}`, `say again${nth}`, `again${nth}`]);
    const request = world.modelServer.requests.findLast(({ body }) => body.includes(`"say again${nth}"`));
    expect(request?.body, "the agent remembers").toContain(`"say word${nth}"`);
  }
  await untilEnded(ids);
  expect(running()).toHaveLength(before.processes);
  const released = await keep(kept.sessionId, false);
  expect(Date.parse(released.idleEndsAt ?? "")).toBeGreaterThan(Date.now());
  await untilEnded([kept.sessionId]);
}, 900_000);

test("prompts that arrive in the moments around an agent's end reach it once, before or after a resume", async () => {
  await restartWith("1s");
  const first = await Promise.all(Array.from({ length: 6 }, () => ask("say begin")));
  const resumed = await Promise.all(
    first.map(async ({ sessionId }, nth) => {
      let resumes = 0;
      for (let round = 0; round < 4; round += 1) {
        const { idleEndsAt } = await gateway.api.read(sessionId);
        const endsAt = idleEndsAt === null ? Date.now() : Date.parse(idleEndsAt);
        await sleep(Math.max(0, endsAt - Date.now() + nth * 25));
        const { started } = await ask(`say round${round}`, sessionId);
        if (started === "resumed") resumes += 1;
      }
      const prompts = (await gateway.api.read(sessionId)).turns.filter(({ role }) => role === "user");
      const rounds = ["begin", "round0", "round1", "round2", "round3"];
      expect(prompts.map(({ text }) => text)).toEqual(rounds.map((word) => `say ${word}`));
      return resumes;
    }),
  );
  expect(Math.max(...resumed)).toBeGreaterThan(0);
}, 300_000);
