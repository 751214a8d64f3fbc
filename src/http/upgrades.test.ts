import { once } from "node:events";
import { createServer } from "node:http";
import { connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { createFakeClock } from "../../test/support/fake-clock.ts";
import { upgradeRequest } from "../../test/support/raw-http.ts";
import type { Principal } from "../accounts/index.ts";
import { silentLog } from "../core/log.ts";
import { createHolds } from "./holds.ts";
import { createUpgrades } from "./upgrades.ts";

const principal: Principal = {
  accountId: "owner",
  kind: "open",
  scopes: new Set(),
  folders: null,
  tokenId: null,
  browserSessionId: null,
  app: null,
  resource: "all",
  expiresAt: null,
};

test("an unresponsive peer is dropped within a minute, one that answers pings stays", async () => {
  const clock = createFakeClock();
  const upgrades = createUpgrades({
    accounts: {
      authenticate: async () => principal,
      tickets: { create: () => expect.fail(), redeem: async () => null },
    },
    holds: createHolds({ refresh: async () => principal, isVisible: async () => true, clock }),
    clock,
    log: silentLog,
    auth: "none",
    checkPlace: () => undefined,
    isOwnerSocket: () => false,
    onAuthenticated: () => undefined,
  });
  const served: WebSocket[] = [];
  upgrades.on("/echo", ({ ws }) => {
    if (ws instanceof WebSocket) served.push(ws);
    ws.send("welcome");
  });
  const server = createServer();
  server.on("upgrade", (request, connection, head) => upgrades.handle(request, connection, head));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    await upgrades.close();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("It listens on a port.");
  const { port } = address;

  const alive = new WebSocket(`ws://127.0.0.1:${port}/echo`);
  await once(alive, "message");
  const mute = connect(port, "127.0.0.1");
  mute.write(upgradeRequest({ port, path: "/echo", upgrade: "websocket" }));
  await once(mute, "data");
  const gone = once(mute, "close");
  mute.resume();
  const [ofAlive, ofMute] = served;
  if (ofAlive === undefined || ofMute === undefined) throw new Error("Both are served.");
  let closedAt = 0;
  ofMute.once("close", () => (closedAt = clock.now()));
  const beganAt = clock.now();
  while (clock.now() - beganAt < 300_000) {
    const answered = once(ofAlive, "pong");
    await clock.advance(20_000);
    await answered;
  }
  await gone;
  expect(closedAt - beganAt).toBeGreaterThan(20_000);
  expect(closedAt - beganAt).toBeLessThanOrEqual(60_000);
  expect(alive.readyState).toBe(alive.OPEN);
});
