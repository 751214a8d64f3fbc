import { existsSync } from "node:fs";
import { copyFile, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { AnswerPermissionOutput, AskOutput, PendingPermission } from "../../src/wire/coding.ts";
import type { Problem } from "../../src/wire/problem.ts";
import { createWorld, startGateway } from "../support/gateway.ts";
import { atTerminal } from "../support/type-into.ts";
import { useGateway } from "../support/use-gateway.ts";

const used = useGateway({ agents: true });
const waitMs = 30_000;
const patience = { timeout: 30_000, interval: 100 };

/** Asks for something that needs leave, and waits for the question. */
async function askFor(agent: string, prompt: string): Promise<{ asked: AskOutput; permission: PendingPermission }> {
  const asked = await used.gateway.api.ask({ agent, dir: used.world.repository, prompt, waitMs });
  const [permission] = asked.permissions;
  if (permission === undefined) throw new Error(`nothing was asked: ${JSON.stringify(asked)}`);
  return { asked, permission };
}

function answer<T = AnswerPermissionOutput>(sessionId: string, permissionId: string, more: Record<string, unknown>) {
  const body = { sessionId, permissionId, ...more };
  return used.gateway.api.post<T>("/api/coding/coding_answer_permission", body);
}

async function untilIdle(sessionId: string) {
  const { api } = used.gateway;
  await expect.poll(async () => (await api.read(sessionId)).activity, patience).toBe("idle");
  return api.read(sessionId);
}

const close = (sessionId: string) => used.gateway.api.post("/api/coding/coding_close_session", { sessionId });
const inProject = (name: string): string => join(used.world.repository, name);

describe.for(["claude-code", "codex"])("%s", (agent) => {
  test("a write that is denied does not happen, and the agent is told why; one that is allowed does", async () => {
    const denied = `denied-${agent}.txt`;
    const { asked, permission } = await askFor(agent, `write ${denied} with never`);
    const { sessionId } = asked;
    expect(asked.activity).toBe("needs_permission");
    expect(permission).toMatchObject({ kind: "permission", answerable: true });
    expect(JSON.stringify(permission.input)).toContain(denied);
    const message = `not into ${denied}, please`;
    const answered = await answer(sessionId, permission.permissionId, { decision: "deny", message });
    expect(answered).toMatchObject({
      status: 200,
      body: { activity: expect.stringMatching(/^(working|idle)$/), permissions: [] },
    });
    const after = await untilIdle(sessionId);
    expect(after.turns.at(-1)?.text).toContain("RESULT 1 error");
    expect(JSON.stringify(used.world.modelServer.requests.map(({ body }) => body))).toContain(message);

    const allowed = `allowed-${agent}.txt`;
    const dir = used.world.repository;
    const next = await used.gateway.api.ask({ dir, sessionId, prompt: `write ${allowed} with by leave`, waitMs });
    const { permissionId = "" } = next.permissions[0] ?? {};
    expect(existsSync(inProject(allowed))).toBe(false);
    expect(await answer(sessionId, permissionId, { decision: "allow" })).toMatchObject({
      status: 200,
      body: { activity: expect.stringMatching(/^(working|idle)$/), permissions: [] },
    });
    const { turns } = await untilIdle(sessionId);
    expect(await readFile(inProject(allowed), "utf8")).toMatch(/^by leave\n?$/);
    expect(turns.at(-1)?.text).toContain("RESULT 1 ok");
    expect(existsSync(inProject(denied))).toBe(false);
    const again = await answer<Problem>(sessionId, permissionId, { decision: "deny" });
    expect(again).toMatchObject({ status: 404, body: { code: "permission_gone" } });
    await close(sessionId);
  });

  test("a hook that waits finds the next gateway, and the permission keeps its id", async () => {
    const world = await createWorld({ agents: true });
    onTestFinished(() => world.close());
    const first = await startGateway(world);
    const name = `restarted-${agent}.txt`;
    const prompt = `write no.txt with x\nwrite ${name} with after a restart`;
    const asked = await first.api.ask({ agent, dir: world.repository, prompt, waitMs });
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
});

test("claude-code: a question of the agent is answered from afar", async () => {
  const { asked, permission } = await askFor("claude-code", "ask Which way?");
  expect(asked.activity).toBe("needs_answer");
  expect(permission).toMatchObject({ kind: "question", answerable: true });
  const bare = await answer<Problem>(asked.sessionId, permission.permissionId, { decision: "allow" });
  expect(bare).toMatchObject({ status: 400, body: { code: "invalid_request" } });
  const answers = { "Which way?": "No" };
  const answered = await answer(asked.sessionId, permission.permissionId, { decision: "allow", answers });
  expect(answered).toMatchObject({
    status: 200,
    body: { activity: expect.stringMatching(/^(working|idle)$/), permissions: [] },
  });
  const { turns } = await untilIdle(asked.sessionId);
  expect(turns.at(-1)?.text).toContain('"Which way?"="No"');
  await close(asked.sessionId);
});

test("claude-code: a plan is turned down, and then approved", async () => {
  const prompt = ["call EnterPlanMode {}", "call ExitPlanMode {}", "call ExitPlanMode {}"].join("\n");
  const { asked, permission } = await askFor("claude-code", prompt);
  const { sessionId } = asked;
  expect(asked.activity).toBe("needs_answer");
  expect(permission).toMatchObject({ kind: "plan", answerable: true });
  await answer(sessionId, permission.permissionId, { decision: "deny", message: "think again" });
  const next = async () => (await used.gateway.api.read(sessionId)).permissions[0];
  await expect.poll(next, patience).toMatchObject({ kind: "plan" });
  const { permissionId = "" } = (await next()) ?? {};
  expect(permissionId, "another question").not.toBe(permission.permissionId);
  await answer(sessionId, permissionId, { decision: "allow" });
  const { turns } = await untilIdle(sessionId);
  expect(turns.at(-1)?.text).toMatch(/RESULT 2 error: think again/);
  expect(turns.at(-1)?.text).toMatch(/RESULT 3 ok: User has approved/);
  await close(sessionId);
});

test("claude-code: a sub-agent's question is answered after the turn that started it has ended", async () => {
  const task = { description: "sub", prompt: "run touch by-sub-agent.txt", subagent_type: "general-purpose" };
  const input = JSON.stringify({ ...task, run_in_background: true });
  const { sessionId } = await used.gateway.api.ask({
    agent: "claude-code",
    dir: used.world.repository,
    prompt: `call Agent ${input}`,
  });
  const open = async () => (await used.gateway.api.read(sessionId)).permissions[0];
  await expect.poll(open, patience).toMatchObject({ tool: "Bash", answerable: true });
  const { permissionId = "" } = (await open()) ?? {};
  await expect
    .poll(async () => (await used.gateway.api.read(sessionId)).turns.at(-1)?.text ?? "", patience)
    .toContain("RESULT 1 ok");
  expect(await answer(sessionId, permissionId, { decision: "allow" })).toMatchObject({ status: 200 });
  await expect.poll(() => existsSync(inProject("by-sub-agent.txt")), patience).toBe(true);
  await untilIdle(sessionId);
  await close(sessionId);
});

test("claude-code: who answers in the terminal meanwhile is not answered for again", async () => {
  const { asked, permission } = await askFor("claude-code", "write by-hand.txt with by hand");
  await atTerminal(used.world, asked.pid, async ({ press, screen }) => {
    await expect.poll(screen, patience).toContain("Do you want to create");
    const answered = async (): Promise<boolean> => {
      if (!existsSync(inProject("by-hand.txt"))) await press("\r"); // keys are dropped while the dialog is new
      return existsSync(inProject("by-hand.txt"));
    };
    await expect.poll(answered, { timeout: 30_000, interval: 500 }).toBe(true);
  });
  const { permissions } = await untilIdle(asked.sessionId);
  expect(permissions).toEqual([]);
  const late = await answer<Problem>(asked.sessionId, permission.permissionId, { decision: "deny" });
  expect(late).toMatchObject({ status: 404, body: { code: "permission_gone" } });
  await close(asked.sessionId);
});

test("the right to answer is coding:drive, and each session answers for its own permissions", async () => {
  const { asked, permission } = await askFor("claude-code", "write guarded.txt with x");
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
  const other = await used.gateway.api.ask({ agent: "codex", dir: used.world.repository, prompt: "beside it", waitMs });
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
  const { asked, permission } = await askFor("claude-code", run);
  const { sessionId } = asked;
  await answer(sessionId, permission.permissionId, { decision: "allow" });
  await untilIdle(sessionId);
  onTestFinished(async () => void process.kill(Number((await readFile(diary, "utf8")).split(" ")[0]), "SIGKILL"));
  const { api } = used.gateway;
  const next = await api.ask({ dir: used.world.repository, sessionId, prompt: "write victim.txt with x", waitMs });
  expect(next.activity).toBe("needs_permission");
  const attempts = async (): Promise<number> => (await readFile(diary, "utf8")).split("forged").length - 1;
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
