import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createApiClient } from "../support/gateway.ts";
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
