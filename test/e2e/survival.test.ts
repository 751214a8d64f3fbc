import { existsSync } from "node:fs";
import { afterEach, beforeEach, expect, test } from "vitest";
import { echoOf } from "../model-server/script.ts";
import { createWorld, type World } from "../support/gateway.ts";
import { prepareStore } from "../support/prepared-store.ts";
import { serveWorld } from "../support/serving-gateway.ts";

let world: World;
let token: string;
beforeEach(async () => {
  world = await createWorld({ agents: true });
  token = await prepareStore(world);
});
afterEach(() => world.close());

const waitMs = 30_000;

const agents = ["claude-code", "codex"] as const;

test("agents live on when the gateway is killed in mid-turn: the next gateway finds the same processes and the whole turns", async () => {
  const first = await serveWorld(world, token);
  const prompt = "slow 5000\nsay the whole long answer\nlines 50";
  const begun = await Promise.all(
    agents.map(async (agent) => ({
      agent,
      asked: await first.api.ask({ agent, dir: world.repository, prompt }),
    })),
  );
  for (const { agent, asked } of begun) expect(asked, agent).toMatchObject({ delivered: true, activity: "working" });
  await first.server.end("SIGKILL");
  for (const { agent, asked } of begun) expect(existsSync(`/proc/${asked.pid}`), agent).toBe(true);

  const second = await serveWorld(world, token);
  for (const { agent, asked } of begun) {
    const { sessionId } = asked;
    const found = await second.api.read(sessionId);
    expect(found, agent).toMatchObject({ pid: asked.pid, status: "running" });
    let read = found;
    for (let looks = 0; read.activity !== "idle" && looks < 50; looks += 1)
      read = await second.api.read(sessionId, { waitMs });
    const roles = read.turns.map(({ role }) => role);
    expect(roles, agent).toEqual(["user", "assistant"]);
    expect(read.turns[1]?.text, agent).toContain("the whole long answer");
    expect(read.turns[1]?.text, agent).toContain("Line 50 of 50");

    const next = await second.api.ask({ dir: world.repository, sessionId, prompt: "and on", waitMs });
    expect(next, agent).toMatchObject({ started: "reconnect", delivered: true, pid: asked.pid });
    const texts = next.turns?.map(({ text }) => text);
    expect(texts, agent).toEqual(["and on", echoOf("and on")]);
  }
  await second.server.end("SIGTERM");
  for (const { agent, asked } of begun)
    expect(existsSync(`/proc/${asked.pid}`), `a stopped gateway leaves its agents alone: ${agent}`).toBe(true);
});
