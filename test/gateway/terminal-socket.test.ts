import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { terminalProtocol } from "../../src/wire/terminal.ts";
import { createWorld, startGateway, type TestGateway, type World } from "../support/gateway.ts";
import { prepareStore } from "../support/prepared-store.ts";
import { serveWorld } from "../support/serving-gateway.ts";
import { bearer, openTerminal, type TerminalClient } from "../support/terminal-client.ts";
import { noteExchange } from "../support/terminal-exchange.ts";

// Counts endlessly, so that a lost or repeated number is visible.
const counting = `n=0; echo ready; while :; do n=$((n+1)); echo "number $n"; [ $((n % 50)) = 0 ] && sleep 0.02; done`;
const asking = `printf "Your name? "; read name; printf "Hello, %s.\\n" "$name"; exit 3`;
const agents = [
  { name: "counter", binary: "/bin/sh", startArgs: ["-c", counting], readyPattern: "ready" },
  { name: "asker", binary: "/bin/sh", startArgs: ["-c", asking], readyPattern: "name" },
];

let world: World;
let token: string;
beforeAll(async () => {
  world = await createWorld({ agents: "scripted", config: { agents } });
  token = await prepareStore(world);
  await (await startGateway(world)).close(); // configures the counter
});
afterAll(() => world.close());

const patience = { timeout: 30_000, interval: 100 };
/** A gateway for one test. */
async function open(): Promise<TestGateway> {
  const gateway = await startGateway(world);
  onTestFinished(() => gateway.close());
  return gateway;
}

const text = async (viewer: TerminalClient): Promise<string> => (await viewer.screen()).join("\n");

test("seen live and late, typed into, ended, seen once more and resumed, all through the WebSocket", async () => {
  const agent = "scripted";
  const gateway = await open();
  const { api, url, app } = gateway;
  const headers = await bearer(app);
  const watching = await bearer(app, "coding:read");
  const spawned = await api.post<{ sessionId: string }>("/api/coding/spawn", { agent, dir: world.repository });
  const query = { session_id: spawned.body.sessionId };
  const desk = openTerminal({ url, headers, query: { ...query, cols: 100, rows: 30 } });
  await expect.poll(() => text(desk), patience).toMatch(/[❯›]/);
  desk.type("say hello from the socket");
  await expect.poll(() => text(desk), patience).toContain("say hello from the socket");
  desk.type("\r");
  await expect.poll(() => text(desk), patience).toMatch(/[●•] hello from the socket/);
  await expect.poll(async () => (await api.read(query.session_id)).activity, patience).toBe("idle");

  const size = { cols: 100, rows: 30 };
  const late = openTerminal({ url, headers: watching, query });
  const plain = openTerminal({ url, headers: watching, query, protocol: "plain", size });
  const same = async (): Promise<boolean> => {
    const [early, ...others] = await Promise.all([desk, late, plain].map(text));
    return others.every((screen) => screen === early);
  };
  await expect.poll(same, patience).toBe(true);
  const { pid } = await api.read(query.session_id);
  late.type("not for an observer");
  late.resize(60, 20);
  await api.post("/api/coding/coding_close_session", { sessionId: query.session_id });
  for (const viewer of [desk, late, plain]) {
    expect(await viewer.closed).toMatchObject({ code: 1000 });
    expect(viewer.frames.at(-1)?.kind).toBe("exit");
    expect(await text(viewer)).not.toContain("not for an observer");
  }

  const after = openTerminal({ url, headers: watching, query });
  expect(await after.closed).toMatchObject({ code: 1000 });
  expect(after.frames.at(-1)).toEqual(desk.frames.at(-1));
  expect(await text(after)).toBe(await text(desk));
  expect((await api.read(query.session_id)).status, "an observer resumes nothing").toBe("completed");
  const again = openTerminal({ url, headers, query: { ...query, cols: 90, rows: 25 } });
  await expect.poll(() => text(again), patience).toContain("hello from the socket");
  expect(again.frames[0]).toMatchObject({ kind: "hello", cols: 90, rows: 25, mode: "drive" });
  const resumed = await api.read(query.session_id);
  expect(resumed.status).toBe("running");
  expect(resumed.pid).not.toBe(pid);
  await api.post("/api/coding/coding_close_session", { sessionId: query.session_id });
});

