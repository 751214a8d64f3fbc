import { existsSync } from "node:fs";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { expect, inject, onTestFinished, test, vi } from "vitest";
import type { ListInput, ListOutput } from "../../src/wire/session-lists.ts";
import { runPostern } from "../support/postern-process.ts";
import { type RawAgent, startRawAgent } from "../support/raw-agent.ts";
import { useGateway } from "../support/use-gateway.ts";

const here = useGateway({ agents: true });
const waitMs = 30_000;
const patience = { timeout: 30_000, interval: 100 };

async function list(input: ListInput = {}): Promise<ListOutput> {
  const { status, body } = await here.gateway.api.post<ListOutput>("/api/coding/coding_list_sessions", input);
  expect(status).toBe(200);
  return body;
}

/** An agent that a person runs in a terminal, with the state folder of the gateway's. */
async function startCodexElsewhere(prompt: string): Promise<RawAgent> {
  const { world } = here;
  const raw = await startRawAgent({
    agent: "codex",
    binary: inject("agents").codex,
    modelServerUrl: world.modelServer.url,
    prompt,
    env: { CODEX_HOME: world.env["CODEX_HOME"] ?? "" },
  });
  onTestFinished(() => raw.close());
  return raw;
}

/** The same, whose transcript comes to the gateway's state folder as one of before: the folder's first-run dialogs were not answered. */
async function startClaudeElsewhere(prompt: string): Promise<RawAgent> {
  const { world } = here;
  const raw = await startRawAgent({
    agent: "claude",
    binary: inject("agents").claude,
    modelServerUrl: world.modelServer.url,
    prompt,
  });
  onTestFinished(() => raw.close());
  const theirs = join(raw.stateDir, "projects");
  const ours = join(world.env["CLAUDE_CONFIG_DIR"] ?? "", "projects");
  await expect
    .poll(async () => {
      if (existsSync(theirs)) await cp(theirs, ours, { recursive: true, force: true });
      return (await list()).sessions.some(({ title, turnCount }) => title === prompt && turnCount === 2);
    }, patience)
    .toBe(true);
  return raw;
}

test("sessions of the gateway and of others are listed, with what each does", async () => {
  const { world, gateway } = here;
  const dir = world.repository;
  const mine = await gateway.api.ask({ agent: "claude-code", dir, prompt: "say one of mine", waitMs });
  const other = await gateway.api.ask({ agent: "codex", dir, prompt: "say two of mine", waitMs });
  const claude = await startClaudeElsewhere("say three of a person");
  const codex = await startCodexElsewhere("say four of a person");
  const theirs = { title: "say four of a person", turnCount: 2, status: "running", owner: "external", dir: codex.dir };
  await expect.poll(async () => (await list({ dir: codex.dir })).sessions, patience).toMatchObject([theirs]);
  await expect.poll(async () => (await list()).indexing, patience).toBeNull();

  const all = await list();
  expect(all).toMatchObject({ total: 4, hasMore: false });
  expect(all.sessions.map(({ updatedAt }) => updatedAt)).toEqual(
    all.sessions
      .map(({ updatedAt }) => updatedAt)
      .toSorted()
      .toReversed(),
  );
  const byTitle = Object.fromEntries(all.sessions.map((session) => [session.title, session]));
  const live = { status: "running", activity: "idle", owner: "gateway", dir, turnCount: 2 };
  expect(byTitle["say one of mine"]).toMatchObject({ ...live, sessionId: mine.sessionId, agent: "claude-code" });
  expect(byTitle["say two of mine"]).toMatchObject({ ...live, sessionId: other.sessionId, agent: "codex" });
  expect(byTitle["say three of a person"]).toMatchObject({ agent: "claude-code", dir: claude.dir, turnCount: 2 });

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

  expect(await list({ agent: "agent_a" })).toMatchObject({ total: 2 });
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

test("what does not fit is refused, and an agent that nobody knows", async () => {
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
