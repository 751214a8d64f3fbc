import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { startHttpServer } from "../../test/support/http-server.ts";
import { upgradeRequest } from "../../test/support/raw-http.ts";
import type { Viewer, ViewerLink, ViewRequest } from "../coding/index.ts";
import type { HttpConfig } from "./index.ts";
import { terminalSocket } from "./index.ts";
import { terminalSocketPath } from "./terminal-socket.ts";

interface Seen {
  readonly request: ViewRequest;
  readonly link: ViewerLink;
  readonly received: { readonly text: string; readonly isBinary: boolean }[];
  drained: number;
  left: boolean;
}

/** The socket's face on a real server, with viewers that only note what they are told. */
async function setUp(config: Partial<HttpConfig> = {}) {
  const viewers: Seen[] = [];
  const view = (request: ViewRequest, _caller: unknown, link: ViewerLink): Viewer => {
    const seen: Seen = { request, link, received: [], drained: 0, left: false };
    viewers.push(seen);
    link.sendText("welcome");
    return {
      receive: (data, isBinary) => void seen.received.push({ text: data.toString("latin1"), isBinary }),
      drained: () => void (seen.drained += 1),
      leave: () => void (seen.left = true),
    };
  };
  const server = await startHttpServer(() => [terminalSocket({ viewTerminal: view })], config);
  const open = (query: string, headers: Record<string, string> = {}, protocols: string[] = []): WebSocket => {
    const url = `${server.url.replace("http", "ws")}${terminalSocketPath}${query}`;
    const ws = new WebSocket(url, protocols, { headers });
    ws.on("error", () => undefined); // its close or its response says more
    onTestFinished(() => ws.terminate());
    return ws;
  };
  /** The code and reason of its close, or the HTTP status. */
  const outcome = async (ws: WebSocket): Promise<{ readonly code: number; readonly reason: string }> =>
    new Promise((resolve) => {
      ws.on("unexpected-response", (_request, { statusCode = 0 }) => resolve({ code: statusCode, reason: "" }));
      ws.on("close", (code, reason) => resolve({ code, reason: reason.toString() }));
    });
  return { ...server, viewers, open, outcome };
}

const patience = { timeout: 10_000, interval: 10 };