test("an exchange matches the reference (`vitest -u` records it again)", async () => {
  const { api, url, app } = await open();
  const spawned = await api.post<{ sessionId: string }>("/api/coding/spawn", { agent: "asker", dir: world.repository });
  const { sessionId } = spawned.body;
  const path = `/api/coding/coding_xterm_session?session_id=${sessionId}&cols=60&rows=10`;
  const ws = new WebSocket(url.replace(/^http/, "ws") + path, [terminalProtocol], { headers: await bearer(app) });
  onTestFinished(() => ws.terminate());
  const exchange = noteExchange(ws);
  await expect.poll(() => exchange.lines().some((line) => line.startsWith("< 01")), patience).toBe(true);
  exchange.send({ kind: "resize", cols: 70, rows: 12 });
  await expect.poll(() => exchange.last("size"), patience).toMatchObject({ cols: 70, rows: 12 });
  exchange.send({ kind: "input", data: "Anna\r" });
  await expect.poll(() => exchange.lines().at(-1), patience).toBe("< closed with 1000");
  const hello = exchange.last("hello");
  const told = [
    `> GET ${path}`,
    "> Authorization: Bearer $TOKEN",
    `> Sec-WebSocket-Protocol: ${ws.protocol}`,
    "< 101 Switching Protocols",
    ...exchange.lines(),
  ].join("\n");
  const anywhere = told
    .replaceAll(sessionId, "0b0c…")
    .replaceAll(hello?.kind === "hello" ? hello.terminalId : "none", "7f3a…");
  await expect(`${anywhere}\n`).toMatchFileSnapshot("../../tools/references/terminal-exchange.txt");
});

test("an agent that moves on to another session keeps its viewers", async () => {
  const gateway = await open();
  const { api, url, app } = gateway;
  const asked = await api.ask({ agent: "scripted", dir: world.repository, prompt: "before", waitMs: 30_000 });
  const viewer = openTerminal({ url, headers: await bearer(app), query: { session_id: asked.sessionId } });
  await expect.poll(() => text(viewer), patience).toContain("before");
  viewer.type("/clear");
  await expect.poll(() => text(viewer), patience).toContain("/clear");
  viewer.type("\r");
  await expect.poll(async () => (await api.read(asked.sessionId)).continuedBy, patience).not.toBeNull();
  viewer.type("say here I am\r");
  await expect.poll(() => text(viewer), patience).toContain("here I am");
  expect(viewer.frames.filter(({ kind }) => kind === "hello")).toHaveLength(1);
  await api.post("/api/coding/coding_close_all", {});
  expect(await viewer.closed).toMatchObject({ code: 1000 });
});

test("a gateway that is killed in mid-output: its viewers come back to where they were, nothing lost and nothing twice", async () => {
  const first = await serveWorld(world, token);
  const headers = { authorization: `Bearer ${token}` };
  const spawned = await first.api.post<{ sessionId: string; pid: number }>("/api/coding/spawn", {
    agent: "counter",
    dir: world.repository,
  });
  const query = { session_id: spawned.body.sessionId };
  const before = openTerminal({ url: first.server.url, headers, query });
  await expect.poll(() => before.output().byteLength, patience).toBeGreaterThan(20_000);
  await first.server.end("SIGKILL");
  await before.closed;
  const { offset } = before;
  const [hello] = before.frames;
  if (hello?.kind !== "hello") throw new Error("It began.");

  const second = await serveWorld(world, token);
  const place = { terminal: hello.terminalId, from: offset() };
  const after = openTerminal({ url: second.server.url, headers, query: { ...query, ...place } });
  await expect.poll(() => after.output().byteLength, patience).toBeGreaterThan(20_000);
  expect(after.frames[0]).toMatchObject({ kind: "hello", continued: true, offset: offset() });
  after.close();
  await after.closed;
  const whole = Buffer.concat([before.output(), after.output()]).toString();
  const numbers = [...whole.matchAll(/number (\d+)\r\n/g)].map(([, number]) => Number(number));
  expect(numbers.length).toBeGreaterThan(1_000);
  expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, index) => (numbers[0] ?? 0) + index));

  const screen = openTerminal({ url: second.server.url, headers, query });
  await expect.poll(() => text(screen), patience).toMatch(/number \d+/);
  expect((await second.api.read(query.session_id)).pid).toBe(spawned.body.pid);
  await second.api.post("/api/coding/coding_close_session", { sessionId: query.session_id });
  expect(await screen.closed).toMatchObject({ code: 1000 });
  const stopped = openTerminal({ url: second.server.url, headers, query: { session_id: "unknown" } });
  expect(await stopped.closed).toMatchObject({ code: 4404 });
  await second.server.end("SIGTERM");
});
