import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, rm, stat, writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { networkInterfaces } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { createFakeClock } from "../../test/support/fake-clock.ts";
import { startHttpServer } from "../../test/support/http-server.ts";
import { rawRequest } from "../../test/support/raw-http.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { silentLog } from "../core/log.ts";
import { watchSocket } from "../core/socket-watch.ts";
import { type HttpConfig, healthRoutes, type RouteModule, registerTool } from "./index.ts";
import { answerBrokenRequest } from "./listeners.ts";

/** Returns the caller's identity. */
const whoRoutes: RouteModule = (server) =>
  registerTool(server, {
    name: "who",
    title: "Who",
    description: "Who is calling.",
    input: z.strictObject({}),
    output: z.unknown(),
    scope: "coding:read",
    effects: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
    quotesTranscripts: false,
    run: async (_input, { kind, scopes }) => ({ kind, scopes: [...scopes] }),
  });

const setUp = (config: Partial<HttpConfig> = {}) => startHttpServer(() => [healthRoutes, whoRoutes], config);
const whoLines = ["POST /api/coding/who HTTP/1.1", "Host: anything"];
const hasIpv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === "::1"));

test("both loopback addresses answer on one port", async () => {
  const { port, addresses, logged } = await setUp();
  const lines = ["GET /healthz HTTP/1.1", `Host: localhost:${port}`];
  expect((await rawRequest({ host: "127.0.0.1", port }, lines)).status).toBe(200);
  if (hasIpv6) {
    expect(addresses).toEqual([`http://127.0.0.1:${port}`, `http://[::1]:${port}`]);
    expect((await rawRequest({ host: "::1", port }, lines)).status).toBe(200);
  } else {
    expect(addresses).toEqual([`http://127.0.0.1:${port}`]);
    expect(logged.join()).toContain("no such address");
  }
});

test("only the owner can open the owner's socket, and its callers are the owner", async () => {
  const { socketPath } = await setUp();
  expect(((await stat(socketPath)).mode & 0o777).toString(8)).toBe("600");
  expect(((await stat(dirname(socketPath))).mode & 0o777).toString(8)).toBe("700");
  const answer = await rawRequest({ path: socketPath }, whoLines);
  expect(answer.status).toBe(200);
  expect(JSON.parse(answer.body)).toMatchObject({
    kind: "socket",
    scopes: expect.arrayContaining(["admin", "coding:drive"]),
  });
});

test("no TCP caller is the owner, whatever the request contains", async () => {
  const { port } = await setUp();
  const lines = ["POST /api/coding/who HTTP/1.1", `Host: localhost:${port}`, "X-Forwarded-For: unix"];
  expect((await rawRequest({ host: "127.0.0.1", port }, lines)).status).toBe(401);
});

test("a token on the owner's socket limits the caller to it, and an invalid one is refused", async () => {
  const { socketPath, token } = await setUp();
  const withToken = (text: string) => rawRequest({ path: socketPath }, [...whoLines, `Authorization: Bearer ${text}`]);
  expect(JSON.parse((await withToken(await token("coding:read"))).body)).toEqual({
    kind: "token",
    scopes: ["coding:read"],
  });
  expect((await withToken(await token("logs:read"))).status).toBe(403);
  expect((await withToken("pst_wrong")).status).toBe(401);
});

test("a page cannot reach the owner's socket through any proxy in front of it", async () => {
  const { socketPath } = await setUp();
  const answer = await rawRequest({ path: socketPath }, [...whoLines, "Origin: http://localhost:7177"]);
  expect(answer.status).toBe(403);
});

test("the socket of a gateway that was killed is replaced", async () => {
  const folder = await makeTempFolder();
  const socketPath = join(folder, "gateway.sock");
  const program = "require('node:net').createServer().listen(process.argv[1], () => console.log('up'))";
  const killed = spawn(process.execPath, ["-e", program, socketPath], { stdio: ["ignore", "pipe", "inherit"] });
  await once(killed.stdout, "data");
  killed.kill("SIGKILL");
  await once(killed, "exit");
  expect(await readdir(folder)).toEqual(["gateway.sock"]);
  await setUp({ socketPath });
  expect((await rawRequest({ path: socketPath }, whoLines)).status).toBe(200);
});

