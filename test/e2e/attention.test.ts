import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runCommand } from "../support/run-cli.ts";
import { useGateway } from "../support/use-gateway.ts";

// Codex is not logged in.
const used = useGateway({ agents: true, env: { OPENAI_API_KEY: "" } });

const patience = { timeout: 30_000, interval: 100 };

const postern = (argv: readonly string[]) =>
  runCommand(["coding", ...argv], {
    ports: { socketPath: async () => join(used.world.home, "run", "gateway.sock") },
    cwd: used.world.repository,
  });

test("Codex without a login: ask shows its screen and exits with 1, and read shows it too", async () => {
  const began = performance.now();
  const asked = await postern(["ask", "--agent", "codex", "hi"]);
  expect(performance.now() - began).toBeLessThan(15_000);
  expect(asked).toMatchObject({ code: 1, stdout: "" });
  expect(asked.stderr).toContain("Sign in with ChatGPT");
  expect(asked.stderr).toMatch(/postern attach [0-9a-f-]{36}/);
  expect(asked.stderr).toContain("agent_needs_you");
  const [, sessionId = ""] = /postern attach ([0-9a-f-]{36})/.exec(asked.stderr) ?? [];
  const read = await postern(["read", sessionId]);
  expect(read.code).toBe(0);
  expect(read.stdout).toContain("Sign in with ChatGPT");
  await postern(["close", sessionId]);
});

test("Claude Code with a settings file in error: waitMs returns with the screen, and is an upper bound", async () => {
  const { api } = used.gateway;
  await writeFile(join(used.world.root, "claude", "settings.json"), '{ "model": 7 }');
  const began = performance.now();
  const early = await api.ask({ agent: "claude-code", dir: used.world.repository, prompt: "hi", waitMs: 300 });
  // Without the bound it is 15 s; a busy machine takes seconds to start a process.
  expect(performance.now() - began).toBeLessThan(8_000);
  expect(early).toMatchObject({ activity: "starting", delivered: null });
  const { sessionId } = early;
  const asked = await api.ask({ agent: "claude-code", dir: used.world.repository, prompt: "ho", waitMs: 60_000 });
  expect(asked).toMatchObject({ status: "initializing", activity: "needs_attention", delivered: null });
  expect(asked.screen).toContain("Settings Error");
  await expect.poll(() => api.read(sessionId), patience).toMatchObject({ activity: "needs_attention" });
  // The choice that is neither the first nor the selected one lets the prompt go on.
  const [dialog] = asked.permissions;
  expect(dialog).toMatchObject({ kind: "dialog", tool: "Settings error", answerable: true });
  const choice = dialog?.choices?.find(({ label }) => label.startsWith("Continue without"))?.choiceId;
  const about = { sessionId: asked.sessionId, permissionId: dialog?.permissionId };
  const wrong = await api.post("/api/coding/coding_answer_permission", { ...about, decision: "allow" });
  expect(wrong).toMatchObject({ status: 400, body: { code: "invalid_request" } });
  const answered = await postern(["answer", asked.sessionId, "--choice", choice ?? ""]);
  expect(answered).toMatchObject({ code: 0 });
  await expect.poll(() => api.read(asked.sessionId), patience).toMatchObject({ activity: "idle", turnCount: 2 });
  const late = await api.post("/api/coding/coding_answer_permission", { ...about, choice });
  expect(late).toMatchObject({ status: 404, body: { code: "permission_gone" } });
  for (const id of [sessionId, asked.sessionId]) {
    await api.post("/api/coding/coding_close_session", { sessionId: id });
  }
});
