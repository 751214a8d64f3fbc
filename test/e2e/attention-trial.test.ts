import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createApiClient, killAndWait } from "../support/gateway.ts";
import { useGateway } from "../support/use-gateway.ts";

const used = useGateway({ agents: true, env: { POSTERN_AUTH: "none" } });
const patience = { timeout: 30_000, interval: 100 };

test.for(["claude-code", "codex"])(
  "%s: with POSTERN_AUTH=none and no folder registered, naming a directory is the decision to trust it",
  async (agent) => {
    const api = createApiClient(used.gateway.url, null);
    const asked = await api.ask({ agent, dir: used.world.repository, prompt: "say hello", waitMs: 30_000 });
    expect(asked).toMatchObject({ activity: "idle", delivered: true, screen: null });
    expect(asked.turns?.at(-1)?.text).toContain("hello");
    await api.post("/api/coding/coding_close_session", { sessionId: asked.sessionId });
  },
);

test("Codex that resumes slowly is starting, not in need of attention, and takes the prompt in the end", async () => {
  const api = createApiClient(used.gateway.url, null);
  const dir = used.world.repository;
  const { sessionId, pid } = await api.ask({ agent: "codex", dir, prompt: "say first", waitMs: 30_000 });
  await killAndWait(pid);
  await expect.poll(async () => (await api.read(sessionId)).status, patience).not.toBe("running");
  // Without this lock Codex opens no session: it shows "Resuming session…" above an empty composer.
  const lock = join(used.world.root, "codex", "thread-writer-locks", ".coordination.lock");
  const holder = spawn("flock", [lock, "cat"], { stdio: ["pipe", "pipe", "inherit"] });
  onTestFinished(() => void holder.kill("SIGKILL"));
  holder.stdin.write("held");
  await once(holder.stdout, "data");
  const early = await api.ask({ agent: "codex", dir, sessionId, prompt: "say second", waitMs: 8_000 });
  expect(early).toMatchObject({ activity: "starting", delivered: null, screen: null });
  holder.stdin.end();
  const turns = async () => (await api.read(sessionId)).turns.map(({ text }) => text);
  await expect.poll(turns, patience).toEqual(["say first", "first", "say second", "second"]);
  await api.post("/api/coding/coding_close_session", { sessionId });
});

test("Codex with hooks that need review: the prompt runs once the dialog is answered from afar", async () => {
  const api = createApiClient(used.gateway.url, null);
  const hooks = { Stop: [{ hooks: [{ type: "command", command: "true" }] }] };
  await writeFile(join(used.world.root, "codex", "hooks.json"), JSON.stringify({ hooks }));
  const dir = used.world.repository;
  const asked = await api.ask({ agent: "codex", dir, prompt: "say reviewed", waitMs: 30_000 });
  const { sessionId } = asked;
  expect(asked).toMatchObject({
    activity: "needs_attention",
    permissions: [{ kind: "dialog", tool: "Review hooks?" }],
  });
  expect(asked.screen).toContain("Hooks need review");
  const [dialog] = asked.permissions;
  const choice = dialog?.choices?.find(({ label }) => label.startsWith("Continue without"))?.choiceId;
  const answer = { sessionId, permissionId: dialog?.permissionId, choice };
  expect(await api.post("/api/coding/coding_answer_permission", answer)).toMatchObject({ status: 200 });
  const turns = async () => (await api.read(sessionId)).turns.map(({ text }) => text);
  await expect.poll(turns, patience).toEqual(["say reviewed", "reviewed"]);
  await api.post("/api/coding/coding_close_session", { sessionId });
});
