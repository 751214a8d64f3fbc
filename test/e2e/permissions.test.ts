import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import type { Problem } from "../../src/wire/problem.ts";
import { permissionCaller } from "../support/permission-caller.ts";
import { atTerminal } from "../support/type-into.ts";
import { useGateway } from "../support/use-gateway.ts";

const used = useGateway({ agents: true });
const waitMs = 30_000;
const patience = { timeout: 30_000, interval: 100 };

const { askFor, answer, untilIdle, close, inProject } = permissionCaller(used);

describe.for(["claude-code", "codex"])("%s", (agent) => {
  test("a denied write does not happen, and the agent gets the reason; an allowed one does", async () => {
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

test("claude-code: a permission answered in the terminal meanwhile is not answered again", async () => {
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
