import { expect, test } from "vitest";
import { echoOf } from "../model-server/script.ts";
import { useGateway } from "../support/use-gateway.ts";

const here = useGateway({ agents: "scripted" });
const waitMs = 10_000;

test("the scripted agent is started, prompted while it is idle, closed and resumed like any other", async () => {
  const { api } = here.gateway;
  const dir = here.world.repository;
  const first = await api.ask({ agent: "scripted", dir, prompt: "one", waitMs });
  expect(first).toMatchObject({ delivered: true, activity: "idle", started: "new" });
  const { sessionId, pid } = first;
  const second = await api.ask({ dir, sessionId, prompt: "two\nlines", waitMs });
  expect(second).toMatchObject({ delivered: true, activity: "idle", started: "reconnect", pid });
  await api.post("/api/coding/coding_close_session", { sessionId });
  const third = await api.ask({ dir, sessionId, prompt: "three", waitMs });
  expect(third).toMatchObject({ delivered: true, activity: "idle", started: "resumed" });
  expect((await api.read(sessionId)).turns.map(({ text }) => text)).toEqual(
    ["one", "two\nlines", "three"].flatMap((text) => [text, echoOf(text)]),
  );
});

test("it crashes in mid-turn when its prompt says so: its exit code is there, and it can be resumed", async () => {
  const { api } = here.gateway;
  const dir = here.world.repository;
  const { sessionId } = await api.ask({ agent: "scripted", dir, prompt: "agent crash 3", waitMs });
  await expect.poll(() => api.read(sessionId)).toMatchObject({ status: "completed", exitCode: 3 });
  expect(await api.ask({ dir, sessionId, prompt: "and again", waitMs })).toMatchObject({ started: "resumed" });
});

test("what floods the terminal delays no turn, and a report in another session's name changes nothing", async () => {
  const { api } = here.gateway;
  const dir = here.world.repository;
  const lie = { event: "PermissionRequest", session_id: "another", tool_name: "Bash", tool_input: {} };
  const prompt = `agent flood 1000000\nagent lie ${JSON.stringify(lie)}\nsay done`;
  const asked = await api.ask({ agent: "scripted", dir, prompt, waitMs });
  expect(asked).toMatchObject({ activity: "idle", permissions: [] });
  expect(asked.turns?.[1]?.text).toBe("done");
});

test("a permission is decided from afar and in its dialog, and a turn is interrupted", async () => {
  const { api } = here.gateway;
  const dir = here.world.repository;
  const asked = await api.ask({ agent: "scripted", dir, prompt: "run echo one\nask Which?\nsay over", waitMs });
  expect(asked.activity).toBe("needs_permission");
  const { sessionId } = asked;
  const [permission] = asked.permissions;
  const allow = { sessionId, permissionId: permission?.permissionId, decision: "allow" };
  expect(await api.post("/api/coding/coding_answer_permission", allow)).toMatchObject({ status: 200 });
  await expect.poll(async () => (await api.read(sessionId)).activity).toBe("needs_answer");
  const question = (await api.read(sessionId)).permissions[0];
  const answers = { "Which?": "Yes" };
  const answer = { sessionId, permissionId: question?.permissionId, decision: "allow", answers };
  expect(await api.post("/api/coding/coding_answer_permission", answer)).toMatchObject({ status: 200 });
  await expect.poll(async () => (await api.read(sessionId)).activity).toBe("idle");
  const { turns } = await api.read(sessionId);
  expect(turns.at(-1)?.text).toContain("RESULT 1 ok: one");
  expect(turns.at(-1)?.text).toContain('"Which?"="Yes"');
  await api.ask({ dir, sessionId, prompt: "slow 60000\nlines 50" });
  expect(await api.post("/api/coding/coding_interrupt", { sessionId })).toMatchObject({ status: 200 });
  await expect.poll(async () => (await api.read(sessionId)).activity).toBe("idle");
});
