import { cp } from "node:fs/promises";
import { join } from "node:path";
import { expect, inject, onTestFinished, test } from "vitest";
import type { ListInput, ListOutput } from "../../src/wire/coding.ts";
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

/** An agent in a terminal of its own, with the state folder of the gateway's agents. */
async function startElsewhere(agent: "claude" | "codex", prompt: string): Promise<RawAgent> {
  const { world } = here;
  const stateDir = agent === "claude" ? world.env["CLAUDE_CONFIG_DIR"] : world.env["CODEX_HOME"];
  const raw = await startRawAgent({
    agent,
    binary: inject("agents")[agent],
    modelServerUrl: world.modelServer.url,
    prompt,
  });
  onTestFinished(() => raw.close());
  // Its transcripts appear where the gateway's agents have theirs.
  const [from, to] = agent === "claude" ? ["projects", "projects"] : ["sessions", "sessions"];
  await expect
    .poll(async () => {
      await cp(join(raw.stateDir, from), join(stateDir ?? "", to), { recursive: true, force: true }).catch(
        () => undefined,
      );
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
  const claude = await startElsewhere("claude", "say three of a person");
  await startElsewhere("codex", "say four of a person");
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

  for (const { sessionId, title, turnCount, updatedAt, sizeBytes } of all.sessions) {
    const read = await gateway.api.read(sessionId);
    expect({ title, turnCount, sizeBytes }).toEqual({
      title: read.title,
      turnCount: read.turnCount,
      sizeBytes: read.sizeBytes,
    });
    expect(Math.abs(Date.parse(read.updatedAt) - Date.parse(updatedAt))).toBeLessThan(5_000);
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
