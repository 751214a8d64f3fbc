import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Problem } from "../../src/wire/problem.ts";
import { createWorld, startGateway, type TestGateway, type World } from "../support/gateway.ts";
import { atTerminal } from "../support/type-into.ts";

const permissionAnswerMs = 2_500;
let world: World;
let gateway: TestGateway;
beforeAll(async () => {
  world = await createWorld({ agents: "scripted", config: { permissionAnswerMs } });
  gateway = await startGateway(world);
});
afterAll(async () => {
  await gateway.close();
  await world.close();
});
const waitMs = 30_000;
const patience = { timeout: 30_000, interval: 200 };

test.for([
  ["allow", "write late.txt with late leave", "late.txt"],
  ["deny", "run touch denied.txt", "denied.txt"],
] as const)(
  "a permission that was not answered in time keeps its dialog, is listed over a restart, and takes %s from afar",
  async ([decision, prompt, file]) => {
    const asked = await gateway.api.ask({ agent: "scripted", dir: world.repository, prompt, waitMs });
    const { sessionId, pid } = asked;
    const permissionId = asked.permissions[0]?.permissionId;
    const path = join(world.repository, file);
    await atTerminal(world, pid, async ({ screen }) => {
      await expect.poll(screen, patience).toMatch(/❯ 1\. Yes/);
    });
    const overAt = Date.parse(asked.permissions[0]?.askedAt ?? "") + permissionAnswerMs;
    await expect.poll(() => Date.now(), patience).toBeGreaterThan(overAt + 200);
    const standing = { activity: "needs_permission", permissions: [{ permissionId, answerable: true }] };
    await expect.poll(() => gateway.api.read(sessionId), patience).toMatchObject(standing);
    // A dialog takes no words.
    const answer = { sessionId, permissionId };
    const withWords = { ...answer, decision: "deny", message: "Not here." };
    const refused = await gateway.api.post<Problem>("/api/coding/coding_answer_permission", withWords);
    expect(refused).toMatchObject({ status: 409, body: { code: "permission_pending" } });

    await gateway.close();
    gateway = await startGateway(world);
    const { api } = gateway;
    await expect.poll(() => api.read(sessionId), patience).toMatchObject(standing);
    expect(existsSync(path)).toBe(false);
    const taken = await api.post("/api/coding/coding_answer_permission", { ...answer, decision });
    expect(taken).toMatchObject({ status: 200, body: { permissions: [] } });
    await expect.poll(async () => (await api.read(sessionId)).activity, patience).toBe("idle");
    expect(existsSync(path)).toBe(decision === "allow");
    await api.post("/api/coding/coding_close_session", { sessionId });
  },
);
