import { expect, test } from "vitest";
import { echoOf } from "../model-server/script.ts";
import { createWorld, startGateway } from "../support/gateway.ts";
import { createTestDatabaseUrl } from "../support/postgres.ts";

const waitMs = 30_000;

test("a gateway whose store is PostgreSQL asks an agent, and the next one on it takes its sessions up", async () => {
  const databaseUrl = await createTestDatabaseUrl();
  const world = await createWorld({ agents: "scripted", env: { POSTERN_DATABASE_URL: databaseUrl } });
  const first = await startGateway(world);
  const dir = world.repository;
  const one = await first.api.ask({ agent: "scripted", dir, prompt: "run env", permissionMode: "all", waitMs });
  expect(JSON.stringify(one.turns), "the store's address is the gateway's own").not.toContain(databaseUrl);
  const other = await first.api.ask({ agent: "scripted", dir, prompt: "hello", waitMs });
  await first.close();
  const second = await startGateway(world);
  for (const { sessionId, pid } of [one, other]) {
    const asked = await second.api.ask({ dir, sessionId, prompt: "still there?", permissionMode: "all", waitMs });
    expect(asked).toMatchObject({ started: "reconnect", delivered: true, pid });
    expect(asked.turns?.map(({ text }) => text)).toEqual(["still there?", echoOf("still there?")]);
  }
  await second.api.post("/api/coding/coding_close_all", {});
  await second.close();
  await world.close();
});
