import { existsSync } from "node:fs";
import { copyFile, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createWorld, startGateway } from "../support/gateway.ts";
import { permissionCaller } from "../support/permission-caller.ts";
import { useGateway } from "../support/use-gateway.ts";

const used = useGateway({ agents: "scripted" });
const waitMs = 30_000;
const patience = { timeout: 30_000, interval: 100 };

const { askFor, answer, untilIdle, close, inProject } = permissionCaller(used);

test("a hook that waits finds the next gateway, and the permission keeps its id", async () => {
  const world = await createWorld({ agents: "scripted" });
  onTestFinished(() => world.close());
  const first = await startGateway(world);
  const name = "restarted.txt";
  const prompt = `write no.txt with x\nwrite ${name} with after a restart`;
  const asked = await first.api.ask({ agent: "scripted", dir: world.repository, prompt, waitMs });
  const { sessionId } = asked;
  const denied = { sessionId, permissionId: asked.permissions[0]?.permissionId, decision: "deny" };
  expect((await first.api.post("/api/coding/coding_answer_permission", denied)).status).toBe(200);
  await expect.poll(async () => (await first.api.read(sessionId)).permissions.length, patience).toBe(1);
  const { permissions: before } = await first.api.read(sessionId);
  await first.close();
  const second = await startGateway(world);
  onTestFinished(() => second.close());
  expect((await second.api.read(sessionId)).permissions).toEqual(before);
  const allowed = { sessionId, permissionId: before[0]?.permissionId, decision: "allow" };
  expect(await second.api.post("/api/coding/coding_answer_permission", allowed)).toMatchObject({ status: 200 });
  await expect.poll(async () => (await second.api.read(sessionId)).activity, patience).toBe("idle");
  expect(existsSync(join(world.repository, name))).toBe(true);
  expect(existsSync(join(world.repository, "no.txt"))).toBe(false);
  await second.api.post("/api/coding/coding_close_session", { sessionId });
});

test("the right to answer is coding:drive, and each session answers for its own permissions", async () => {
  const { asked, permission } = await askFor("scripted", "write guarded.txt with x");
  const { permissionId } = permission;
  const { sessionId } = asked;
  const writer = await used.gateway.client(["coding:read", "coding:write"]);
  const body = { sessionId, permissionId, decision: "allow" };
  expect(await writer.post("/api/coding/coding_answer_permission", body)).toMatchObject({
    status: 403,
    body: { code: "insufficient_scope" },
  });
  const reader = await used.gateway.client(["coding:read"]);
  expect((await reader.post("/api/coding/coding_interrupt", { sessionId })).status).toBe(403);
  for (const more of [{ message: "with an allow" }, { answers: { q: "a" } }]) {
    expect(await answer(sessionId, permissionId, { decision: "allow", ...more })).toMatchObject({ status: 400 });
  }
  const other = await used.gateway.api.ask({
    agent: "scripted",
    dir: used.world.repository,
    prompt: "beside it",
    waitMs,
  });
  expect(await answer(other.sessionId, permissionId, { decision: "allow" })).toMatchObject({ status: 404 });
  const both = await Promise.all([1, 2].map(() => answer(sessionId, permissionId, { decision: "deny" })));
  expect(
    both.map(({ status }) => status).toSorted((a, b) => a - b),
    "one answer, once",
  ).toEqual([200, 404]);
  expect(existsSync(inProject("guarded.txt"))).toBe(false);
  await close(sessionId);
  await close(other.sessionId);
});

test("a hostile child of the agent approves nothing over its session's inbox and socket", async () => {
  const hostile = join(used.world.root, "hostile.mjs");
  const diary = join(used.world.root, "diary");
  await copyFile(new URL("../support/hostile-child.mjs", import.meta.url), hostile);
  const run = `run ${process.execPath} ${hostile} ${diary} > /dev/null 2>&1 &`;
  const { asked, permission } = await askFor("scripted", run);
  const { sessionId } = asked;
  await answer(sessionId, permission.permissionId, { decision: "allow" });
  await untilIdle(sessionId);
  // The child was started in the background: it may begin after the turn's end.
  const written = (): Promise<string> => readFile(diary, "utf8").catch(() => "");
  await expect.poll(written, patience).toContain("began");
  const child = Number((await written()).split(" ")[0]);
  onTestFinished(() => void process.kill(child, "SIGKILL"));
  const { api } = used.gateway;
  const next = await api.ask({ dir: used.world.repository, sessionId, prompt: "write victim.txt with x", waitMs });
  expect(next.activity).toBe("needs_permission");
  const attempts = async (): Promise<number> => (await written()).split("forged").length - 1;
  const before = await attempts();
  await expect.poll(attempts, patience).toBeGreaterThan(before + 20);
  expect(existsSync(inProject("victim.txt"))).toBe(false);
  const [still, copy] = (await api.read(sessionId)).permissions;
  expect(still, "still open, and still the same").toEqual(next.permissions[0]);
  expect(copy?.input, "the forged line is a question of its own").toMatchObject({ content: "harmless" });
  await answer(sessionId, copy?.permissionId ?? "", { decision: "allow" });
  expect((await api.read(sessionId)).permissions[0]).toEqual(still);
  const denied = await answer(sessionId, next.permissions[0]?.permissionId ?? "", { decision: "deny", message: "no" });
  expect(denied.status).toBe(200);
  await untilIdle(sessionId);
  expect(existsSync(inProject("victim.txt"))).toBe(false);
  await close(sessionId);
});
