import { once } from "node:events";
import { createServer, request, type Server } from "node:http";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { browserKeyHeader } from "../../src/wire/sign-in.ts";
import { signInUrl, useBrowser } from "../support/browser.ts";
import { createWorld, startGateway, type TestGateway, type World } from "../support/gateway.ts";
import { useGateway } from "../support/use-gateway.ts";

const waiting = {
  name: "waiting",
  binary: "/bin/sh",
  startArgs: ["-c", "echo ready; exec cat"],
  readyPattern: "ready",
};
const foreignName = "elsewhere.example";

const used = useGateway({ agents: false, config: { agents: [waiting] } });
const browser = useBrowser([
  `--host-resolver-rules=MAP ${foreignName} 127.0.0.1`,
  // Newer browsers ask before a page reaches the loopback; the gateway has to be safe in those that do not.
  "--disable-features=LocalNetworkAccessChecks",
]);

/** A gateway that asks nobody who they are: there the checks of `Host` and `Origin` stand alone. */
let openWorld: World;
let openGateway: TestGateway;
/** Another server of this machine, as an agent may start one; it keeps the cookies that it is sent. */
let neighbour: Server;
let neighbourPort = 0;
const cookiesSeen: string[] = [];
beforeAll(async () => {
  openWorld = await createWorld({ agents: false, config: { agents: [waiting] }, env: { POSTERN_AUTH: "none" } });
  openGateway = await startGateway(openWorld);
  neighbour = createServer((incoming, response) => {
    cookiesSeen.push(incoming.headers.cookie ?? "");
    response.setHeader("content-type", "text/html");
    response.end("<!doctype html><title>A page of somebody else</title>");
  }).listen(0, "127.0.0.1");
  await once(neighbour, "listening");
  const address = neighbour.address();
  neighbourPort = typeof address === "object" && address !== null ? address.port : 0;
});
afterAll(async () => {
  neighbour.close();
  neighbour.closeAllConnections();
  await openGateway.close();
  await openWorld.close();
});

/** What becomes of a call that a page makes; the reason when the browser keeps its answer from the page. */
function fetchIn(page: Page, url: string, init: object = {}): Promise<unknown> {
  return page.evaluate(`fetch(${JSON.stringify(url)}, ${JSON.stringify({ credentials: "include", ...init })}).then(
    (response) => (response.type === "opaque" ? "opaque" : response.status),
    () => "kept from the page",
  )`);
}

/** `open` and the first thing that came, or that it did not open. */
function socketIn(page: Page, url: string): Promise<unknown> {
  return page.evaluate(`new Promise((resolve) => {
    const socket = new WebSocket(${JSON.stringify(url)});
    socket.onmessage = ({ data }) => (resolve("shown " + (typeof data === "string" ? data : "bytes").slice(0, 20)), socket.close());
    socket.onclose = ({ code }) => resolve("closed " + code);
  })`);
}

async function startSession({ api }: TestGateway, world: World): Promise<string> {
  const { body } = await api.post<{ sessionId: string }>("/api/coding/spawn", {
    agent: "waiting",
    dir: world.repository,
  });
  return body.sessionId;
}

function terminalOf(origin: string, query: Readonly<Record<string, string>>): string {
  return `${origin.replace("http", "ws")}/api/coding/coding_xterm_session?${new URLSearchParams(query).toString()}`;
}

