import { once } from "node:events";
import { createServer } from "node:http";
import { type WebSocket as ServerSocket, WebSocketServer } from "ws";
import { terminalProtocol } from "../../src/wire/terminal.ts";

/** A server that speaks the wire: the test says what, and sees what came. */
export interface WireServer {
  readonly url: string;
  readonly sockets: ServerSocket[];
  readonly queries: URLSearchParams[];
  readonly received: (string | Buffer)[];
  close(): void;
}

/** @param onSocket is called for each connection, with its number */
export async function startWireServer(onSocket: (socket: ServerSocket, nth: number) => void): Promise<WireServer> {
  const http = createServer();
  const server = new WebSocketServer({ server: http });
  const it: Omit<WireServer, "url"> = {
    sockets: [],
    queries: [],
    received: [],
    close() {
      for (const socket of server.clients) socket.terminate();
      http.close();
    },
  };
  server.on("connection", (socket, request) => {
    if (socket.protocol !== terminalProtocol) socket.close(4400, "not the subprotocol");
    it.queries.push(new URL(request.url ?? "", "http://x").searchParams);
    socket.on("message", (data, isBinary) => {
      const whole = Buffer.isBuffer(data) ? data : Buffer.alloc(0);
      it.received.push(isBinary ? whole : whole.toString());
    });
    onSocket(socket, it.sockets.push(socket) - 1);
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  const address = http.address();
  return { ...it, url: `ws://127.0.0.1:${typeof address === "object" ? address?.port : 0}` };
}

/** The first frame. */
export const hello = (offset: number, more: Record<string, unknown> = {}): string =>
  JSON.stringify({
    kind: "hello",
    terminalId: "t1",
    mode: "drive",
    cols: 80,
    rows: 24,
    offset,
    continued: false,
    ...more,
  });

/** A binary frame. */
export function frame(kind: "output" | "screen", offset: number, text: string): Buffer {
  const head = Buffer.alloc(9);
  head[0] = kind === "output" ? 0 : 1;
  head.writeBigUInt64BE(BigInt(offset), 1);
  return Buffer.concat([head, Buffer.from(text)]);
}
