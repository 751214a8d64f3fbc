import { appendFile, copyFile, mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newUuid } from "../../src/core/ids.ts";
import type { SearchInput, SearchOutput } from "../../src/wire/session-lists.ts";
import { createWorld, startGateway, type TestGateway, type World } from "../support/gateway.ts";
import { createTestDatabaseUrl } from "../support/postgres.ts";

const timeout = 20_000;
const codexFixture = join(import.meta.dirname, "../../src/transcripts/fixtures/codex-0.47.0-tools.jsonl");

describe.each(["SQLite", "PostgreSQL"])("a search over what agents wrote, with %s", (dialect) => {
  let world: World;
  let gateway: TestGateway;

  beforeAll(async () => {
    const env = dialect === "SQLite" ? {} : { POSTERN_DATABASE_URL: await createTestDatabaseUrl() };
    world = await createWorld({ agents: false, env });
    gateway = await startGateway(world);
  });

  afterAll(async () => {
    await gateway?.close();
    await world?.close();
  });

  const line = (value: object): string => `${JSON.stringify(value)}\n`;
  const fileOf = (sessionId: string): string => join(world.root, "claude", "projects", "-p", `${sessionId}.jsonl`);

  function prompt(sessionId: string, text: string, cwd = world.repository): string {
    const timestamp = new Date().toISOString();
    return line({ type: "user", message: { role: "user", content: text }, sessionId, cwd, timestamp, uuid: newUuid() });
  }

  function answer(sessionId: string, text: string): string {
    const message = { role: "assistant", content: [{ type: "text", text }], stop_reason: "end_turn" };
    return line({ type: "assistant", message, sessionId, timestamp: new Date().toISOString(), uuid: newUuid() });
  }

  async function write(content: (sessionId: string) => string): Promise<string> {
    const sessionId = newUuid();
    await mkdir(dirname(fileOf(sessionId)), { recursive: true });
    await writeFile(fileOf(sessionId), content(sessionId));
    return sessionId;
  }

  async function search(input: SearchInput, api = gateway.api): Promise<SearchOutput> {
    const { status, body } = await api.post<SearchOutput>("/api/coding/coding_search_sessions", input);
    expect(status, JSON.stringify(body)).toBe(200);
    return body;
  }

  const ids = async (input: SearchInput): Promise<readonly string[]> =>
    (await search(input)).sessions.map(({ sessionId }) => sessionId);

  test("finds what is new, what grows, and no longer what is gone", async () => {
    const sessionId = await write(
      (id) => prompt(id, "Repariere die Anmeldeseite 登录页面") + answer(id, "Es lag am Keks."),
    );
    await expect.poll(() => ids({ query: "anmelde" }), { timeout }).toEqual([sessionId]);
    expect(await ids({ query: "登录" })).toEqual([sessionId]);
    expect(await ids({ query: "keks" })).toEqual([]);
    const found = await search({ query: "keks", in: "all" });
    expect(found).toMatchObject({ total: 1, limit: 10, offset: 0, hasMore: false });
    expect(found.sessions[0]).toMatchObject({
      sessionId,
      agent: "claude-code",
      dir: world.repository,
      title: "Repariere die Anmeldeseite 登录页面",
      status: "completed",
      turnCount: 2,
      match: { field: "turn", turnIndex: 1, snippet: "Es lag am Keks." },
    });
    await appendFile(fileOf(sessionId), prompt(sessionId, "Und die Fußzeile?") + answer(sessionId, "Auch GETAN"));
    await expect.poll(() => ids({ query: "fusszeile getan", in: "all" }), { timeout }).toEqual([sessionId]);
    expect((await search({ query: '"auch getan"', in: "all" })).sessions[0]?.match.turnIndex).toBe(3);
    await rm(fileOf(sessionId));
    await expect.poll(() => ids({ query: "anmelde", in: "all" }), { timeout }).toEqual([]);
  });

  test("finds sessions of the other agent by its name too, and none of a hidden folder", async () => {
    const codexId = "0199e3f5-1111-7222-8333-444455556666";
    const rollout = join(world.root, "codex/sessions/2025/10/15", `rollout-2025-10-15T10-00-00-${codexId}.jsonl`);
    await mkdir(dirname(rollout), { recursive: true });
    await copyFile(codexFixture, rollout);
    const inside = await write((id) => prompt(id, "shared words of a visible session"));
    const outside = await write((id) => prompt(id, "shared words of a hidden session", "/somewhere/else"));
    await expect.poll(() => ids({ query: "shared words" }), { timeout }).toHaveLength(2);
    await expect.poll(() => ids({ query: "done with", in: "all", agent: "agent_b" }), { timeout }).toEqual([codexId]);
    await gateway.app.folders.add(world.repository, ["coding"]);
    expect(await search({ query: "shared words", in: "all" })).toMatchObject({
      total: 1,
      sessions: [{ sessionId: inside }],
    });
    expect(await search({ query: "hidden" })).toMatchObject({ total: 0, sessions: [], hasMore: false });
    await gateway.app.folders.remove(world.repository);
    expect(await ids({ query: "shared words", dir: "/somewhere" })).toEqual([outside]);
    expect(await ids({ query: "shared words", agent: "codex" })).toEqual([]);
  });

  test("refuses what is no search, and who may not read", async () => {
    const refused = async (input: unknown) => gateway.api.post("/api/coding/coding_search_sessions", input);
    for (const input of [
      { query: "" },
      { query: "?!" },
      { query: "x", limit: 0 },
      { query: "x", limit: 201 },
      { query: "x", limit: 1.5 },
      { query: "x", offset: -1 },
      { query: "x", in: "files" },
      { query: "x", dir: "relative" },
      { query: "x", typo: 1 },
      {},
    ]) {
      expect(await refused(input), JSON.stringify(input)).toMatchObject({
        status: 400,
        body: { code: "invalid_request" },
      });
    }
    expect(await refused({ query: "x", agent: "nobody" })).toMatchObject({
      status: 404,
      body: { code: "agent_unknown" },
    });
    const writer = await gateway.client(["coding:write"]);
    const answered = await writer.post("/api/coding/coding_search_sessions", { query: "x" });
    expect(answered).toMatchObject({ status: 403, body: { code: "insufficient_scope" } });
  });
});