test("the owner's socket is recreated when it was removed, even with its folder, and pending requests are answered", async () => {
  const { socketPath, close } = await setUp();
  const held = connect(socketPath);
  onTestFinished(() => void held.destroy());
  await once(held, "connect");
  for (const removed of [socketPath, dirname(socketPath)]) {
    await rm(removed, { recursive: true });
    await vi.waitFor(async () => {
      expect((await rawRequest({ path: socketPath }, whoLines)).status).toBe(200);
    }, 10_000);
    expect(((await stat(socketPath)).mode & 0o777).toString(8)).toBe("600");
  }
  held.write(`${[...whoLines, "Connection: close"].join("\r\n")}\r\n\r\n`);
  expect(String(await once(held, "data"))).toMatch(/^HTTP\/1\.1 200 /);
  await close();
  expect(await readdir(dirname(socketPath))).toEqual([]);
});

test("another process's socket in place of a removed one is left alone", async () => {
  const { socketPath } = await setUp();
  await rm(socketPath);
  const other = createServer((socket) => socket.end("other"));
  onTestFinished(() => void other.close());
  await once(other.listen(socketPath), "listening");
  const { ino } = await stat(socketPath);
  const clock = createFakeClock();
  const listen = vi.fn();
  const stop = watchSocket(socketPath, { clock, log: silentLog, listen });
  await clock.advance(10_000);
  await stop();
  expect(listen).not.toHaveBeenCalled();
  expect((await stat(socketPath)).ino).toBe(ino);
});

test("a second gateway of the same home is refused and leaves the first one alone", async () => {
  const first = await setUp();
  const second = setUp({ socketPath: first.socketPath });
  await expect(second).rejects.toMatchObject({
    code: "gateway_running",
    message: expect.stringContaining(first.socketPath),
  });
  expect((await rawRequest({ path: first.socketPath }, whoLines)).status).toBe(200);
});

test("a file that is not a socket is never removed", async () => {
  const folder = await makeTempFolder();
  await mkdir(join(folder, "run"));
  const path = join(folder, "run/gateway.sock");
  await writeFile(path, "mine");
  await expect(setUp({ socketPath: path })).rejects.toMatchObject({ code: "address_in_use" });
  expect(await readdir(join(folder, "run"))).toEqual(["gateway.sock"]);
});

test("an error names the port in use, and nothing keeps listening", async () => {
  const taken = createServer();
  taken.listen(0, "127.0.0.1");
  await once(taken, "listening");
  const address = taken.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const folder = await makeTempFolder();
  const socketPath = join(folder, "gateway.sock");
  await expect(setUp({ hosts: ["127.0.0.1"], port, socketPath })).rejects.toMatchObject({
    code: "address_in_use",
    message: expect.stringContaining(String(port)),
  });
  expect(await readdir(folder)).toEqual([]);
  taken.close();
});

test("an error names an address that this machine does not have", async () => {
  await expect(setUp({ hosts: ["192.0.2.1"] })).rejects.toMatchObject({
    code: "address_not_available",
    message: expect.stringContaining("192.0.2.1"),
  });
});

test("a socket is removed when its gateway has stopped", async () => {
  const { close, socketPath } = await setUp();
  await close();
  expect(await readdir(dirname(socketPath))).toEqual([]);
});

test.each([
  ["nothing arrived is closed without a response", "", ""],
  ["half a request came gets a 408", "GET / HTTP/1.1\r\nHost:", "HTTP/1.1 408 Request Timeout"],
])("a connection on which for the whole timeout %s", async (_what, sent, status) => {
  const late = Object.assign(new Error("late"), { code: "ERR_HTTP_REQUEST_TIMEOUT" });
  const server = createServer((socket) => {
    if (sent === "") answerBrokenRequest(late, socket);
    else socket.once("data", () => answerBrokenRequest(late, socket));
  });
  onTestFinished(() => void server.close());
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = z.object({ port: z.number() }).parse(server.address());
  const client = connect(address.port, "127.0.0.1");
  if (sent !== "") client.write(sent);
  let answer = "";
  client.on("data", (chunk) => (answer += chunk.toString()));
  await once(client, "close");
  expect(answer.split("\r\n")[0]).toBe(status);
});

test("a connection that is refused is closed, also when its client never closes it", async () => {
  const refused = Promise.withResolvers<void>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.once("close", () => refused.resolve());
    socket.once("data", () => answerBrokenRequest(new Error("no HTTP"), socket));
  });
  onTestFinished(() => void server.close());
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = z.object({ port: z.number() }).parse(server.address());
  const mute = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  onTestFinished(() => void mute.destroy());
  mute.write("NO HTTP");
  expect(String(await once(mute, "data"))).toMatch(/^HTTP\/1\.1 400 /);
  await refused.promise;
});
