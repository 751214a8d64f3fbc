import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { upgradeRequest } from "../../test/support/raw-http.ts";
import { startTerminalSocket } from "../../test/support/terminal-socket.ts";
import { terminalSocketPath } from "./terminal-socket.ts";

const patience = { timeout: 10_000, interval: 10 };

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
  ])("refuses an invalid query: %s", async (query) => {
    const { open, outcome, signedIn, viewers } = await startTerminalSocket();
    expect(await outcome(open(query, await signedIn("coding:read")))).toMatchObject({ code: 4400 });
    expect(viewers).toHaveLength(0);
  });

  test("passes on the client's request", async () => {
    const { open, viewers, signedIn } = await startTerminalSocket();
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

  test("carries text and bytes both ways, up to 4 MiB each, and closes on larger messages and invalid text", async () => {
    const { open, viewers, signedIn, outcome } = await startTerminalSocket();
    const headers = await signedIn("coding:read", "coding:drive");
    const ws = open("?session_id=s1", headers);
    await once(ws, "message");
    const [viewer] = viewers;
    if (viewer === undefined) throw new Error("The viewer did not attach.");
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
    viewer.link.sendText("too late"); // is ignored after the close

    const huge = open("?session_id=s1", headers);
    await once(huge, "message");
    huge.send(Buffer.alloc(5 * 1024 * 1024));
    expect(await outcome(huge)).toMatchObject({ code: 1009 });
    const broken = open("?session_id=s1", headers);
    await once(broken, "message");
    broken.send(Buffer.from([0xff, 0xfe]), { binary: false });
    expect(await outcome(broken)).toMatchObject({ code: 1007 });
  });

  test("counts unread data and reports when it was read", async () => {
    const { open, viewers, signedIn } = await startTerminalSocket();
    const ws = open("?session_id=s1", await signedIn("coding:read"));
    await once(ws, "message");
    const [viewer] = viewers;
    if (viewer === undefined) throw new Error("The viewer did not attach.");
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

  test("is closed with 1012 when the gateway stops, even if the client does not respond", async () => {
    const { open, outcome, signedIn, close, port } = await startTerminalSocket();
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

  test("exists only on its route, and other protocols are answered as plain HTTP", async () => {
    const { port, url } = await startTerminalSocket();
    const lost = new WebSocket(`${url.replace("http", "ws")}/api/coding/other`);
    lost.on("error", () => undefined); // the response has the details
    const [, response] = await once(lost, "unexpected-response");
    expect(response.statusCode).toBe(404);
    const socket = connect(port, "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    socket.write(upgradeRequest({ port, path: "/healthz", upgrade: "h2c" }));
    const [answer] = await once(socket, "data");
    expect(String(answer)).toMatch(/^HTTP\/1\.1 404 /); // this server has no such route, and must not answer 101
  });

  test("survives any data from a client", async () => {
    const { open, port, signedIn, viewers } = await startTerminalSocket();
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
      if (!socket.closed) await new Promise((closed) => socket.once("close", closed));
    }
    await expect.poll(() => viewers.filter(({ left }) => !left).length, patience).toBe(0);
    await once(open("?session_id=s1", headers), "message");
  });
});
