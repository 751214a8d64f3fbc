import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createWorld, killAndWait, startGateway, type TestGateway, type World } from "../support/gateway.ts";
import { prepareStore } from "../support/prepared-store.ts";
import { close, currentFactsOf, entriesOf, record, turnsOf } from "../support/remembered.ts";
import { serveWorld } from "../support/serving-gateway.ts";
import { useGateway } from "../support/use-gateway.ts";

const used = useGateway({ agents: "scripted", config: { memory: { record: "turn" } } });
const waitMs = 30_000;
const patience = { timeout: 20_000, interval: 100 };

test("a session that went on by /clear is over, and the next one is remembered by its own id", async () => {
  const { api } = used.gateway;
  const dir = used.world.repository;
  const { sessionId } = await api.ask({ agent: "scripted", dir, prompt: "say before", waitMs });
  await api.ask({ dir, sessionId, prompt: "/clear", allowCommands: true });
  await expect.poll(async () => (await api.read(sessionId)).continuedBy, patience).not.toBeNull();
  const next = (await api.read(sessionId)).continuedBy ?? "";
  await api.ask({ dir, sessionId: next, prompt: "say after", waitMs });
  await expect.poll(() => turnsOf(api, next), patience).toEqual([0, 1]);
  expect(await turnsOf(api, sessionId)).toEqual([0, 1]);
  expect(JSON.stringify(await entriesOf(api, sessionId))).toContain("before");
  expect(JSON.stringify(await entriesOf(api, next))).not.toContain("say before");
  await close(api, next);
});

test("a gateway that is killed records after its restart, a worktree counts as its repository, and it is done as often as is set", async () => {
  const world = await createWorld({ agents: "scripted", config: { memory: { record: "turn" } } });
  onTestFinished(() => world.close());
  const killed = await serveWorld(world, await prepareStore(world));
  const { repository: dir } = world;
  const prompt = "write src/a.txt with x\nsay Decision: the colour = blue";
  const place = { worktree: true, branch: "work/kept", baseBranch: "main" };
  const asked = await killed.api.ask({ agent: "scripted", dir, prompt, permissionMode: "all", ...place, waitMs });
  await killed.server.end("SIGKILL");
  const { sessionId } = asked;

  const { api } = await restarted(world, "turn");
  await expect.poll(() => turnsOf(api, sessionId), patience).toEqual([0, 1]);
  const facts = await currentFactsOf(api, `Session:${sessionId}`);
  expect(facts).toContain("current_branch Branch:work/kept");
  expect(facts).toContain(`in_repository Repository:${dir}`);
  expect(facts, "one name for a file, in whatever worktree").toContain(`edited File:${dir}/src/a.txt`);
  expect((await entriesOf(api, sessionId)).map((entry) => entry.dir)).toEqual([dir]);
  expect((await record(api, sessionId)).body).toMatchObject({ outcome: "known" });

  const atEnds = await restarted(world, "close");
  const again = await atEnds.api.ask({ dir, sessionId, prompt: "say Decision: the colour = red", waitMs });
  expect(again.turnCount).toBe(4);
  expect(await turnsOf(atEnds.api, sessionId)).toEqual([0, 1]);
  await atEnds.close();
  await killAndWait(again.pid);
  const after = await restarted(world, "close");
  await expect.poll(() => turnsOf(after.api, sessionId), patience).toEqual([0, 1, 2, 3]);
  expect(await currentFactsOf(after.api, "Decision:colour")).toEqual(["status red"]);

  const off = await restarted(world, "off");
  await off.api.ask({ dir, sessionId, prompt: "say more", waitMs });
  await close(off.api, sessionId);
  expect(await turnsOf(off.api, sessionId)).toEqual([0, 1, 2, 3]);
  expect((await record(off.api, sessionId)).body).toMatchObject({ outcome: "recorded", turns: 2 });
  const reader = await off.client(["logs:read", "logs:write"]);
  expect((await record(reader, sessionId)).status, "who may not read the session").toBe(403);
  expect((await record(off.api, "nobody-s-session")).status).toBe(404);
  await off.close();
});

const running = new Map<World, TestGateway>();

/** The next gateway of this world, the one before closed, with this setting. */
async function restarted(world: World, setting: "off" | "close" | "turn"): Promise<TestGateway> {
  await running.get(world)?.close();
  const path = join(world.home, "config.json");
  const config: unknown = JSON.parse(await readFile(path, "utf8"));
  if (typeof config !== "object") throw new Error("no configuration");
  await writeFile(path, JSON.stringify({ ...config, memory: { record: setting } }));
  const gateway = await startGateway(world);
  running.set(world, gateway);
  onTestFinished(() => gateway.close());
  return gateway;
}
