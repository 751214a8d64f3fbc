import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { createFakeClock } from "../../test/support/fake-clock.ts";
import { startHttpServer, type TestHttpServer } from "../../test/support/http-server.ts";
import { rawRequest, upgradeRequest } from "../../test/support/raw-http.ts";
import { bodyDeadlineMs, maxCallers, maxPipelined, maxStrangers } from "./connection-shares.ts";
import { healthRoutes, type RouteModule } from "./index.ts";

const upgradePath = "/api/coding/socket";

/** A route and a WebSocket for authenticated callers, and a route for everyone that accepts a body. */
const routes: RouteModule = ({ app, onUpgrade }) => {
  app.route({
    method: "POST",
    url: "/api/echo",
    config: { access: "signed-in" },
    preParsing: async (_request, reply) => reply.raw.writeProcessing(), // tells the test that the caller is authenticated
    handler: async ({ body }) => body,
  });
  app.route({ method: "POST", url: "/open", config: { access: "public" }, handler: async ({ body }) => body });
  onUpgrade(upgradePath, ({ ws }) => ws.send("welcome"));
};

const setUp = (more: Parameters<typeof startHttpServer>[2] = {}, config: Parameters<typeof startHttpServer>[1] = {}) =>
  startHttpServer(() => [healthRoutes, routes], config, more);

/** A connection from this address on which `text` was sent; destroyed with the test. */
async function open({ port }: TestHttpServer, text: string, from = "127.0.0.1"): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", localAddress: from });
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => undefined); // it was cut off
  await once(socket, "connect");
  socket.write(text);
  return socket;
}

async function openMany(count: number, one: (index: number) => Promise<Socket>): Promise<readonly Socket[]> {
  const opened: Socket[] = [];
  while (opened.length < count) {
    const batch = Array.from({ length: Math.min(100, count - opened.length) }, (_, at) => one(opened.length + at));
    opened.push(...(await Promise.all(batch)));
  }
  return opened;
}

const patience = { timeout: 10_000 };
const closedOf = (sockets: readonly Socket[]): number => sockets.filter(({ destroyed }) => destroyed).length;

const halfRequest = "GET / HTTP/1.1\r\nHost: ";

function slowBody(authorization: string, path = "/api/echo"): string {
  const head = [`POST ${path} HTTP/1.1`, "Host: localhost", authorization, "Content-Type: application/json"];
  return `${[...head, "Content-Length: 1000"].filter((line) => line !== "").join("\r\n")}\r\n\r\n{`;
}

const shapes: Readonly<Record<string, (server: TestHttpServer) => string>> = {
  "half requests": () => halfRequest,
  "slow bodies": ({ port }) => slowBody("", "/open").replace("localhost", `localhost:${port}`),
  "idle WebSockets": ({ port }) =>
    upgradeRequest({ port, path: upgradePath, upgrade: "websocket", authorization: "Bearer pst_wrong" }),
};

const manyAddresses = Array.from({ length: 50 }, (_, n) => `127.0.0.${n + 2}`);
const floods = [
  { shape: "half requests", name: "one address", from: ["127.0.0.1"] },
  ...Object.keys(shapes).map((shape) => ({ shape, name: "50 addresses", from: manyAddresses })),
];
const canFlood = process.platform === "linux"; // elsewhere 127.0.0.2 is not a loopback address

test.skipIf(!canFlood).each(floods)(
  "a flood of $shape from $name does not lock out other callers",
  async ({ shape, from }) => {
    const server = await setUp();
    const headers = await server.signedIn("coding:read");
    const kept = new WebSocket(`ws://127.0.0.1:${server.port}${upgradePath}`, { headers });
    onTestFinished(() => kept.terminate());
    await once(kept, "message");
    const text = shapes[shape]?.(server) ?? "";
    await openMany(maxStrangers + 200, (index) => open(server, text, from[index % from.length]));
    const answers = await Promise.all(
      Array.from({ length: 30 }, async () => {
        const answer = await fetch(`${server.url}/api/echo`, { method: "POST", headers });
        return answer.status;
      }),
    );
    expect(answers).toEqual(answers.map(() => 200));
    expect((await rawRequest({ path: server.socketPath }, ["GET /healthz HTTP/1.1", "Host: x"])).status).toBe(200);
    expect(kept.readyState).toBe(WebSocket.OPEN);
  },
);

