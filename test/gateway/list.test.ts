import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { spawn } from "@lydell/node-pty";
import { expect, onTestFinished, test, vi } from "vitest";
import type { ListInput, ListOutput } from "../../src/wire/session-lists.ts";
import { scriptedBinDir } from "../scripted-agent/scripted-agent.ts";
import { runPostern } from "../support/postern-process.ts";
import { useGateway } from "../support/use-gateway.ts";

const here = useGateway({ agents: "scripted" });
const waitMs = 30_000;
const patience = { timeout: 30_000, interval: 100 };

async function list(input: ListInput = {}): Promise<ListOutput> {
  const { status, body } = await here.gateway.api.post<ListOutput>("/api/coding/coding_list_sessions", input);
  expect(status).toBe(200);
  return body;
}

/** An agent that a person runs in a terminal, with the state folder of the gateway's. */
async function startElsewhere(prompt: string): Promise<{ readonly dir: string }> {
  const { world } = here;
  const dir = join(world.root, "elsewhere");
  await mkdir(dir);
  const env = { ...world.env, TERM: "xterm-256color" };
  const pty = spawn(join(scriptedBinDir, "scripted"), ["--", prompt], { cwd: dir, env });
  const exited = new Promise<void>((resolve) => pty.onExit(() => resolve()));
  onTestFinished(async () => {
    pty.kill("SIGKILL");
    await exited;
  });
  return { dir };
}

test("sessions of the gateway and of others are listed, with what each does", async () => {
  const { world, gateway } = here;
  const dir = world.repository;
  const mine = await gateway.api.ask({ agent: "scripted", dir, prompt: "say one of mine", waitMs });
  const other = await gateway.api.ask({ agent: "scripted", dir, prompt: "say two of mine", waitMs });
  const elsewhere = await startElsewhere("say three of a person");
  const theirs = { title: "say three of a person", turnCount: 2, status: "running", owner: "external" };
  const listed = async () => (await list({ dir: elsewhere.dir })).sessions;
  await expect.poll(listed, patience).toMatchObject([{ ...theirs, dir: elsewhere.dir, agent: "scripted" }]);
  await expect.poll(async () => (await list()).indexing, patience).toBeNull();

  const all = await list();
  expect(all).toMatchObject({ total: 3, hasMore: false });
  expect(all.sessions.map(({ updatedAt }) => updatedAt)).toEqual(
    all.sessions
      .map(({ updatedAt }) => updatedAt)
      .toSorted()
      .toReversed(),
  );
  const byTitle = Object.fromEntries(all.sessions.map((session) => [session.title, session]));
  const live = { status: "running", activity: "idle", owner: "gateway", dir, turnCount: 2 };
  expect(byTitle["say one of mine"]).toMatchObject({ ...live, sessionId: mine.sessionId, agent: "scripted" });
  expect(byTitle["say two of mine"]).toMatchObject({ ...live, sessionId: other.sessionId, agent: "scripted" });

  for (const { sessionId } of all.sessions) {
    // An agent may write a line after its turn, and the list hears of it a moment later.
    await vi.waitFor(async () => {
      const read = await gateway.api.read(sessionId);
      const listed = (await list()).sessions.find((session) => session.sessionId === sessionId);
      expect(listed).toMatchObject({ title: read.title, turnCount: read.turnCount, sizeBytes: read.sizeBytes });
      const apartMs = Date.parse(read.updatedAt) - Date.parse(listed?.updatedAt ?? "");
      expect(Math.abs(apartMs)).toBeLessThan(5_000);
    }, patience);
  }

  expect(await list({ agent: "scripted" })).toMatchObject({ total: 3 });
  expect(await list({ agent: "agent_a" })).toMatchObject({ total: 0 });
  expect(await list({ dir })).toMatchObject({ total: 2 });
  expect(await list({ status: "running", dir })).toMatchObject({ total: 2 });
  await gateway.api.post("/api/coding/coding_close_session", { sessionId: mine.sessionId });
  const closed = (await list({ status: "completed", dir })).sessions;
  expect(closed).toMatchObject([{ sessionId: mine.sessionId, activity: null, owner: null, turnCount: 2 }]);
  expect(closed[0]?.closedAt).not.toBeNull();

  const printed = await runPostern(["coding", "list", "--dir", dir], { env: { ...world.env } });
  expect(printed.stdout).toContain("say one of mine");
  expect(printed.stdout).not.toContain("of a person");
});

test("invalid input and unknown agents are refused", async () => {
  const { api } = here.gateway;
  for (const body of [
    { limit: 0 },
    { limit: 201 },
    { offset: -1 },
    { since: "yesterday" },
    { dir: "relative" },
    { x: 1 },
  ]) {
    expect(await api.post("/api/coding/coding_list_sessions", body)).toMatchObject({
      status: 400,
      body: { code: "invalid_request" },
    });
  }
  expect(await api.post("/api/coding/coding_list_sessions", { agent: "nobody" })).toMatchObject({
    status: 404,
    body: { code: "agent_unknown" },
  });
});
