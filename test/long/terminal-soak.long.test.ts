import { existsSync, readdirSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { WebSocket } from "ws";
import { loadConfig } from "../../src/app/config.ts";
import { openStores } from "../../src/app/stores.ts";
import { systemClock } from "../../src/core/clock.ts";
import { silentLog } from "../../src/core/log.ts";
import { processTable, startedWithVariable } from "../../src/platform/process-table.ts";
import { scopes } from "../../src/wire/access.ts";
import { binaryFrameKinds, outputFrameHeadBytes, terminalProtocol } from "../../src/wire/terminal.ts";
import { createWorld, type World } from "../support/gateway.ts";
import { serveWorld } from "../support/serving-gateway.ts";

const sessionCount = 100;
const viewersOfOne = 3;
/** `SOAK_MS` makes it shorter. */
const soakMs = Number(process.env["SOAK_MS"] ?? 5 * 60_000);

// Answers each line with three; nothing is forked, so that all that is counted is ours.
const answering = `echo ready; while read -r line; do echo "one $line"; echo "two $line"; echo "three $line"; done`;
const agents = [{ name: "answerer", binary: "/bin/sh", startArgs: ["-c", answering], readyPattern: "ready" }];

let world: World;
let token: string;
beforeAll(async () => {
  world = await createWorld({ agents: false, config: { agents, maxSessions: sessionCount } });
  token = await prepare(world, "answerer");
});
afterAll(() => world.close());

/** A token for a store in which this agent is configured. */
async function prepare({ env }: World, agent: string): Promise<string> {
  const stores = await openStores(loadConfig(env), { log: silentLog, clock: systemClock });
  await stores.agents.configure(agent);
  const { accountId } = await stores.accounts.owner();
  const wanted = { name: "soak", scopes, folders: null, expiresAt: null };
  const { token: made } = await stores.accounts.tokens.create(accountId, wanted);
  await stores.close();
  return made;
}

/** One viewer, that checks the place of each piece of output. */
class SoakViewer {
  wrong: string | null = null;
  outputBytes = 0;
  #offset = -1;
  #ws: WebSocket;
  readonly #open: (terminal: string | null, from: number) => WebSocket;
  #terminal: string | null = null;

  constructor(open: (terminal: string | null, from: number) => WebSocket) {
    this.#open = open;
    this.#ws = this.#connect();
  }

  get ready(): boolean {
    return this.#offset >= 0;
  }

  #connect(): WebSocket {
    const ws = this.#open(this.#terminal, this.#offset);
    ws.on("error", () => undefined); // one that left before it was there
    ws.on("message", (data, isBinary) => {
      if (!(data instanceof Buffer)) return;
      if (isBinary) this.#onBinary(data);
      else this.#onText(data.toString());
    });
    return ws;
  }

  #onText(text: string): void {
    const frame: unknown = JSON.parse(text);
    if (typeof frame !== "object" || frame === null || !("kind" in frame) || frame.kind !== "hello") return;
    if ("terminalId" in frame && typeof frame.terminalId === "string") this.#terminal = frame.terminalId;
    if ("offset" in frame && typeof frame.offset === "number") this.#offset = frame.offset;
  }

  #onBinary(data: Buffer): void {
    const at = Number(data.readBigUInt64BE(1));
    if (data[0] === binaryFrameKinds.screen) this.#offset = at;
    else if (at !== this.#offset) this.wrong ??= `output at ${at} where ${this.#offset} was due`;
    else {
      this.outputBytes += data.byteLength - outputFrameHeadBytes;
      this.#offset += data.byteLength - outputFrameHeadBytes;
    }
  }

  type(text: string): void {
    if (this.#ws.readyState === WebSocket.OPEN) this.#ws.send(text);
  }

  comeBack(): void {
    this.close();
    this.#ws = this.#connect();
  }

  close(): void {
    this.#ws.removeAllListeners("message");
    this.#ws.terminate();
  }
}

const openFiles = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;
const residentMb = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
const processesOfWorld = (): number =>
  processTable().filter(({ pid, zombie }) => !zombie && startedWithVariable(pid, "HOME", world.root)).length;

