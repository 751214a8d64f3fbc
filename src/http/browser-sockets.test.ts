import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { startHttpServer } from "../../test/support/http-server.ts";
import { signInBrowser } from "../../test/support/signed-in-browser.ts";
import { terminalTicketSchema } from "../wire/terminal.ts";
import { type RouteModule, signInRoutes, ticketRoutes } from "./index.ts";
import { terminalSocketPath } from "./terminal-socket.ts";

const gateway = { id: "g", version: "1.2.3", baseUrl: "http://localhost:7177" };

/** Replaces the terminal: records the callers that are connected. */
const greetingSocket: RouteModule = ({ onUpgrade }) =>
  onUpgrade(terminalSocketPath, ({ ws, principal }) => ws.send(principal.kind));

async function setUp() {
  const server = await startHttpServer(({ accounts }) => [
    signInRoutes({ accounts, gateway: () => gateway }),
    ticketRoutes(accounts),
    greetingSocket,
  ]);
  const browser = await signInBrowser(server);
  const own = `http://127.0.0.1:${server.port}`;
  const ticket = async (): Promise<string> => {
    const { body } = await browser.send("POST", "/api/coding/terminal-ticket", { body: { sessionId: "s1" } });
    return terminalTicketSchema.parse(JSON.parse(body)).ticket;
  };
  /** An attempt by a page: the browser sends its cookie and the page's origin. */
  const connect = (page: { readonly origin?: string; readonly host?: string }, query = "") => {
    const host = page.host ?? `127.0.0.1:${server.port}`;
    const ws = new WebSocket(`ws://127.0.0.1:${server.port}${terminalSocketPath}?session_id=s1${query}`, {
      headers: { host, cookie: browser.cookie },
      ...(page.origin === undefined ? {} : { origin: page.origin }),
    });
    onTestFinished(() => ws.terminate());
    return ws;
  };
  /** The result: an HTTP status, the received message, or the close code. */
  const attempt = (...given: Parameters<typeof connect>): Promise<unknown> =>
    new Promise((resolve) => {
      const ws = connect(...given);
      ws.on("unexpected-response", (_request, { statusCode }) => resolve(statusCode));
      ws.on("message", (data) => resolve(data instanceof Buffer ? data.toString() : data));
      ws.on("close", resolve);
      ws.on("error", () => undefined); // its response or close has the details
    });
  return { ...server, browser, own, ticket, connect, attempt };
}

test("a page on another port, which gets the cookie, cannot open a WebSocket; neither can a cross-site page", async () => {
  const { attempt, own, port, ticket } = await setUp();
  const stolen = `&ticket=${await ticket()}`;
  for (const origin of [`http://127.0.0.1:${port + 1}`, `http://localhost:${port}`, "http://evil.example", "null"]) {
    expect(await attempt({ origin }), origin).toBe(403);
    expect(await attempt({ origin }, stolen), origin).toBe(403);
  }
  const host = `evil.example:${port}`;
  expect(await attempt({ host, origin: `http://${host}` }, stolen)).toBe(403);
  expect(await attempt({ origin: own }, stolen)).toBe("browser"); // the refused attempts did not consume the ticket
});

test("the gateway's own page cannot open a WebSocket with the cookie alone; a ticket works once", async () => {
  const { attempt, own, ticket, browser } = await setUp();
  expect(await attempt({ origin: own })).toBe(4401);
  expect(await attempt({ origin: own }, `&ticket=${browser.key}`)).toBe(4401);
  const query = `&ticket=${await ticket()}`;
  expect(await attempt({ origin: own }, query)).toBe("browser");
  expect(await attempt({ origin: own }, query)).toBe(4401);
});

test("a browser that signs out loses its WebSockets within five seconds", async () => {
  const { connect, own, ticket, browser } = await setUp();
  const ws = connect({ origin: own }, `&ticket=${await ticket()}`);
  await once(ws, "message");
  const closed = once(ws, "close");
  const before = performance.now();
  expect((await browser.send("POST", "/api/sign-out")).status).toBe(204);
  expect((await closed)[0]).toBe(4401);
  expect(performance.now() - before).toBeLessThan(5_000);
});
