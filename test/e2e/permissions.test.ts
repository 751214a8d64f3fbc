import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { AnswerPermissionOutput, AskOutput, PendingPermission } from "../../src/wire/coding.ts";
import type { Problem } from "../../src/wire/problem.ts";
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
  test("a write that is allowed from afar happens, and the turn goes on", async () => {
    const name = `allowed-${agent}.txt`;
    const { asked, permission } = await askFor(agent, `write ${name} with by leave`);
    expect(asked.activity).toBe("needs_permission");
    expect(permission).toMatchObject({ kind: "permission", answerable: true });
    expect(JSON.stringify(permission.input)).toContain(name);
    expect(existsSync(inProject(name))).toBe(false);
    const answered = await answer(asked.sessionId, permission.permissionId, { decision: "allow" });
    expect(answered).toMatchObject({ status: 200, body: { activity: "working", permissions: [] } });
    const { turns } = await untilIdle(asked.sessionId);
    expect(await readFile(inProject(name), "utf8")).toMatch(/^by leave\n?$/);
    expect(turns.at(-1)?.text).toContain("RESULT 1 ok");
    const again = await answer<Problem>(asked.sessionId, permission.permissionId, { decision: "deny" });
    expect(again).toMatchObject({ status: 404, body: { code: "permission_gone" } });
    await close(asked.sessionId);
  });

  test("a write that is denied does not happen, and the agent is told why", async () => {
    const name = `denied-${agent}.txt`;
    const { asked, permission } = await askFor(agent, `write ${name} with never`);
    const message = `not into ${name}, please`;
    const answered = await answer(asked.sessionId, permission.permissionId, { decision: "deny", message });
    expect(answered).toMatchObject({ status: 200, body: { activity: "working", permissions: [] } });
    const { turns } = await untilIdle(asked.sessionId);
    expect(existsSync(inProject(name))).toBe(false);
    expect(turns.at(-1)?.text).toContain("RESULT 1 error");
    expect(JSON.stringify(used.world.modelServer.requests.map(({ body }) => body))).toContain(message);
    await close(asked.sessionId);
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
  expect(answered).toMatchObject({ status: 200, body: { activity: "working", permissions: [] } });
  const { turns } = await untilIdle(asked.sessionId);
  expect(turns.at(-1)?.text).toContain('"Which way?"="No"');
  await close(asked.sessionId);
});
