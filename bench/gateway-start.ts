// The time until `postern serve` listens (including the terminal host), from the built package and from a checkout's source, compared with
// a bare start of Node; and the idle memory of gateway and host. Targets: 600 ms, 200 MB.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { processTable } from "../src/platform/process-table.ts";
import { createWorld, endTerminalHost } from "../test/support/gateway.ts";
import { installPackage, type ServingProcess, servePostern } from "../test/support/postern-process.ts";
import { median, sizeOf } from "./measure.ts";

const rounds = sizeOf({ full: 7, small: 1 });
const settleMs = 2_000;
const mebibyte = 1024 * 1024;

function rssBytes(pid: number): number {
  const pages = Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]);
  return pages * 4_096;
}

const world = await createWorld({ agents: false });
const bin = await installPackage(join(world.root, "node_modules", "postern"));
const cold: number[] = [];
const warm: number[] = [];
const source: number[] = [];
const bare: number[] = [];
const memory: number[] = [];
async function start(times: number[], from?: string): Promise<ServingProcess> {
  const startedAt = performance.now();
  const server = await servePostern({ ...world.env }, { bin: from });
  times.push(performance.now() - startedAt);
  return server;
}

for (let round = 0; round < rounds; round += 1) {
  await (await start(cold, bin)).end("SIGTERM");
  const server = await start(warm, bin);
  if (round === rounds - 1) {
    await sleep(settleMs);
    const hosts = processTable().filter(({ pid }) => isHostOf(pid, world.home));
    for (const { pid } of [...hosts, server]) memory.push(rssBytes(pid));
  }
  await server.end("SIGTERM");
  await endTerminalHost(world.home);
  await (await start(source)).end("SIGTERM");
  await endTerminalHost(world.home);
  const startedAt = performance.now();
  execFileSync(process.execPath, ["-e", "0"]);
  bare.push(performance.now() - startedAt);
}

function isHostOf(pid: number, home: string): boolean {
  try {
    const command = readFileSync(`/proc/${pid}/cmdline`, "utf8");
    return command.includes("terminal-host") && command.includes(home);
  } catch {
    return false; // it ended while the table was read
  }
}

const [first, again, checkout, node] = [median(cold), median(warm), median(source), median(bare)];
console.log(
  `serve to listening: p50 ${first.toFixed(0)} ms with a terminal host to start, ${again.toFixed(0)} ms with one there (target 600), ` +
    `${checkout.toFixed(0)} ms from source with one to start; ` +
    `bare node ${node.toFixed(0)} ms; ratio ${(first / node).toFixed(1)}`,
);
const total = memory.reduce((sum, bytes) => sum + bytes, 0) / mebibyte;
console.log(
  `idle gateway and terminal host: ${total.toFixed(0)} MB RSS together (target 200): ${memory.map((bytes) => (bytes / mebibyte).toFixed(0)).join(" + ")}`,
);
await world.close();