describe("who may look at a terminal", () => {
  test("drives when the token may, and observes when it may not", async () => {
    const { open, viewers, signedIn, outcome } = await setUp();
    const driving = await signedIn("coding:read", "coding:drive");
    const reading = await signedIn("coding:read");
    for (const [query, headers] of [
      ["?session_id=s1", driving],
      ["?session_id=s1&mode=observe", driving],
      ["?session_id=s1", reading],
    ] as const) {
      await once(open(query, headers), "message");
    }
    expect(viewers.map(({ request }) => request.mode)).toEqual(["drive", "observe", "observe"]);
    expect(await outcome(open("?session_id=s1&mode=drive", reading))).toMatchObject({ code: 4403 });
    expect(await outcome(open("?session_id=s1", await signedIn("logs:read")))).toMatchObject({ code: 4403 });
    expect(viewers).toHaveLength(3);
  });

  test("is told with a close code when it is nobody", async () => {
    const { open, outcome, viewers, signedIn } = await setUp();
    const headers = await signedIn("coding:read");
    expect(await outcome(open("?session_id=s1"))).toMatchObject({ code: 4401 });
    expect(await outcome(open("?session_id=s1", { authorization: "Bearer pst_unknown" }))).toMatchObject({
      code: 4401,
    });
    expect(await outcome(open("?session_id=s1", { cookie: `postern_session=${headers.authorization}` }))).toMatchObject(
      { code: 4401 },
    );
    expect(await outcome(open(`?session_id=s1&ticket=${"x".repeat(43)}`))).toMatchObject({ code: 4401 });
    expect(viewers).toHaveLength(0);
  });

  test("has with a ticket its session and at most its mode", async () => {
    const { open, outcome, viewers, accounts, signedIn, logged } = await setUp();
    const authenticated = await accounts.authenticate({
      kind: "header",
      ...(await signedIn("coding:read", "coding:drive")),
    });
    const ticket = (mode?: "drive" | "observe"): string =>
      accounts.tickets.create(authenticated, { sessionId: "s1", mode }).ticket;
    await once(open(`?session_id=s1&ticket=${ticket()}`), "message");
    await once(open(`?session_id=s1&ticket=${ticket()}&mode=observe`), "message");
    await once(open(`?session_id=s1&ticket=${ticket("observe")}`), "message");
    expect(viewers.map(({ request }) => request.mode)).toEqual(["drive", "observe", "observe"]);
    expect(await outcome(open(`?session_id=s1&mode=drive&ticket=${ticket("observe")}`))).toMatchObject({ code: 4403 });
    const elsewhere = ticket();
    expect(await outcome(open(`?session_id=s2&ticket=${elsewhere}`))).toMatchObject({ code: 4403 });
    expect(await outcome(open(`?session_id=s1&ticket=${elsewhere}`))).toMatchObject({ code: 4401 });
    await expect.poll(() => logged.length, patience).toBeGreaterThan(2);
    expect(logged.join("\n")).not.toContain(elsewhere);
    expect(logged.join("\n")).not.toContain("session_id");
  });

  test("is let go within five seconds when its token is revoked", async () => {
    const { open, outcome, accounts, viewers } = await setUp();
    const { accountId } = await accounts.owner();
    const { token, record } = await accounts.tokens.create(accountId, {
      name: "short",
      scopes: ["coding:read"],
      expiresAt: null,
      folders: null,
    });
    const ws = open("?session_id=s1", { authorization: `Bearer ${token}` });
    await once(ws, "message");
    const ended = outcome(ws);
    const before = performance.now();
    await accounts.tokens.revoke(accountId, record.tokenId);
    expect(await ended).toMatchObject({ code: 4401 });
    expect(performance.now() - before).toBeLessThan(5_000);
    await expect.poll(() => viewers[0]?.left, patience).toBe(true);
  });

  test("is let go then also when it answers no close and types on", async () => {
    const { port, accounts, viewers } = await setUp();
    const { accountId } = await accounts.owner();
    const wanted = { name: "short", scopes: ["coding:read", "coding:drive"], expiresAt: null, folders: null } as const;
    const { token, record } = await accounts.tokens.create(accountId, wanted);
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => undefined); // it is cut off
    const authorization = `Bearer ${token}`;
    const path = `${terminalSocketPath}?session_id=s1`;
    socket.write(upgradeRequest({ port, path, upgrade: "websocket", authorization }));
    await once(socket, "data");
    await expect.poll(() => viewers.length, patience).toBe(1);
    const typing = setInterval(() => socket.write(Buffer.from([0x81, 0x81, 0, 0, 0, 0, 0x78])), 20); // a masked "x"
    onTestFinished(() => clearInterval(typing));
    await expect.poll(() => viewers[0]?.received.length, patience).toBeGreaterThan(0);
    const before = performance.now();
    await accounts.tokens.revoke(accountId, record.tokenId);
    await expect.poll(() => viewers[0]?.left, patience).toBe(true);
    expect(socket.destroyed).toBe(false); // it has been let go before its connection ends
    await once(socket, "close");
    expect(performance.now() - before).toBeLessThan(5_000);
  });

  test("is the owner on the Unix socket, where no page is, and anybody with an open door", async () => {
    const { socketPath, viewers, outcome } = await setUp();
    const overSocket = (headers: Record<string, string> = {}): WebSocket => {
      const ws = new WebSocket(`ws+unix://${socketPath}:${terminalSocketPath}?session_id=s1`, { headers });
      ws.on("error", () => undefined); // its response says more
      onTestFinished(() => ws.terminate());
      return ws;
    };
    await once(overSocket(), "message");
    expect(viewers[0]?.request.mode).toBe("drive");
    expect(await outcome(overSocket({ origin: "http://localhost" }))).toMatchObject({ code: 403 });
    const door = await setUp({ auth: "none" });
    await once(door.open("?session_id=s1"), "message");
    expect(await door.outcome(door.open("?session_id=s1", { origin: "http://evil.example" }))).toMatchObject({
      code: 403,
    });
    expect(await door.outcome(door.open("?session_id=s1", { host: "evil.example" }))).toMatchObject({ code: 403 });
  });
});

