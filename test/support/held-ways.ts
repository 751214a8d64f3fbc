import { subscribe } from "node:diagnostics_channel";
import { IncomingMessage, request, ServerResponse } from "node:http";
import { WebSocket } from "ws";
import { createRawMcpClient } from "./mcp-raw.ts";

/** A caller, and the session that they hold something open of. */
export interface Held {
  readonly url: string;
  readonly sessionId: string;
  readonly dir: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** An open connection or call. */
export interface Opened {
  /** Resolves when it has started. */
  readonly begun: Promise<unknown>;
  readonly closed: Promise<unknown>;
}

/** A viewer of the session's terminal. */
export function openSocket(
  mode: "drive" | "observe",
  { url, sessionId, headers }: Held,
  base = url.replace("http", "ws"),
): Opened {
  const path = `/api/coding/coding_xterm_session?session_id=${sessionId}&mode=${mode}`;
  const ws = new WebSocket(`${base}${path}`, { headers });
  ws.on("error", () => undefined); // its close says more
  return {
    begun: new Promise((resolve) => ws.once("message", resolve)),
    closed: new Promise((resolve) => ws.once("close", resolve)),
  };
}

/** A call whose answer, or whose end, is awaited. A call that waits has begun when its session was found, which takes milliseconds. */
export function openCall(method: string, path: string, held: Held, body?: unknown): Opened {
  const begun = Promise.withResolvers<void>();
  const closed = new Promise<void>((resolve) => {
    const outgoing = request(`${held.url}${path}`, {
      method,
      headers: { ...held.headers, ...(body === undefined ? {} : { "content-type": "application/json" }) },
    });
    outgoing.on("response", (incoming) => {
      begun.resolve();
      incoming.resume();
      incoming.on("close", () => resolve());
    });
    outgoing.on("error", () => resolve());
    outgoing.end(body === undefined ? undefined : JSON.stringify(body), () => setTimeout(begun.resolve, 1_000));
  });
  return { begun: begun.promise, closed };
}

/** A call that waits for up to a minute. */
export function openTool(name: string, input: object, held: Held): Opened {
  return openCall("POST", `/api/coding/${name}`, held, { sessionId: held.sessionId, waitMs: 60_000, ...input });
}

const modern = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "raw", version: "0" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

/** A request of the 2026 specification. */
export function openMcp(method: string, params: object, held: Held): Opened {
  const name = "name" in params && typeof params.name === "string" ? { "mcp-name": params.name } : {};
  const headers = {
    ...held.headers,
    ...name,
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": method,
  };
  const body = { jsonrpc: "2.0", id: 1, method, params: { _meta: modern, ...params } };
  return openCall("POST", "/mcp", { ...held, headers }, body);
}

/** Opens one request as a client of the 2025 specifications: a call, a call resumed after its connection broke, or the stream for messages that belong to no call. */
export function openMcpSession(what: "call" | "resumed call" | "own stream", held: Held): Opened {
  const closed = Promise.withResolvers<void>();
  const begin = async (): Promise<void> => {
    const token = held.headers["authorization"]?.replace("Bearer ", "") ?? null;
    const client = createRawMcpClient(`${held.url}/mcp`, token);
    await client.initialize();
    let stream = await (what === "own stream" ? client.get() : callThatWaits(client, held));
    if (what === "resumed call") {
      await until(() => stream.lastEventId !== null);
      stream.cut();
      await until(() => stream.ended);
      stream = await client.get({ "last-event-id": stream.lastEventId ?? "" });
    }
    if (stream.status !== 200) throw new Error(`A stream was refused with ${stream.status}: ${stream.text}`);
    void until(() => stream.ended).then(closed.resolve);
  };
  return { begun: begin(), closed: closed.promise };
}

function callThatWaits(client: ReturnType<typeof createRawMcpClient>, { sessionId }: Held) {
  return client.call(1, "coding_read_session", { sessionId, waitMs: 60_000, after: 1_000 });
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 20));
}

/** Answers of a gateway in this process, by caller and path, as they begin. */
const answers = new Map<string, (response: ServerResponse) => void>();
subscribe("http.server.request.start", (message) => {
  const { request: incoming, response } = Object(message);
  if (!(incoming instanceof IncomingMessage) || !(response instanceof ServerResponse)) return;
  answers.get(`${incoming.headers.authorization} ${incoming.url}`)?.(response);
});

/**
 * A recording whose reader takes nothing more after its head: larger than what the system keeps on the way. What is on the way arrives
 * whenever it is read, so its end is seen at the gateway; an answer that was given whole does not count.
 */
export function openRecording(held: Held): Opened {
  const path = `/api/coding/sessions/${held.sessionId}/recording`;
  const [begun, closed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  answers.set(`${held.headers["authorization"]} ${path}`, (response) => {
    response.once("close", () => {
      if (!response.writableEnded) closed.resolve();
      outgoing.destroy();
    });
  });
  const outgoing = request(`${held.url}${path}`, { headers: held.headers, agent: false });
  outgoing.on("response", ({ statusCode }) => {
    if (statusCode === 200) begun.resolve();
    else begun.reject(new Error(`The recording was refused with ${statusCode}.`));
  });
  outgoing.on("error", () => undefined); // seen at the gateway
  outgoing.end();
  return { begun: begun.promise, closed: closed.promise };
}
