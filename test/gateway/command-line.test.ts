import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createWorld, type World } from "../support/gateway.ts";
import {
  type FinishedProcess,
  posternEnvironment,
  runPostern,
  type ServingProcess,
} from "../support/postern-process.ts";
import { prepareStore } from "../support/prepared-store.ts";
import { startServing } from "../support/serving-gateway.ts";

let world: World;
let gateway: ServingProcess;

beforeAll(async () => {
  world = await createWorld({ agents: "scripted" });
  await prepareStore(world);
  gateway = await startServing(world);
});

afterAll(async () => {
  await gateway?.end("SIGTERM");
  await world?.close();
});

function postern(...argv: readonly string[]): Promise<FinishedProcess> {
  return runPostern(argv, { env: posternEnvironment(world.home, world.env), cwd: world.repository });
}

test("`postern coding` asks an agent, asks on, reads it back, closes and resumes", async () => {
  const agent = "scripted";
  const first = await postern("coding", "ask", "Say hello");
  expect(first).toMatchObject({ code: 0, stdout: expect.stringContaining("ECHO Say hello") });
  const [, sessionId = ""] =
    new RegExp(`^(\\S+) · ${agent} · idle · ${world.repository}$`, "m").exec(first.stderr) ?? [];
  expect(sessionId).toMatch(/^[0-9a-f-]{36}$/);

  const second = await postern("coding", "ask", "--session", sessionId, "--json", "And again");
  expect(JSON.parse(second.stdout)).toMatchObject({
    sessionId,
    started: "reconnect",
    delivered: true,
    activity: "idle",
  });
  expect(await postern("coding", "close", sessionId)).toMatchObject({ code: 0, stdout: `Closed ${sessionId}.\n` });
  const third = await postern("coding", "ask", "--session", sessionId, "--json", "Once more");
  expect(JSON.parse(third.stdout)).toMatchObject({ sessionId, started: "resumed" });

  const { stdout } = await postern("coding", "read", sessionId, "--json");
  const prompts = JSON.parse(stdout).turns.filter((turn: { role: string }) => turn.role === "user");
  expect(prompts).toMatchObject([{ text: "Say hello" }, { text: "And again" }, { text: "Once more" }]);
});

test("the start of an ID and `last` name a session, an answer with --wait prints the rest, a failed start its screen", async () => {
  const asked = await postern("coding", "ask", "run: echo from-the-command");
  expect(asked.code).toBe(1);
  const [, id = ""] = /`postern coding answer (\S+) --allow`/.exec(asked.stderr) ?? [];
  const answered = await postern("coding", "answer", "last", "--allow", "--wait");
  expect(answered).toMatchObject({ code: 0, stdout: expect.stringContaining("RESULT 1 ok: from-the-command") });
  expect(answered.stderr).toContain(`${id} · scripted · idle`);
  expect(await postern("coding", "close", id.slice(0, 8))).toMatchObject({ code: 0, stdout: `Closed ${id}.\n` });
  const start = join(world.root, "scripted", "start.json");
  await writeFile(start, JSON.stringify({ exit: 3, says: "\u001b[31mNo such model" }));
  const failed = await postern("coding", "ask", "Start");
  await rm(start);
  expect(failed).toMatchObject({ code: 1, stdout: "" });
  expect(failed.stderr).toMatch(
    /^The agent's last screen:\n\n {2}│ No such model\n\npostern: agent_start_failed: .*`postern doctor --smoke`.*\n$/,
  );
});

test("a prompt that the agent would run as a command is refused in one line", async () => {
  expect(await postern("coding", "ask", "!touch here")).toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringMatching(/^postern: prompt_not_text: .*\n$/),
  });
  expect(await postern("coding", "ask", "--command", "/exit")).toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringMatching(/^postern: command_not_sendable: "\/exit" cannot be sent as a command\. .*\n$/),
  });
});

test("a permission that the agent waits for ends the wait with 1 and is named", async () => {
  const run = await postern("coding", "ask", "run: touch made-by-agent");
  expect(run.code).toBe(1);
  expect(run.stderr).toMatch(/^postern: agent_needs_you: .*is waiting for permission: Bash .*touch made-by-agent/m);
  const [, id = ""] = /`postern coding answer (\S+) --allow`/.exec(run.stderr) ?? [];
  expect(await postern("coding", "answer", id)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^[0-9a-f]{32} Bash .*touch made-by-agent.*\n$/),
  });
  expect(await postern("coding", "answer", id, "--allow")).toMatchObject({ code: 0 });
  await expect
    .poll(async () => (await postern("coding", "read", id)).stdout, { timeout: 30_000 })
    .toContain("RESULT 1 ok");
  expect(await postern("coding", "interrupt", id)).toMatchObject({
    code: 0,
    stdout: `No turn was running in ${id}.\n`,
  });
  expect(await postern("coding", "answer", id, "--deny")).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^postern: permission_gone: /),
  });
});
