import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { createWorld, killAndWait, startGateway } from "../../test/support/gateway.ts";

vi.setConfig({ testTimeout: 60_000 });
const patience = { timeout: 20_000, interval: 20 };

// Records its arguments, which others can read in the process list, and its terminal input, and writes a transcript to resume from.
const line = {
  type: "user",
  message: { role: "user", content: "hello" },
  uuid: "u",
  timestamp: "2025-01-01T00:00:00Z",
};
const args = [
  "-c",
  `printf "%s\\n" "$*" >>arguments; echo '${JSON.stringify(line)}' >>"$HOME/$1.jsonl"; echo ready; exec cat >>heard`,
  "agent",
  "{sessionId}",
  ["{prompt}"],
];
const transcript = { format: "claude", path: "~/{sessionId}.jsonl" };
const agents = [
  { name: "parrot", binary: "/bin/sh", startArgs: args, resumeArgs: args, readyPattern: "ready", transcript },
];

test("a private system prompt is refused for an agent that accepts it only on its command line", async () => {
  const talker = { name: "talker", binary: "/bin/sh", startArgs: ["-c", "cat", "agent", "{systemPrompt}"] };
  const world = await createWorld({ agents: false, config: { agents: [talker], privatePrompts: true } });
  const gateway = await startGateway(world);
  try {
    const wanted = { agent: "talker", dir: world.repository, prompt: "hello", systemPrompt: "be brief" };
    expect(await gateway.api.post("/api/coding/coding_ask", wanted)).toMatchObject({
      status: 400,
      body: { code: "invalid_request", detail: expect.stringContaining("privatePrompts") },
    });
  } finally {
    await gateway.close();
    await world.close();
  }
});

test("a private prompt is never on a command line, on start or on resume", async () => {
  const world = await createWorld({ agents: false, config: { agents, privatePrompts: true } });
  const gateway = await startGateway(world);
  try {
    const dir = world.repository;
    const written = (name: string): Promise<string> => readFile(join(dir, name), "utf8").catch(() => "");
    const begun = async (): Promise<number> => (await written("arguments")).split("\n").length - 1;
    const prompts = ["marmalade for one", "apricot for two"];
    const first = await gateway.api.ask({ agent: "parrot", dir, prompt: prompts[0] ?? "" });
    await expect.poll(begun, patience).toBe(1);
    await expect.poll(() => written("heard"), patience).toContain(prompts[0]);
    await killAndWait(first.pid);
    const { sessionId } = first;
    await expect.poll(async () => (await gateway.api.read(sessionId)).pid, patience).toBe(null);
    await gateway.api.ask({ dir, sessionId, prompt: prompts[1] ?? "" });
    await expect.poll(begun, patience).toBe(2);
    const shown = await written("arguments");
    expect(prompts.filter((prompt) => shown.includes(prompt))).toEqual([]);
  } finally {
    await gateway.close();
    await world.close();
  }
});
