import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { PendingPermission } from "../../src/wire/coding.ts";
import type { LogPage, LogSearch } from "../../src/wire/logs.ts";
import type { ListOutput, SearchOutput } from "../../src/wire/session-lists.ts";
import type { ForgottenTraces } from "../../src/wire/terminal.ts";
import { createWorld, startGateway, type TestGateway, type World } from "../support/gateway.ts";
import { createTestDatabaseUrl } from "../support/postgres.ts";
import { newSentinel, tracesOf as wordsIn } from "../support/traces.ts";

const waitMs = 30_000;
const patience = { timeout: 30_000, interval: 100 };
const said = ["prompt", "thinking", "permission", "output", "answer", "second"] as const;
type Said = Readonly<Record<(typeof said)[number], string>>;

function newSentinels(): Said {
  const [prompt, thinking, permission, output, answer, second] = said.map(newSentinel);
  if (!(prompt && thinking && permission && output && answer && second)) throw new Error("There are six.");
  return { prompt, thinking, permission, output, answer, second };
}

/** What is traced in which files of the state folder. */
async function tracesOf(world: World, sentinels: Said): Promise<readonly string[]> {
  const traces = await wordsIn(
    world.home,
    said.map((what) => sentinels[what]),
  );
  return traces.map(({ word, file }) => `${said.find((what) => sentinels[what] === word)} in ${file}`);
}

/** The files with traces, whatever it is that they hold. */
async function tracedFiles(world: World, sentinels: Said): Promise<readonly string[]> {
  const traces = await tracesOf(world, sentinels);
  return [...new Set(traces.map((trace) => trace.split(" in ")[1]?.replace(/-wal$/, "") ?? ""))].toSorted();
}

function talksTo(gateway: () => TestGateway, dir: () => string) {
  async function search(query: string): Promise<readonly string[]> {
    const { body } = await gateway().api.post<SearchOutput>("/api/coding/coding_search_sessions", { query, in: "all" });
    return body.sessions.map(({ sessionId }) => sessionId);
  }

  /** One prompt, by which the session is found when it is closed. */
  async function say(word: string, to: { readonly sessionId: string } | { readonly agent: string }): Promise<string> {
    const { api } = gateway();
    const { sessionId } = await api.ask({ ...to, dir: dir(), prompt: `say ${word}`, waitMs });
    await api.post("/api/coding/coding_close_session", { sessionId });
    // The record's title is found before the transcript is indexed.
    const { turnCount } = await api.read(sessionId);
    await expect.poll(async () => (await listed(sessionId))?.turnCount, patience).toBe(turnCount);
    await expect.poll(() => search(word), patience).toEqual([sessionId]);
    return sessionId;
  }

  async function listed(sessionId: string) {
    const { body } = await gateway().api.post<ListOutput>("/api/coding/coding_list_sessions", {});
    return body.sessions.find((session) => session.sessionId === sessionId);
  }

  return {
    search,
    say,
    /** A session of two turns, with a tool that needed leave, found by all that was said in it, and closed. */
    async converse(agent: string, sentinels: Said): Promise<string> {
      const { api } = gateway();
      const { prompt, thinking, permission, output, answer, second } = sentinels;
      const lines = [`about ${prompt}`, `think ${thinking}`, `write ${permission}.txt with ${permission}`];
      const asked = await api.ask({
        agent,
        dir: dir(),
        prompt: [...lines, `run echo ${output}`, `say ${answer}`].join("\n"),
        waitMs,
      });
      const { sessionId } = asked;
      let permissions: readonly PendingPermission[] = asked.permissions;
      while (permissions[0] !== undefined) {
        const { permissionId } = permissions[0];
        await api.post("/api/coding/coding_answer_permission", { sessionId, permissionId, decision: "allow" });
        const next = async () => {
          const now = await api.read(sessionId);
          permissions = now.permissions.filter((one) => one.permissionId !== permissionId);
          return now.activity === "idle" || permissions.length > 0;
        };
        await expect.poll(next, patience).toBe(true);
      }
      return say(second, { sessionId });
    },
    async forget(sessionId: string): Promise<ForgottenTraces> {
      const { app, url } = gateway();
      const { accountId } = await app.accounts.owner();
      const token = { name: "forget", scopes: ["coding:drive"], folders: null, expiresAt: null } as const;
      const headers = { authorization: `Bearer ${(await app.accounts.tokens.create(accountId, token)).token}` };
      const response = await fetch(`${url}/api/coding/sessions/${sessionId}/traces`, { method: "DELETE", headers });
      expect(response.status).toBe(200);
      return response.json();
    },
    listed,
  };
}

