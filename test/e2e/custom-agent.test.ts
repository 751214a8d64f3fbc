import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { echoOf } from "../model-server/script.ts";
import { createWorld, killAndWait, startGateway, type TestGateway, type World } from "../support/gateway.ts";

// Neither is known to Postern but by these entries of the config file: a real agent without hooks, and a program that only echoes.
const agents = [
  {
    name: "house-agent",
    aliases: ["house"],
    binary: "claude",
    startArgs: [
      "--session-id",
      "{sessionId}",
      "--permission-mode",
      "bypassPermissions",
      "--model={model}",
      "--",
      "{prompt}",
    ],
    resumeArgs: ["--resume", "{sessionId}", "--permission-mode", "bypassPermissions", "--", "{prompt}"],
    transcript: { format: "claude", path: "~/claude/projects/*/{sessionId}.jsonl" },
    keyVariables: ["ANTHROPIC_API_KEY"],
    readyPattern: "❯",
  },
  { name: "parrot", binary: "/bin/sh", startArgs: ["-c", "echo ready; exec cat >heard.txt"], readyPattern: "ready" },
];

let world: World;
let gateway: TestGateway;
beforeAll(async () => {
  world = await createWorld({ agents: true, config: { agents }, env: { IS_SANDBOX: "1", CLAUDE_CODE_SANDBOXED: "1" } });
  const key = world.env["ANTHROPIC_API_KEY"] ?? "";
  const answered = {
    hasCompletedOnboarding: true,
    hasSeenAutoDefaultNotice: true,
    bypassPermissionsModeAccepted: true,
    customApiKeyResponses: { approved: [key.slice(-20)], rejected: [] },
    projects: { [world.repository]: { hasTrustDialogAccepted: true } },
  };
  await writeFile(join(world.root, "claude", ".claude.json"), JSON.stringify(answered));
  await writeFile(join(world.root, "claude", "settings.json"), '{"skipDangerousModePermissionPrompt":true}');
  gateway = await startGateway(world);
});
afterAll(async () => {
  await gateway.close();
  await world.close();
});

const waitMs = 30_000;

test("an agent of the config file is listed, asked, asked again in the same process, killed and resumed", async () => {
  const { api } = gateway;
  const dir = world.repository;
  const listed = await api.post<{ agents: { name: string }[] }>("/api/coding/coding_list_agents", {});
  expect(listed.body.agents.map(({ name }) => name)).toContain("house-agent");
  const first = await api.ask({ agent: "house", dir, prompt: "one", waitMs });
  expect(first).toMatchObject({ agent: "house-agent", delivered: true, activity: "idle", started: "new" });
  const { sessionId } = first;
  const second = await api.ask({ dir, sessionId, prompt: "two", waitMs });
  expect(second).toMatchObject({ delivered: true, pid: first.pid, started: "reconnect" });
  await killAndWait(first.pid);
  const third = await api.ask({ dir, sessionId, prompt: "three", waitMs });
  expect(third).toMatchObject({ delivered: true, started: "resumed", sessionId });
  expect((await api.read(sessionId)).turns.map(({ text }) => text)).toEqual(
    ["one", "two", "three"].flatMap((text) => [text, echoOf(text)]),
  );
});

test("a program without a transcript runs, and nothing is claimed about its prompts", async () => {
  const { api } = gateway;
  const asked = await api.ask({ agent: "parrot", dir: world.repository, prompt: "polly" });
  expect(asked).toMatchObject({ agent: "parrot", delivered: null, turnCount: 0 });
  await expect.poll(() => readFile(join(world.repository, "heard.txt"), "utf8"), { timeout: 5_000 }).toContain("polly");
  const model = await api.post("/api/coding/coding_ask", {
    agent: "parrot",
    dir: world.repository,
    prompt: "x",
    model: "m",
  });
  expect(model, "no place for it in its arguments").toMatchObject({
    status: 422,
    body: { code: "model_not_supported" },
  });
  const closed = await api.post("/api/coding/coding_close_session", { sessionId: asked.sessionId });
  expect(closed).toMatchObject({ status: 200, body: { status: "failed" } });
});
