import { expect, test } from "vitest";
import { echoOf } from "../model-server/script.ts";
import { createWorld, startGateway } from "../support/gateway.ts";
import { createTestDatabaseUrl } from "../support/postgres.ts";

const waitMs = 30_000;

test("a gateway whose store is PostgreSQL asks both agents, and the next one on it takes their sessions up", async () => {
  const databaseUrl = await createTestDatabaseUrl();
  const world = await createWorld({ agents: true, env: { POSTERN_DATABASE_URL: databaseUrl } });
  const first = await startGateway(world);
  const dir = world.repository;
  const claude = await first.api.ask({ agent: "claude-code", dir, prompt: "run env", permissionMode: "all", waitMs });
  expect(JSON.stringify(claude.turns), "the store's address is the gateway's own").not.toContain(databaseUrl);
  const codex = await first.api.ask({ agent: "codex", dir, prompt: "hello", waitMs });
  expect(codex.sessionAliases).toHaveLength(1);
  await first.close();
  const second = await startGateway(world);
  for (const { sessionId, pid } of [claude, codex]) {
    const asked = await second.api.ask({ dir, sessionId, prompt: "still there?", permissionMode: "all", waitMs });
    expect(asked).toMatchObject({ started: "reconnect", delivered: true, pid });
    expect(asked.turns?.map(({ text }) => text)).toEqual(["still there?", echoOf("still there?")]);
  }
  await second.api.post("/api/coding/coding_close_all", {});
  await second.close();
  await world.close();
});
