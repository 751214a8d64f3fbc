import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { type Clock, systemClock } from "../core/clock.ts";
import { bridgeMcp } from "./mcp-bridge.ts";
import { exchangeMcp } from "./mcp-exchange.ts";

const patient = { timeout: 60_000, interval: 20 };
const sentSchema = z.looseObject({
  id: z.union([z.string(), z.number()]).optional(),
  method: z.string().optional(),
  params: z.looseObject({}).optional(),
});
type Sent = z.infer<typeof sentSchema>;

interface Taken {
  readonly message: Sent | null;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** A gateway on a Unix socket that answers as scripted. */
async function startScripted(answer: (taken: Taken) => void, path?: string) {
  const socketPath = path ?? join(await makeTempFolder(), "gateway.sock");
  const taken: Taken[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      let text = "";
      for await (const chunk of request) text += String(chunk);
      const one = { message: text === "" ? null : sentSchema.parse(JSON.parse(text)), request, response };
      taken.push(one);
      answer(one);
    })();
  });
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  const close = (): void => {
    server.closeAllConnections();
    server.close();
  };
  onTestFinished(close);
  return { socketPath, close, methods: () => taken.map(({ message, request }) => message?.method ?? request.method) };
}

function reply({ message, response }: Taken, headers: Readonly<Record<string, string>> = {}): void {
  if (message?.id === undefined) return void response.writeHead(202).end();
  response.writeHead(200, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result: { protocolVersion: "2025-11-25" } }));
}

/** A gateway that has the session `known`, with a silent event stream. */
function replyIn(known: string, taken: Taken): void {
  const { message, request, response } = taken;
  if (message?.method === "initialize") return reply(taken, { "mcp-session-id": known });
  if (request.headers["mcp-session-id"] !== known) return void response.writeHead(404).end("{}");
  if (request.method === "GET") return void response.writeHead(200, { "content-type": "text/event-stream" });
  reply(taken);
}

