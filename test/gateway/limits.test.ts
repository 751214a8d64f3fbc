import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { echoOf } from "../model-server/script.ts";
import { createWorld, startGateway, type TestGateway, type World } from "../support/gateway.ts";

let world: World;
let gateway: TestGateway;
beforeAll(async () => {
  world = await createWorld({ agents: "scripted", config: { maxSessions: 1 } });
  gateway = await startGateway(world);
});
afterAll(async () => {
  await gateway.close();
  await world.close();
});

const waitMs = 30_000;

test("a resume that finds no room is refused, and made again later it is one prompt, under the same key too", async () => {
  const { api } = gateway;
  const dir = world.repository;
  const { sessionId } = await api.ask({ agent: "scripted", dir, prompt: "one", waitMs });
  await api.post("/api/coding/coding_close_session", { sessionId });
  const other = await api.ask({ agent: "scripted", dir, prompt: "in the way", waitMs });
  const request = { dir, sessionId, prompt: "two", idempotencyKey: "again", waitMs };
  for (let attempt = 0; attempt < 2; attempt += 1) {
    const refused = await api.post("/api/coding/coding_ask", request);
    expect(refused).toMatchObject({ status: 429, body: { code: "too_many_sessions" } });
  }
  expect(await api.read(sessionId)).toMatchObject({ status: "completed", queuedPrompts: 0 });
  expect((await api.read(sessionId)).closedAt, "it is as closed as before").not.toBeNull();
  await api.post("/api/coding/coding_close_session", { sessionId: other.sessionId });
  const asked = await api.ask(request);
  expect(asked).toMatchObject({ started: "resumed", delivered: true });
  expect((await api.read(sessionId)).turns.map(({ text }) => text)).toEqual([
    "one",
    echoOf("one"),
    "two",
    echoOf("two"),
  ]);
  await api.post("/api/coding/coding_close_session", { sessionId });
});

test("a session of a sub-folder that is asked by its repository is resumed in the sub-folder", async () => {
  const { api } = gateway;
  const dir = join(world.repository, "sub");
  await mkdir(dir);
  const { sessionId } = await api.ask({ agent: "scripted", dir, prompt: "below", waitMs });
  await api.post("/api/coding/coding_close_session", { sessionId });
  const asked = await api.ask({ dir: world.repository, sessionId, prompt: "run pwd", permissionMode: "all", waitMs });
  expect(asked).toMatchObject({ started: "resumed", delivered: true, dir, sessionId });
  expect(asked.turns?.[1]?.text).toContain(dir);
  await api.post("/api/coding/coding_close_session", { sessionId });
});