/** A program of the neighbour's, which may say anything of itself. */
function call(origin: string, path: string, headers: Readonly<Record<string, string>>): Promise<number> {
  return new Promise((resolve, reject) => {
    const outgoing = request(`${origin}${path}`, { headers }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    outgoing.on("upgrade", (_response, socket) => (socket.destroy(), resolve(101)));
    outgoing.on("error", reject);
    outgoing.end();
  });
}

test("a page on another port, which has the cookie, can neither call the API nor open a terminal; nor can its server with that cookie", async () => {
  const { gateway, world } = used;
  const sessionId = await startSession(gateway, world);
  const visit = await browser.visit(await signInUrl(gateway));
  const own = new URL(gateway.app.baseUrl).origin;
  const ticket = async (): Promise<string> =>
    (await gateway.api.post<{ ticket: string }>("/api/coding/terminal-ticket", { sessionId })).body.ticket;
  const key = z.string().parse(await visit.page.evaluate("localStorage.getItem('postern.key')"));

  // With all that belongs to it, a page of ours gets both.
  expect(await fetchIn(visit.page, `${own}/api/me`, { headers: { [browserKeyHeader]: key } })).toBe(200);
  expect(await socketIn(visit.page, terminalOf(own, { session_id: sessionId, ticket: await ticket() }))).toMatch(
    /^shown/,
  );
  expect(await fetchIn(visit.page, `${own}/api/me`), "without the key").toBe(401);

  const foreign = await visit.context.newPage();
  await foreign.goto(`http://localhost:${neighbourPort}/`);
  const cookie = cookiesSeen.find((one) => one.includes("postern_session")) ?? "";
  expect(cookie, "the neighbour is sent the cookie").not.toBe("");
  for (const headers of [{}, { [browserKeyHeader]: key }]) {
    expect(await fetchIn(foreign, `${own}/api/me`, { headers })).toBe("kept from the page");
  }
  expect(await foreign.evaluate("localStorage.getItem('postern.key')")).toBeNull();
  for (const query of [{ session_id: sessionId }, { session_id: sessionId, ticket: await ticket() }]) {
    expect(await socketIn(foreign, terminalOf(own, query))).toMatch(/^closed (1006|4401)$/);
  }
  expect(await call(own, "/api/me", { cookie })).toBe(401);
  expect(await call(own, "/api/me", { cookie, [browserKeyHeader]: key }), "the key is what it lacks").toBe(200);
  const upgrade = {
    connection: "Upgrade",
    upgrade: "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "c".repeat(22) + "==",
  };
  const path = `/api/coding/coding_xterm_session?session_id=${sessionId}&ticket=${await ticket()}`;
  expect(await call(own, path, { ...upgrade, origin: `http://localhost:${neighbourPort}` })).toBe(403);

  // Nor can it put a page of ours into its own.
  await foreign.evaluate(`new Promise((resolve) => {
    const frame = document.createElement("iframe");
    frame.onload = resolve;
    frame.src = ${JSON.stringify(`${own}/`)};
    document.body.append(frame);
  })`);
  expect(foreign.frames().map((frame) => frame.url())).not.toContain(`${own}/`);
});

test("where nobody has to sign in, a page of another origin still changes nothing and sees no terminal", async () => {
  const sessionId = await startSession(openGateway, openWorld);
  const own = new URL(openGateway.app.baseUrl).origin;
  const stranger = await browser.stranger();
  await stranger.page.goto(own);
  expect(await fetchIn(stranger.page, `${own}/api/me`)).toBe(200);
  expect(await socketIn(stranger.page, terminalOf(own, { session_id: sessionId }))).toMatch(/^shown/);

  for (const place of [`http://localhost:${neighbourPort}/`, `http://${foreignName}:${neighbourPort}/`]) {
    await stranger.page.goto(place);
    expect(await fetchIn(stranger.page, `${own}/api/me`), place).toBe("kept from the page");
    const closeAll = `${own}/api/coding/coding_close_all`;
    const plain = { method: "POST", mode: "no-cors", body: "{}", headers: { "content-type": "text/plain" } };
    await fetchIn(stranger.page, closeAll, plain);
    const json = { method: "POST", body: "{}", headers: { "content-type": "application/json" } };
    expect(await fetchIn(stranger.page, closeAll, json), place).toBe("kept from the page");
    expect(await socketIn(stranger.page, terminalOf(own, { session_id: sessionId })), place).toBe("closed 1006");
  }
  expect(await openGateway.api.read(sessionId)).toMatchObject({ status: "running" });
  const alone = { origin: `http://localhost:${neighbourPort}`, "content-type": "application/json" };
  expect(await call(own, "/api/me", alone), "what only reads is kept back by the browser").toBe(200);
});

test("a foreign name that leads to the gateway's address gets nothing of it", async () => {
  const { port } = new URL(openGateway.app.baseUrl);
  const sessionId = await startSession(openGateway, openWorld);
  const stranger = await browser.stranger();
  const own = `http://${foreignName}:${port}`;
  const answer = await stranger.page.goto(`${own}/`);
  expect(answer?.status()).toBe(403);
  // The page came before the name was made to lead here.
  await stranger.page.route(`${own}/`, (route) => route.fulfill({ contentType: "text/html", body: "<!doctype html>" }));
  await stranger.page.goto(`${own}/`);
  expect(await fetchIn(stranger.page, `${own}/api/me`)).toBe(403);
  expect(await fetchIn(stranger.page, `${own}/api/coding/coding_list_sessions`, { method: "POST" })).toBe(403);
  expect(await socketIn(stranger.page, terminalOf(own, { session_id: sessionId }))).toBe("closed 1006");
});