// What was remembered before is another matter.
const config = { memory: { record: "off" } };

describe("a session that is forgotten", () => {
  let world: World;
  let gateway: TestGateway;
  beforeAll(async () => {
    world = await createWorld({ agents: "scripted", config });
    gateway = await startGateway(world);
  });
  afterAll(async () => {
    await gateway.close();
    await world.close();
  });
  const { converse, say, forget, listed, search } = talksTo(
    () => gateway,
    () => world.repository,
  );
  const other = newSentinels();
  let begun: string | null = null;
  /** Another session, started by the first test that needs it. */
  const another = async (): Promise<string> => (begun ??= await say(other.prompt, { agent: "scripted" }));

  test("nothing that was said in it is in any file, and only what is said later is found again", {
    timeout: 90_000,
  }, async () => {
    const { api } = gateway;
    const sentinels = newSentinels();
    const kept = await another();
    const sessionId = await converse("scripted", sentinels);
    expect((await listed(sessionId))?.title).toContain(sentinels.prompt);
    const traced = await tracedFiles(world, sentinels);
    expect(traced).toContain("catalog.db");
    expect(traced).toContain("postern.db");
    expect(traced.some((file) => file.endsWith("inbox.jsonl"))).toBe(true);
    expect(traced.some((file) => file.endsWith(".raw"))).toBe(true);

    const gone = await forget(sessionId);
    expect(gone).toMatchObject({ sessionId, recordings: 1, hookInboxes: 1, kept: 0, pending: false });
    expect(await tracesOf(world, sentinels)).toEqual([]);
    expect(gone.transcript).toContain(sessionId);
    expect(await readFile(gone.transcript ?? "", "utf8")).toContain(sentinels.prompt);
    expect(gone.message).toContain(gone.transcript);

    const { turns, title } = await api.read(sessionId);
    expect(turns.length).toBeGreaterThanOrEqual(4);
    expect(title).toContain(sentinels.prompt);
    expect(await listed(sessionId)).toMatchObject({ title: null, turnCount: turns.length, status: "completed" });
    for (const what of said) expect(await search(sentinels[what])).toEqual([]);
    expect(await search(other.prompt)).toEqual([kept]);
    expect(await tracesOf(world, sentinels)).toEqual([]);

    const later = newSentinel();
    await say(later, { sessionId });
    // Its agent has shown the old conversation again, and that is recorded. The file that it wrote still exists, also for the next comparison.
    const isNew = (file: string): boolean => file.endsWith(".raw") || file.startsWith("turns/");
    expect((await tracedFiles(world, sentinels)).filter((file) => !isNew(file))).toEqual([]);
    for (const what of said) expect(await search(sentinels[what])).toEqual([]);
    expect(await listed(sessionId)).toMatchObject({ title: `say ${later}` });
  });

  test("with readers in the way it is pending, and done when they are gone, or at the next start", {
    timeout: 90_000,
  }, async () => {
    const files = ["catalog.db", "postern.db"];
    const kept = await another();
    const [catalog, store] = files.map((file) => hold(join(world.home, file)));
    const gone = await forget(kept);
    expect(gone).toMatchObject({ pending: true, message: expect.stringContaining("in the background") });
    expect(await tracedFiles(world, other)).toEqual(files);
    catalog?.();
    await expect.poll(() => tracedFiles(world, other), patience).toEqual(["postern.db"]);
    await gateway.close();
    expect(await tracedFiles(world, other)).toEqual(["postern.db"]);
    store?.();
    await setConfig(world, { memory: { record: "close" } });
    gateway = await startGateway(world);
    await expect.poll(() => tracedFiles(world, other), patience).toEqual([]);
    expect(await listed(kept)).toMatchObject({ title: null });
    expect(await search(other.prompt)).toEqual([]);
  });

  test("later turns are saved to memory automatically, and no earlier ones", { timeout: 60_000 }, async () => {
    const kept = await another();
    const later = newSentinel();
    await say(later, { sessionId: kept });
    const remembered = async () => (await gateway.api.get<LogPage>(`/api/v1/logs?sessionId=${kept}`)).body.logs;
    await expect.poll(remembered, patience).toMatchObject([{ title: null }]);
    const { body: found } = await gateway.api.get<LogSearch>(`/api/v1/search?q=${later}`);
    expect(found.hits).toHaveLength(1);
    // The agent shows what was said before in its new terminal, which is recorded.
    const traced = await tracedFiles(world, other);
    expect(traced.filter((file) => file.endsWith(".db"))).toEqual([]);
  });
});

