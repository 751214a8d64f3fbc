import { connect } from "node:net";
import { WebSocket } from "ws";
import type { Clock } from "../../core/clock.ts";
import { PosternError } from "../../core/errors.ts";
import {
  binaryFrameKinds,
  outputFrameHeadBytes,
  type ServerFrame,
  serverFrameSchema,
  type TerminalMode,
  terminalProtocol,
} from "../../wire/terminal.ts";
import { connectionError, parseJson, problemOf } from "../gateway-client.ts";

/** The address to connect to, and the credentials. */
export interface LinkOptions {
  readonly socketPath: string;
  readonly clock: Clock;
  readonly sessionId: string;
  readonly mode: TerminalMode | undefined;
  readonly size: { readonly cols: number; readonly rows: number };
  /** The position of a reconnecting viewer; without an offset, the gateway sends the whole screen first. */
  readonly continueAt: { readonly terminalId: string; readonly offset: number | undefined } | undefined;
}

/** The gateway's messages, in order. */
export interface LinkListeners {
  onFrame(frame: ServerFrame): void;
  /** Output whose first byte is at `offset`. */
  onOutput(offset: number, data: Buffer): void;
  /** Clears the terminal and shows this screen; output continues at `offset`. */
  onScreen(offset: number, data: Buffer): void;
  /** Called once. `code` is the WebSocket's close code, undefined if none was opened. */
  onClose(end: { readonly code: number | undefined; readonly reason: string; readonly error: Error | null }): void;
}

/** A connection to a session's terminal. */
export interface TerminalLink {
  send(input: Buffer): void;
  resize(size: { readonly cols: number; readonly rows: number }): void;
  /** Stops reading for now; the gateway limits its backlog. */
  pause(): void;
  resume(): void;
  /** Idempotent. No listener is called after that. */
  close(): void;
}

/** The gateway pings every 20 seconds. */
const silenceMs = 60_000;
/** Limit of typed or pasted input that waits to be sent; more is refused. */
const maxUnsentBytes = 4 * 1024 * 1024;
const maxProblemBytes = 64 * 1024;
/** The size of a screen with scrollback in which every cell has a different colour. */
const maxFrameBytes = 64 * 1024 * 1024;

/** Connects to the terminal of a session through the gateway's Unix socket, as the owner. */
export function openTerminalLink(options: LinkOptions, listeners: LinkListeners): TerminalLink {
  const { socketPath, clock } = options;
  const socket = new WebSocket(`ws://localhost/api/coding/coding_xterm_session?${queryOf(options)}`, terminalProtocol, {
    createConnection: () => connect(socketPath),
    perMessageDeflate: false,
    maxPayload: maxFrameBytes,
    handshakeTimeout: silenceMs,
  });
  let failure: Error | null = null;
  let opened = false;
  let closed = false;
  let cancelSilence = (): void => undefined;
  /** Data sent before the connection was open. */
  let early: (Buffer | string)[] = [];
  let earlyBytes = 0;

  const onActivity = (): void => {
    cancelSilence();
    cancelSilence = clock.after(silenceMs, () => socket.terminate());
  };
  socket.on("open", () => {
    opened = true;
    onActivity();
    for (const data of early) socket.send(data);
    early = [];
  });
  socket.on("ping", onActivity);
  socket.on("message", (data, isBinary) => {
    onActivity();
    if (closed || !Buffer.isBuffer(data)) return;
    if (isBinary) readBinary(data, listeners);
    else readText(data, { listeners, socket });
  });
  socket.on("unexpected-response", (_request, response) => {
    let text = "";
    response.setEncoding("utf8");
    response.on("data", (chunk: string) => {
      if (text.length < maxProblemBytes) text += chunk;
    });
    response.on("close", () => {
      failure = problemOf({ status: response.statusCode ?? 0, text });
      socket.terminate();
    });
  });
  socket.on("error", (error) => {
    failure ??= connectionError(error, socketPath);
  });
  socket.on("close", (code, reason) => {
    cancelSilence();
    if (closed) return;
    closed = true;
    listeners.onClose({ code: opened ? code : undefined, reason: reason.toString("utf8"), error: failure });
  });

  function give(data: Buffer | string): void {
    if (opened) {
      if (socket.readyState === WebSocket.OPEN && socket.bufferedAmount < maxUnsentBytes) socket.send(data);
      return;
    }
    earlyBytes += data.length;
    if (earlyBytes < maxUnsentBytes) early.push(data);
  }

  return {
    send: give,
    resize: ({ cols, rows }) => give(JSON.stringify({ kind: "resize", cols, rows })),
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    close() {
      if (closed) return;
      closed = true;
      cancelSilence();
      socket.on("error", () => undefined); // closed before it was open
      if (opened) socket.close(1000);
      else socket.terminate();
    },
  };
}

function readBinary(data: Buffer, listeners: LinkListeners): void {
  if (data.length < outputFrameHeadBytes) return;
  const offset = Number(data.readBigUInt64BE(1));
  const content = data.subarray(outputFrameHeadBytes);
  if (data[0] === binaryFrameKinds.output) listeners.onOutput(offset, content);
  if (data[0] === binaryFrameKinds.screen) listeners.onScreen(offset, content);
}

function readText(
  data: Buffer,
  { listeners, socket }: { readonly listeners: LinkListeners; readonly socket: WebSocket },
): void {
  const parsed = serverFrameSchema.safeParse(parseJson(data.toString("utf8")));
  // Skips kinds of messages from newer gateways, which do not affect the screen.
  if (parsed.success) listeners.onFrame(parsed.data);
  else if (socket.protocol !== terminalProtocol) socket.close(1002);
}

function queryOf({ sessionId, mode, size, continueAt }: LinkOptions): URLSearchParams {
  return new URLSearchParams({
    session_id: sessionId,
    ...(mode !== undefined && { mode }),
    ...(mode !== "observe" && { cols: String(size.cols), rows: String(size.rows), permissions: "terminal" }),
    ...(continueAt && { terminal: continueAt.terminalId }),
    ...(continueAt?.offset !== undefined && { from: String(continueAt.offset) }),
  });
}

/** The gateway refused the connection, or ended it permanently. */
export function refusal(code: number, reason: string): PosternError {
  const known = refusals.get(code) ?? "internal_error";
  return new PosternError(known, reason === "" ? `The gateway closed the terminal connection (code ${code}).` : reason);
}

const refusals: ReadonlyMap<number, string> = new Map([
  [1013, "rate_limited"],
  [4400, "invalid_request"],
  [4401, "unauthenticated"],
  [4403, "insufficient_scope"],
  [4404, "session_not_found"],
  [4409, "session_busy"],
]);
