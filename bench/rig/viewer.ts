import type { Socket } from "node:net";
import { WebSocket } from "ws";
import {
  binaryFrameKinds,
  outputFrameHeadBytes,
  serverFrameSchema,
  terminalProtocol,
} from "../../src/wire/terminal.ts";

/** A viewer that counts bytes and draws nothing. */
export interface SocketViewer {
  /** Bytes of output reported to it since the terminal's start. */
  offset(): number;
  /** How often it got the whole screen, including the first time. */
  screens(): number;
  type(text: string): void;
  /** Resolves at the next output after this call. */
  next(): Promise<void>;
  /** Stops reading, and reads again. */
  pause(): void;
  resume(): void;
  /** When all output of the ended program was reported, on this machine's clock. */
  readonly ended: Promise<number>;
  /** From the opened WebSocket to the first screen. */
  readonly firstPaintMs: number;
  leave(): Promise<void>;
}

export async function openViewer(
  gatewayUrl: string,
  { sessionId, token }: { readonly sessionId: string; readonly token: string },
): Promise<SocketViewer> {
  const url = `${gatewayUrl.replace(/^http/, "ws")}/api/coding/coding_xterm_session?session_id=${sessionId}`;
  const ws = new WebSocket(url, [terminalProtocol], {
    headers: { authorization: `Bearer ${token}` },
    perMessageDeflate: false,
  });
  let offset = 0;
  let screens = 0;
  let openedAt = 0;
  const waiting = new Set<() => void>();
  const first = Promise.withResolvers<number>();
  const ended = Promise.withResolvers<number>();
  ended.promise.catch(() => undefined); // of those that leave
  const connected = Promise.withResolvers<Socket>();
  ws.once("upgrade", ({ socket }) => connected.resolve(socket));
  ws.once("open", () => {
    openedAt = performance.now();
  });
  ws.on("error", first.reject);
  ws.once("close", (code) => {
    const error = new Error(`The viewer was closed with ${code}.`);
    first.reject(error);
    ended.reject(error);
  });
  ws.on("message", (data, isBinary) => {
    if (!(data instanceof Buffer)) return;
    if (!isBinary) {
      const frame = serverFrameSchema.parse(JSON.parse(data.toString()));
      if (frame.kind === "exit") ended.resolve(performance.now());
      return;
    }
    const at = Number(data.readBigUInt64BE(1));
    if (data[0] === binaryFrameKinds.screen) {
      screens += 1;
      offset = at;
      first.resolve(performance.now() - openedAt);
    } else offset = at + data.length - outputFrameHeadBytes;
    for (const resolve of waiting) resolve();
    waiting.clear();
  });
  const firstPaintMs = await first.promise;
  const connection = await connected.promise;
  return {
    firstPaintMs,
    ended: ended.promise,
    offset: () => offset,
    screens: () => screens,
    type: (text) => connection.write(inputFrame(text)),
    next: () => new Promise((resolve) => waiting.add(resolve)),
    pause: () => ws.pause(),
    resume: () => ws.resume(),
    async leave() {
      const closed = new Promise((resolve) => ws.once("close", resolve));
      ws.terminate();
      await closed;
    },
  };
}

/** A text frame of at most 125 bytes, masked with zeros (RFC 6455 section 5.3): what a client takes to make it is not Postern's time. */
function inputFrame(text: string): Buffer {
  const payload = Buffer.from(JSON.stringify({ kind: "input", data: text }));
  return Buffer.concat([Buffer.from([0x81, 0x80 | payload.byteLength, 0, 0, 0, 0]), payload]);
}