test.skipIf(!canFlood)("a flood from one address closes only its own oldest connections", async () => {
  const server = await setUp();
  const other = await open(server, halfRequest, "127.0.0.2");
  const flood = await openMany(maxStrangers + 10, () => open(server, halfRequest));
  await expect.poll(() => closedOf(flood), patience).toBe(11);
  expect(flood.slice(0, 11).every(({ destroyed }) => destroyed)).toBe(true);
  expect(server.logged.join("\n")).toContain("too many connections");
  other.write(`localhost:${server.port}\r\nConnection: close\r\n\r\n`);
  expect(String(await once(other, "data"))).toMatch(/^HTTP\/1\.1 404 /);
});

test("one caller's connections never close another caller's", async () => {
  const server = await setUp();
  const kept = new WebSocket(`ws://127.0.0.1:${server.port}${upgradePath}`, {
    headers: await server.signedIn("coding:read"),
  });
  onTestFinished(() => kept.terminate());
  await once(kept, "message");
  const { authorization } = await server.signedIn("logs:read");
  const text = upgradeRequest({ port: server.port, path: upgradePath, upgrade: "websocket", authorization });
  const many = await openMany(maxCallers + 5, () => open(server, text));
  for (const socket of many) socket.resume();
  await expect.poll(() => closedOf(many), patience).toBe(6);
  expect(kept.readyState).toBe(WebSocket.OPEN);
});

test("behind a trusted proxy the share belongs to the client's address", async () => {
  const server = await setUp({}, { trustedProxies: ["127.0.0.1"] });
  const through = (client: string, text: string) =>
    open(server, text.replace("\r\n", `\r\nX-Forwarded-For: ${client}\r\n`));
  const text = slowBody("", "/open").replace("localhost", `localhost:${server.port}`);
  const other = await through("192.0.2.1", text);
  const flood = await openMany(maxStrangers + 10, () => through("192.0.2.2", text));
  await expect.poll(() => closedOf(flood), patience).toBe(11);
  expect(other.destroyed).toBe(false);
});

test("a body must arrive within ten seconds, unless its caller is authenticated", async () => {
  const clock = createFakeClock();
  const server = await setUp({ clock }, { socketPath: null });
  const host = `localhost:${server.port}`;
  const { authorization } = await server.signedIn("coding:read");
  const [stranger, refused, caller] = await Promise.all([
    open(server, slowBody("", "/open").replace("localhost", host)),
    open(server, slowBody("Authorization: Bearer pst_wrong").replace("localhost", host)),
    open(server, slowBody(`Authorization: ${authorization}`).replace("localhost", host)),
  ]);
  const late = once(stranger, "data");
  expect(String(await once(refused, "data"))).toMatch(/^HTTP\/1\.1 401 /);
  expect(String(await once(caller, "data"))).toMatch(/^HTTP\/1\.1 102 /);
  await expect.poll(() => clock.nextAt, patience).not.toBeNull();
  await clock.advance(bodyDeadlineMs);
  expect(String(await late)).toMatch(/^HTTP\/1\.1 408 /);
  for (const socket of [stranger, refused]) socket.resume();
  await expect
    .poll(() => [stranger, refused, caller].map(({ destroyed }) => destroyed), patience)
    .toEqual([true, true, false]);
  caller.write(`${" ".repeat(998)}}`);
  expect(String(await once(caller, "data"))).toMatch(/^HTTP\/1\.1 200 /);
});

test("a connection accepts few concurrent requests, and many sequential ones", async () => {
  const server = await setUp();
  const one = `GET /healthz HTTP/1.1\r\nHost: localhost:${server.port}\r\n\r\n`;
  const burst = await open(server, one.repeat(1_000));
  burst.resume();
  await once(burst, "close");
  const answered = () => server.logged.filter((line) => line.includes("/healthz")).length;
  expect(answered()).toBeLessThanOrEqual(maxPipelined);
  const before = answered();
  const patient = await open(server, one);
  for (let count = 0; count < 20; count += 1) {
    expect(String(await once(patient, "data"))).toMatch(/^HTTP\/1\.1 200 /);
    patient.write(one);
  }
  await expect.poll(answered, patience).toBe(before + 21);
});
