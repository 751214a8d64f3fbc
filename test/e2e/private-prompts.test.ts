import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { watchCommandLines } from "../support/command-lines.ts";
import { createWorld, killAndWait, startGateway, type TestGateway, type World } from "../support/gateway.ts";

// The agents themselves with `privatePrompts`: what every user of the machine can read of them.

let world: World;
let gateway: TestGateway;
beforeAll(async () => {
  world = await createWorld({ agents: true, config: { privatePrompts: true } });
  await writeFile(join(world.root, "codex", "config.toml"), 'developer_instructions = "OWN-WORDS-PLUM"\n');
  gateway = await startGateway(world);
});
afterAll(async () => {
  await gateway.close();
  await world.close();
});

const waitMs = 60_000;

describe.runIf(process.platform === "linux").for(["claude-code", "codex"])("%s", (agent) => {
  test("no prompt, system prompt or instruction of the user is on a command line, at a start, in a session or at a resume", async () => {
    const { api } = gateway;
    const dir = world.repository;
    const watch = watchCommandLines();
    const systemPrompt = "SYSTEM-WORDS-QUINCE";
    const first = await api.ask({ agent, dir, prompt: "first PROMPT-WORDS-FIG", systemPrompt, waitMs });
    const { sessionId, pid } = first;
    const body = world.modelServer.requests.findLast(({ kind }) => kind === "turn")?.body ?? "";
    expect(body).toContain(systemPrompt);
    if (agent === "codex") expect(body).toContain("OWN-WORDS-PLUM");
    // Through the agent's editor, which is a process too, and by a tool that starts one.
    await api.ask({ dir, sessionId, prompt: "second\nPROMPT-WORDS-FIG\nrun true", waitMs });
    await killAndWait(pid);
    await expect.poll(async () => (await api.read(sessionId)).pid, { timeout: 20_000 }).toBe(null);
    const third = await api.ask({ dir, sessionId, prompt: "third PROMPT-WORDS-FIG", waitMs });
    expect(third).toMatchObject({ started: "resumed", delivered: true });
    watch.close();
    for (const each of [pid, third.pid]) expect(watch.of(each ?? 0)).not.toEqual([]);
    for (const words of ["PROMPT-WORDS-FIG", systemPrompt, "OWN-WORDS-PLUM"]) expect(watch.holding(words)).toEqual([]);
    await api.post("/api/coding/coding_close_session", { sessionId });
  });
});
