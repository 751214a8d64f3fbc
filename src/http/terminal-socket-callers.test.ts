import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { upgradeRequest } from "../../test/support/raw-http.ts";
import { startTerminalSocket } from "../../test/support/terminal-socket.ts";
import { terminalSocketPath } from "./terminal-socket.ts";

const patience = { timeout: 10_000, interval: 10 };

describe("a caller of a terminal", () => {
  test("drives with coding:drive, and observes without it", async () => {
    const { open, viewers, signedIn, outcome } = await startTerminalSocket();
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

  test("gets a close code if unauthenticated", async () => {
    const { open, outcome, viewers, signedIn } = await startTerminalSocket();
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

  test("with a ticket is limited to its session and mode", async () => {
    const { open, outcome, viewers, accounts, signedIn, logged } = await startTerminalSocket();
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

  test("is disconnected within five seconds when its token is revoked", async () => {
    const { open, outcome, accounts, viewers } = await startTerminalSocket();
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

  test("is disconnected even if it ignores the close and keeps typing", async () => {
    const { port, accounts, viewers } = await startTerminalSocket();
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
    expect(socket.destroyed).toBe(false); // the viewer is detached before its connection ends
    await new Promise((closed) => socket.once("close", closed));
    expect(performance.now() - before).toBeLessThan(5_000);
  });

  test("is the owner on the Unix socket, which no page can reach, and anyone without authentication", async () => {
    const { socketPath, viewers, outcome } = await startTerminalSocket();
    const overSocket = (headers: Record<string, string> = {}): WebSocket => {
      const ws = new WebSocket(`ws+unix://${socketPath}:${terminalSocketPath}?session_id=s1`, { headers });
      ws.on("error", () => undefined); // its response has the details
      onTestFinished(() => ws.terminate());
      return ws;
    };
    await once(overSocket(), "message");
    expect(viewers[0]?.request.mode).toBe("drive");
    expect(await outcome(overSocket({ origin: "http://localhost" }))).toMatchObject({ code: 403 });
    const door = await startTerminalSocket({ auth: "none" });
    await once(door.open("?session_id=s1"), "message");
    expect(await door.outcome(door.open("?session_id=s1", { origin: "http://evil.example" }))).toMatchObject({
      code: 403,
    });
    expect(await door.outcome(door.open("?session_id=s1", { host: "evil.example" }))).toMatchObject({ code: 403 });
  });
});