test("100 sessions with 300 viewers that type, leave and come back: afterwards nothing is left of them", {
  timeout: soakMs + 300_000,
}, async () => {
  const report = join(world.root, "memory");
  const reporter = fileURLToPath(new URL("../support/report-memory.ts", import.meta.url));
  const env = { ...world.env, MEMORY_REPORT: report, NODE_OPTIONS: `--import=${reporter}` };
  const { server, api } = await serveWorld({ ...world, env }, token);
  const { pid } = server;
  /** What is in use once all garbage is collected: how much the engine keeps for itself says nothing of a leak. */
  const usedMb = async (): Promise<number> => {
    await rm(report, { force: true });
    process.kill(pid, "SIGUSR2");
    await expect.poll(() => existsSync(report) && readFileSync(report, "utf8") !== "", { timeout: 20_000 }).toBe(true);
    return Number(readFileSync(report, "utf8")) / 1024 / 1024;
  };
  const headers = { authorization: `Bearer ${token}` };
  const sessions: string[] = [];
  for (let count = 0; count < sessionCount; count += 1) {
    const spawned = await api.post<{ sessionId: string }>("/api/coding/spawn", {
      agent: "answerer",
      dir: world.repository,
    });
    expect(spawned.status).toBe(200);
    sessions.push(spawned.body.sessionId);
  }
  const processes = processesOfWorld();
  const viewersOf = (sessionId: string): SoakViewer[] =>
    Array.from({ length: viewersOfOne }, (_, index) => {
      const mode = index === 0 ? "drive" : "observe";
      return new SoakViewer((terminal, from) => {
        const place = terminal === null ? "" : `&terminal=${terminal}&from=${from}`;
        const url = `${server.url.replace("http", "ws")}/api/coding/coding_xterm_session?session_id=${sessionId}&mode=${mode}${place}`;
        return new WebSocket(url, [terminalProtocol], { headers });
      });
    });

  // The first half is to warm up: what is taken once, and kept, is no leak.
  const filesWithout = openFiles(pid);
  const round = async (durationMs: number): Promise<readonly SoakViewer[]> => {
    const all = sessions.map(viewersOf);
    const viewers = all.flat();
    await expect.poll(() => viewers.filter(({ ready }) => ready).length, { timeout: 120_000 }).toBe(viewers.length);
    const endAt = Date.now() + durationMs;
    for (let turn = 0; Date.now() < endAt; turn += 1) {
      for (const [driver] of all) driver?.type(`turn ${turn}\r`);
      viewers[turn % viewers.length]?.comeBack();
      viewers[(turn * 7) % viewers.length]?.comeBack();
      await sleep(200);
    }
    await sleep(2_000);
    for (const viewer of viewers) viewer.close();
    await expect.poll(() => openFiles(pid), { timeout: 30_000 }).toBeLessThanOrEqual(filesWithout + 5);
    return viewers;
  };
  await round(soakMs / 2);
  await sleep(3_000);
  const memoryBefore = await usedMb();
  const viewers = await round(soakMs / 2);
  expect(viewers.flatMap(({ wrong }) => wrong ?? [])).toEqual([]);
  expect(viewers.filter(({ outputBytes }) => outputBytes === 0)).toHaveLength(0);
  expect(processesOfWorld()).toBe(processes);
  await sleep(3_000);
  const grownMb = (await usedMb()) - memoryBefore;
  console.info(
    `The gateway uses ${grownMb.toFixed(1)} MB more than after the first half; ${residentMb(pid).toFixed(0)} MB in all.`,
  );
  expect(grownMb).toBeLessThan(5);

  await api.post("/api/coding/coding_close_all", {});
  await expect.poll(processesOfWorld, { timeout: 30_000 }).toBeLessThanOrEqual(processes - sessionCount);
  await server.end("SIGTERM");
});

test("a fast viewer gets 200 MB whole beside one that stalls and one that never reads, and the gateway stays small", {
  timeout: 600_000,
}, async () => {
  const lines = Math.floor((200 * 1024 * 1024) / 64);
  const script = `stty -echo; echo ready; read -r go; yes ${"x".repeat(62)} | head -n ${lines}; echo the end; exec cat`;
  const flow = await createWorld({
    agents: false,
    config: { agents: [{ name: "flow", binary: "/bin/sh", startArgs: ["-c", script], readyPattern: "ready" }] },
  });
  const flowToken = await prepare(flow, "flow");
  const { server, api } = await serveWorld(flow, flowToken);
  const spawned = await api.post<{ sessionId: string }>("/api/coding/spawn", { agent: "flow", dir: flow.repository });
  const open = () => {
    const url = `${server.url.replace("http", "ws")}/api/coding/coding_xterm_session?session_id=${spawned.body.sessionId}`;
    const ws = new WebSocket(url, [terminalProtocol], { headers: { authorization: `Bearer ${flowToken}` } });
    const seen = { ws, bytes: 0, last: "", screens: 0 };
    ws.on("message", (data, isBinary) => {
      if (!(data instanceof Buffer) || !isBinary) return;
      if (data[0] === binaryFrameKinds.screen) seen.screens += 1;
      else seen.bytes += data.byteLength - outputFrameHeadBytes;
      seen.last = data.subarray(Math.max(outputFrameHeadBytes, data.byteLength - 400)).toString();
    });
    return seen;
  };
  const [fast, stalled, dead] = [open(), open(), open()];
  await expect.poll(() => [fast, stalled, dead].every(({ screens }) => screens === 1), { timeout: 20_000 }).toBe(true);
  stalled.ws.pause();
  dead.ws.pause();
  const before = residentMb(server.pid);
  const bytesBefore = fast.bytes;
  let most = before;
  const looking = setInterval(() => (most = Math.max(most, residentMb(server.pid))), 50);
  fast.ws.send("go\r");
  // A peer that takes nothing and answers no ping for a minute is taken for dead.
  await sleep(5_000);
  stalled.ws.resume();
  await expect.poll(() => fast.last, { timeout: 400_000, interval: 20 }).toContain("the end");
  clearInterval(looking);
  await expect.poll(() => stalled.last, { timeout: 30_000 }).toContain("the end");
  expect(fast.bytes - bytesBefore).toBe(lines * 64 + "the end\r\n".length);
  console.info(`The gateway grew by ${(most - before).toFixed(0)} MB; the stalled one got ${stalled.screens} screens.`);
  expect(most - before).toBeLessThan(20);
  for (const { ws } of [fast, stalled, dead]) ws.terminate();
  await server.end("SIGTERM");
  await flow.close();
});