function startBridge(
  socketPath: string,
  write = async (_line: string): Promise<void> => undefined,
  sleep = systemClock.sleep,
) {
  const lines: string[] = [];
  const queue: Buffer[] = [];
  let wake = (): void => undefined;
  let ended = false;
  async function* input(): AsyncGenerator<Uint8Array, void> {
    while (!ended) {
      const next = queue.shift();
      if (next !== undefined) yield next;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  }
  let waits = 0;
  const clock: Clock = {
    ...systemClock,
    sleep(ms, signal) {
      waits += 1;
      return sleep(ms, signal);
    },
  };
  const running = bridgeMcp({
    socketPath,
    token: "any",
    clock,
    input: input(),
    warn: () => undefined,
    write: (line) => {
      lines.push(line);
      return write(line);
    },
  });
  const end = (): Promise<void> => {
    ended = true;
    wake();
    return running;
  };
  onTestFinished(end);
  const say = (message: Sent): void => {
    queue.push(Buffer.from(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`));
    wake();
  };
  return { say, end, text: () => lines.join(""), waits: () => waits };
}

test("after a session could not be reopened, the next message reopens it", async () => {
  let known = "first";
  let refusing = false;
  const gateway = await startScripted((taken) => {
    if (refusing && taken.message?.method === "initialize") taken.response.writeHead(503).end("{}");
    else replyIn(known, taken);
  });
  const { say, text } = startBridge(gateway.socketPath);
  say({ id: 1, method: "initialize" });
  await expect.poll(text, patient).toContain('"id":1,"result"');
  [known, refusing] = ["second", true];
  say({ id: 2, method: "tools/list" });
  await expect.poll(text, patient).toContain('"id":2,"error"');
  refusing = false;
  say({ id: 3, method: "tools/list" });
  await expect.poll(text, patient).toContain('"id":3,"result"');
});

test("a call that is cancelled while it waits for the gateway is not sent later", async () => {
  const first = await startScripted((taken) => replyIn("s", taken));
  const { say, text, waits } = startBridge(first.socketPath);
  say({ id: 1, method: "initialize" });
  await expect.poll(text, patient).toContain('"id":1,"result"');
  first.close();
  say({ id: 2, method: "tools/call", params: { name: "coding_ask" } });
  say({ id: 3, method: "tools/list" });
  await expect.poll(waits, patient).toBeGreaterThanOrEqual(2); // neither message reached a gateway
  say({ method: "notifications/cancelled", params: { requestId: 2 } });
  const second = await startScripted((taken) => replyIn("s", taken), first.socketPath);
  await expect.poll(text, patient).toContain('"id":3,"result"');
  expect(second.methods()).not.toContain("tools/call");
  expect(text()).not.toContain('"id":2');
});

test("a call that waited for a restarted gateway is sent in the new session, never without one", async () => {
  const first = await startScripted((taken) => replyIn("s", taken));
  const pauses: (() => void)[] = [];
  const sleep = (): Promise<void> => new Promise((resolve) => void pauses.push(resolve));
  const { say, text, waits } = startBridge(first.socketPath, undefined, sleep);
  say({ id: 1, method: "initialize" });
  say({ method: "notifications/initialized" });
  await expect.poll(first.methods, patient).toContain("GET");
  first.close();
  await expect.poll(waits, patient).toBe(1); // the event stream waits to reconnect
  say({ id: 2, method: "tools/list" });
  await expect.poll(waits, patient).toBe(2);
  const opening = Promise.withResolvers<Taken>();
  const second = await startScripted((taken) => {
    const { message, request, response } = taken;
    if (message?.method === "initialize") opening.resolve(taken);
    else if (request.headers["mcp-session-id"] === undefined) response.writeHead(400).end("{}");
    else replyIn("s2", taken);
  }, first.socketPath);
  pauses[0]?.();
  const initialize = await opening.promise;
  pauses[1]?.();
  await new Promise(setImmediate);
  expect(second.methods()).toEqual(["GET", "initialize"]);
  replyIn("s2", initialize);
  await expect.poll(text, patient).toMatch(/"id":2,"(result|error)"/);
  expect(text()).toContain('"id":2,"result"');
});

test("an unresponsive gateway delays neither cancellations nor the end of input", async () => {
  const gateway = await startScripted(() => undefined);
  const { say, end } = startBridge(gateway.socketPath);
  say({ id: 1, method: "initialize" });
  await expect.poll(gateway.methods, patient).toEqual(["initialize"]);
  say({ id: 2, method: "tools/list" });
  await end();
});

test("an event id that the gateway no longer keeps is dropped, and the stream continues", async () => {
  const places: unknown[] = [];
  const gateway = await startScripted((taken) => {
    const { request, response } = taken;
    if (request.method !== "GET") return replyIn("s", taken);
    const place = request.headers["last-event-id"];
    places.push(place);
    if (place !== undefined) return void response.writeHead(400).end("{}");
    response.writeHead(200, { "content-type": "text/event-stream" });
    const update = JSON.stringify({ jsonrpc: "2.0", method: `told-${places.length}` });
    response.end(`id: e${places.length}\ndata: ${update}\n\n`);
  });
  const { say, text } = startBridge(gateway.socketPath);
  say({ id: 1, method: "initialize" });
  say({ method: "notifications/initialized" });
  await expect.poll(text, patient).toContain("told-3");
  expect(places.slice(0, 3)).toEqual([undefined, "e1", undefined]);
});

test("nothing more is read from the gateway while the client does not read", async () => {
  const message = `data: ${JSON.stringify({ jsonrpc: "2.0", method: "x", params: { text: "x".repeat(100_000) } })}\n\n`;
  let sent = 0;
  const gateway = await startScripted(({ response }) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const more = (): void => {
      if (sent === 500) return;
      sent += 1;
      response.write(message, more);
    };
    more();
  });
  const taking = Promise.withResolvers<void>();
  const { say } = startBridge(gateway.socketPath, () => taking.promise);
  say({ id: 1, method: "initialize" });
  const looks: number[] = [];
  const rests = (): boolean => {
    looks.push(sent);
    return sent > 0 && looks.length >= 10 && looks.slice(-10).every((count) => count === sent);
  };
  await expect.poll(rests, patient).toBe(true);
  expect(sent).toBeLessThan(400);
  taking.resolve();
});

/** Counts the characters that are scanned for the end of a message or copied when pieces are joined. */
function countWork(): () => number {
  let characters = 0;
  const { includes, indexOf, split } = String.prototype;
  const { join: joined } = Array.prototype;
  vi.spyOn(String.prototype, "includes").mockImplementation(function (this: string, ...found) {
    characters += this.length;
    return includes.apply(this, found);
  });
  vi.spyOn(String.prototype, "indexOf").mockImplementation(function (this: string, ...found) {
    characters += this.length;
    return indexOf.apply(this, found);
  });
  vi.spyOn(String.prototype, "split").mockImplementation(function (this: string, separator, limit) {
    characters += this.length;
    return Reflect.apply(split, this, [separator, limit]);
  });
  vi.spyOn(Array.prototype, "join").mockImplementation(function (this: unknown[], separator) {
    const text = joined.call(this, separator);
    characters += text.length;
    return text;
  });
  onTestFinished(() => {
    vi.restoreAllMocks();
  });
  return () => characters;
}

test("a large message takes work proportional to its size, wherever it is split", async () => {
  const text = "x".repeat(24 * 1024 * 1024);
  const gateway = await startScripted(({ response }) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write("id: 1\n");
    response.write(`data: ${text}\n`, () => response.end("\ndata: two\n\n"));
  });
  const messages: string[] = [];
  const work = countWork();
  await exchangeMcp(
    { socketPath: gateway.socketPath, token: "any" },
    { method: "GET", headers: {}, body: null, signal: AbortSignal.timeout(120_000) },
    { onMessage: async (message) => void messages.push(message) },
  );
  expect(messages.map(({ length }) => length)).toEqual([text.length, 3]);
  expect(work(), "each character is looked at a few times").toBeLessThan(10 * text.length);
}, 180_000);
