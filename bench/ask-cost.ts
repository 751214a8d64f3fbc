// What a coding_ask costs beyond the agent itself: from the HTTP request to the spawned process and its answer, with a program that
// needs no boot, compared with a bare spawn of the same program in a pseudo-terminal. Target: p50 under 15 ms, p99 under 60 ms.
import { spawn } from "@lydell/node-pty";
import { createWorld, startGateway } from "../test/support/gateway.ts";
import { median, quantile, sizeOf } from "./measure.ts";

const rounds = sizeOf({ full: 200, small: 5 });
const warmUps = sizeOf({ full: 20, small: 2 });
const program = ["-c", "exec sleep 600"];

const agent = { name: "sleeper", binary: "/bin/sh", startArgs: [...program, "{prompt}"] };
const world = await createWorld({ agents: false, config: { agents: [agent], maxSessions: 1_000 } });
const gateway = await startGateway(world);

async function askOnce(round: number): Promise<number> {
  const startedAt = performance.now();
  const asked = await gateway.api.ask({ agent: "sleeper", dir: world.repository, prompt: `prompt number ${round}` });
  const tookMs = performance.now() - startedAt;
  await gateway.api.post("/api/coding/coding_close_session", { sessionId: asked.sessionId });
  return tookMs;
}

async function spawnOnce(): Promise<number> {
  const startedAt = performance.now();
  const pty = spawn("/bin/sh", program, { cwd: world.repository, cols: 120, rows: 40 });
  const tookMs = performance.now() - startedAt;
  const ended = new Promise((resolve) => pty.onExit(resolve));
  pty.kill("SIGKILL");
  await ended;
  return tookMs;
}

const asks: number[] = [];
const spawns: number[] = [];
for (let round = -warmUps; round < rounds; round += 1) {
  const [ask, bare] = [await askOnce(round), await spawnOnce()];
  if (round < 0) continue;
  asks.push(ask);
  spawns.push(bare);
}
const [p50, p99] = [median(asks), quantile(asks, 0.99)];
console.log(
  `coding_ask to a spawned process: p50 ${p50.toFixed(1)} ms (target 15), p99 ${p99.toFixed(1)} ms (target 60); ` +
    `bare spawn p50 ${median(spawns).toFixed(1)} ms; ratio ${(p50 / median(spawns)).toFixed(1)}; ${rounds} rounds`,
);
await gateway.close();
await world.close();