describe("a terminal's WebSocket", () => {
  test.for([
    "",
    "?session_id=",
    "?session_id=a&session_id=b",
    "?session_id=a&mode=own",
    "?session_id=a&cols=x&rows=1",
    "?session_id=a&from=-1",
    "?session_id=a&unknown=1",
    `?session_id=${"a".repeat(201)}`,
  ])("refuses a query that does not fit: %s", async (query) => {
    const { open, outcome, signedIn, viewers } = await setUp();
    expect(await outcome(open(query, await signedIn("coding:read")))).toMatchObject({ code: 4400 });
    expect(viewers).toHaveLength(0);
  });

  test("says what its client wants", async () => {
    const { open, viewers, signedIn } = await setUp();
    const headers = await signedIn("coding:read", "coding:drive");
    const plain = open("?session_id=s1&cols=100&rows=30&permissions=terminal", headers);
    await once(plain, "message");
    const v1 = open("?session_id=s1&terminal=t1&from=77&cols=100", headers, ["other", "postern.terminal.v1"]);
    await once(v1, "message");
    expect([plain.protocol, v1.protocol]).toEqual(["", "postern.terminal.v1"]);
    expect(viewers.map(({ request }) => request)).toEqual([
      {
        sessionId: "s1",
        mode: "drive",
        size: { cols: 100, rows: 30 },
        protocol: "plain",
        continueAt: undefined,
        permissionsInTerminal: true,
      },
      {
        sessionId: "s1",
        mode: "drive",
        size: undefined,
        protocol: "v1",
        continueAt: { terminalId: "t1", offset: 77 },
        permissionsInTerminal: false,
      },
    ]);
  });

  test("carries text and bytes both ways, up to 4 MiB at once, and closes on more and on what is no text", async () => {
    const { open, viewers, signedIn, outcome } = await setUp();
    const headers = await signedIn("coding:read", "coding:drive");
    const ws = open("?session_id=s1", headers);
    await once(ws, "message");
    const [viewer] = viewers;
    if (viewer === undefined) throw new Error("It was let in.");
    ws.send("text");
    ws.send(Buffer.from([0xff, 0x00]));
    ws.send(Buffer.alloc(4 * 1024 * 1024, "x"));
    await expect.poll(() => viewer.received.length, patience).toBe(3);
    expect(viewer.received.slice(0, 2)).toEqual([
      { text: "text", isBinary: false },
      { text: "\xff\x00", isBinary: true },
    ]);
    const messages: [string, boolean][] = [];
    ws.on("message", (data, isBinary) => messages.push([data instanceof Buffer ? data.toString() : "", isBinary]));
    viewer.link.sendText(Buffer.from("grün"));
    viewer.link.sendBinary(Buffer.from("bytes"));
    viewer.link.close(1000, "ü".repeat(100));
    const closed = await outcome(ws);
    expect(messages).toEqual([
      ["grün", false],
      ["bytes", true],
    ]);
    expect(closed).toEqual({ code: 1000, reason: "ü".repeat(61) });
    await expect.poll(() => viewer.left, patience).toBe(true);
    viewer.link.sendText("too late"); // nothing happens

    const huge = open("?session_id=s1", headers);
    await once(huge, "message");
    huge.send(Buffer.alloc(5 * 1024 * 1024));
    expect(await outcome(huge)).toMatchObject({ code: 1009 });
    const broken = open("?session_id=s1", headers);
    await once(broken, "message");
    broken.send(Buffer.from([0xff, 0xfe]), { binary: false });
    expect(await outcome(broken)).toMatchObject({ code: 1007 });
  });

  test("counts what its client does not take, and tells when it was taken", async () => {
    const { open, viewers, signedIn } = await setUp();
    const ws = open("?session_id=s1", await signedIn("coding:read"));
    await once(ws, "message");
    const [viewer] = viewers;
    if (viewer === undefined) throw new Error("It was let in.");
    ws.pause();
    const piece = Buffer.alloc(1024 * 1024, "x");
    await expect
      .poll(() => {
        viewer.link.sendBinary(piece);
        return viewer.link.unsentBytes();
      }, patience)
      .toBeGreaterThan(piece.byteLength);
    const { drained } = viewer;
    ws.resume();
    await expect.poll(() => viewer.link.unsentBytes(), patience).toBe(0);
    await expect.poll(() => viewer.drained, patience).toBe(drained + 1);
  });

  test("is closed with 1012 when the gateway stops, also for who answers nothing", async () => {
    const { open, outcome, signedIn, close, port } = await setUp();
    const headers = await signedIn("coding:read");
    const ws = open("?session_id=s1", headers);
    await once(ws, "message");
    const mute = connect(port, "127.0.0.1");
    onTestFinished(() => void mute.destroy());
    mute.write(upgradeRequest({ port, path: `${terminalSocketPath}?session_id=s1`, upgrade: "websocket", ...headers }));
    await once(mute, "data");
    const ended = outcome(ws);
    const before = performance.now();
    await close();
    expect(await ended).toMatchObject({ code: 1012 });
    expect(performance.now() - before).toBeLessThan(3_000);
  });

  test("is nowhere else, and other protocols are answered as plain HTTP", async () => {
    const { port, url } = await setUp();
    const lost = new WebSocket(`${url.replace("http", "ws")}/api/coding/other`);
    lost.on("error", () => undefined); // the response says more
    const [, response] = await once(lost, "unexpected-response");
    expect(response.statusCode).toBe(404);
    const socket = connect(port, "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    socket.write(upgradeRequest({ port, path: "/healthz", upgrade: "h2c" }));
    const [answer] = await once(socket, "data");
    expect(String(answer)).toMatch(/^HTTP\/1\.1 404 /); // no such route on this server, and no 101
  });

  test("survives whatever a client sends on its connection", async () => {
    const { open, port, signedIn, viewers } = await setUp();
    const headers = await signedIn("coding:read", "coding:drive");
    for (let round = 0; round < 40; round += 1) {
      const socket = connect(port, "127.0.0.1");
      socket.on("error", () => undefined); // it was cut off
      socket.write(
        upgradeRequest({ port, path: `${terminalSocketPath}?session_id=s1`, upgrade: "websocket", ...headers }),
      );
      if (round % 4 === 0) socket.destroy();
      else await once(socket, "data");
      if (round % 4 === 1) socket.destroy();
      else if (!socket.destroyed)
        socket.end(Buffer.from(Array.from({ length: 200 }, () => Math.floor(Math.random() * 256))));
      if (!socket.destroyed) await once(socket, "close");
    }
    await expect.poll(() => viewers.filter(({ left }) => !left).length, patience).toBe(0);
    await once(open("?session_id=s1", headers), "message");
  });
});