describe("a session that is forgotten, on PostgreSQL", () => {
  let world: World;
  let gateway: TestGateway;
  let url: string;
  beforeAll(async () => {
    url = await createTestDatabaseUrl();
    world = await createWorld({ agents: "scripted", config, env: { POSTERN_DATABASE_URL: url } });
    gateway = await startGateway(world);
  });
  afterAll(async () => {
    await gateway.close();
    await world.close();
  });
  const { say, forget, listed, search } = talksTo(
    () => gateway,
    () => world.repository,
  );

  /** The tables in which any of it stands, in any case. */
  async function tracedTables(sentinels: Said): Promise<readonly string[]> {
    const client = new pg.Client(url);
    await client.connect();
    const { rows } = await client.query<{ name: string }>(
      "select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname in ('public', 'catalog')",
    );
    const traced: string[] = [];
    for (const { name } of rows) {
      const found = await client.query(`select 1 from ${name} as row where lower(row::text) like any ($1) limit 1`, [
        Object.values(sentinels).map((sentinel) => `%${sentinel}%`),
      ]);
      if (found.rowCount) traced.push(name);
    }
    await client.end();
    return traced.toSorted();
  }

  test("nothing of it is in any row, nor in any file", { timeout: 90_000 }, async () => {
    const sentinels = newSentinels();
    const sessionId = await say(sentinels.second, { agent: "scripted" });
    expect(await tracedTables(sentinels)).toEqual(
      expect.arrayContaining(["catalog.text_parts", "catalog.transcripts", "public.sessions"]),
    );
    expect(await forget(sessionId)).toMatchObject({ recordings: 1, hookInboxes: 1, pending: false });
    expect(await tracedTables(sentinels)).toEqual([]);
    expect(await tracesOf(world, sentinels)).toEqual([]);
    expect(await listed(sessionId)).toMatchObject({ title: null });
    expect(await search(sentinels.second)).toEqual([]);
  });
});

/** For the next gateway. */
async function setConfig({ home }: World, changes: object): Promise<void> {
  const path = join(home, "config.json");
  const known: unknown = JSON.parse(await readFile(path, "utf8"));
  await writeFile(path, JSON.stringify(Object.assign({}, known, changes)));
}

/** Reads a file of SQLite as it is now, until the returned function is called. */
function hold(path: string): () => void {
  const reader = new DatabaseSync(path, { readOnly: true });
  reader.exec("begin");
  reader.prepare("select count(*) from sqlite_master").all();
  return () => reader.close();
}
