import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { isRunning } from "../../src/platform/processes.ts";
import { listOutputSchema } from "../../src/wire/session-lists.ts";
import { createWorld, type World } from "../support/gateway.ts";
import { posternEnvironment, runPostern } from "../support/postern-process.ts";
import { prepareStore } from "../support/prepared-store.ts";
import { startServing } from "../support/serving-gateway.ts";

let world: World;

beforeAll(async () => {
  world = await createWorld({ agents: "scripted" });
  await prepareStore(world);
});

afterAll(() => world?.close());

async function postern(...argv: readonly string[]) {
  const run = await runPostern(argv, { env: posternEnvironment(world.home, world.env), cwd: world.repository });
  return { ...run, json: argv.includes("--json") ? JSON.parse(run.stdout) : null };
}

async function serve() {
  const gateway = await startServing(world);
  onTestFinished(async () => void (await gateway.end("SIGKILL")));
  return gateway;
}

test("status shows what runs; stop ends the gateway and keeps agents; stop --all ends them too", async () => {
  const first = await serve();
  expect(await postern("coding", "ask", "Say hello")).toMatchObject({ code: 0 });
  expect((await postern("coding", "ask", "run: touch made-by-agent")).code).toBe(1);
  const { code, json: state } = await postern("status", "--json");
  expect(code).toBe(0);
  expect(state).toMatchObject({
    home: world.home,
    gateway: { pid: first.pid, baseUrl: first.url, addresses: [expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/)] },
    sessions: { running: 2, needYou: 1 },
    terminalHost: { liveTerminals: 2 },
    problem: null,
  });
  expect((await postern("status")).stdout).toMatch(/^Sessions +2 running, 1 needs you\./m);
  for (const bytes of Object.values(state.memory)) expect(bytes).toBeGreaterThan(1_000_000);
  const sessions = listOutputSchema.parse((await postern("coding", "list", "--json")).json).sessions;

  expect(await postern("stop")).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Stopped the gateway .*\n2 agents keep running\./),
  });
  expect(isRunning(first.pid)).toBe(false);
  expect(sessions.map(({ pid }) => isRunning(pid ?? 0))).toEqual([true, true]);
  expect(await postern("status", "--json")).toMatchObject({ code: 3, json: { gateway: null, sessions: null } });

  const second = await serve();
  expect((await postern("status", "--json")).json).toMatchObject({ sessions: { running: 2 } });
  expect(await postern("stop", "--all", "--yes")).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("Ended the terminal host and 2 agents.\n"),
  });
  expect([second, ...sessions].map(({ pid }) => isRunning(pid ?? 0))).toEqual([false, false, false]);
  expect((await postern("status", "--json")).json).toMatchObject({ gateway: null, terminalHost: null });
}, 90_000);
