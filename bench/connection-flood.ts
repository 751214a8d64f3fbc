// How long does an authenticated caller wait while others flood the gateway with connections that never complete a request? Three
// shapes (half requests, slow bodies, WebSockets without a credential), from one address and from 50. Each request of the caller comes
// on a new connection. Target: p99 under 200 ms, and none fails.
//
// `node bench/connection-flood.ts [connections] [requests]`
import { fork } from "node:child_process";
import { once } from "node:events";
import { request } from "node:http";
import { join } from "node:path";
import { createWorld } from "../test/support/gateway.ts";
import { servePostern } from "../test/support/postern-process.ts";
import { prepareStore } from "../test/support/prepared-store.ts";
import { median, quantile, sizeOf, small } from "./measure.ts";

const connections = sizeOf({ full: 2_000, small: 100, position: 0 });
const requests = sizeOf({ full: 500, small: 20, position: 1 });
const limitMs = 200;

const world = await createWorld({ agents: false });
const token = await prepareStore(world, []);
const server = await servePostern({ ...world.env });
const { port } = new URL(server.url);

/** Milliseconds until the answer is whole. */
async function ask(): Promise<number> {
  const before = performance.now();
  const asked = request({
    ...{ host: "127.0.0.1", port, path: "/api/coding/coding_list_agents", method: "POST", agent: false },
    headers: { authorization: `Bearer ${token}` },
  }).end();
  const [answer] = await once(asked, "response");
  answer.resume();
  await once(answer, "end");
  if (answer.statusCode !== 200) throw new Error(`It was answered with ${answer.statusCode}.`);
  return performance.now() - before;
}

async function measure(name: string): Promise<void> {
  const took: number[] = [];
  let failed = 0;
  for (let count = 0; count < requests; count += 1) {
    await ask().then(
      (ms) => took.push(ms),
      () => (failed += 1),
    );
  }
  const p99 = quantile(took, 0.99);
  const missed = failed > 0 || p99 >= limitMs;
  if (missed && !small) process.exitCode = 1;
  console.log(
    `  ${name}: p50 ${median(took).toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, worst ${Math.max(...took).toFixed(1)} ms, ${failed} of ${requests} failed${missed ? " MISSED" : ""}`,
  );
}

await measure("no flood");
for (const shape of ["half", "body", "socket"]) {
  for (const addresses of [1, 50]) {
    const args = [port, shape, String(addresses), String(connections)];
    const flood = fork(join(import.meta.dirname, "rig/connection-flood.ts"), args);
    await once(flood, "message");
    await measure(`${connections} connections, ${shape}, from ${addresses}`);
    flood.send("opened");
    const [opened] = await once(flood, "message");
    console.log(`    ${String(opened)} were opened meanwhile`);
    flood.kill();
    await once(flood, "exit");
  }
}
await server.end("SIGTERM");
await world.close();
