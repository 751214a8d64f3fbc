import {
  binaryFrameKinds,
  type ClientFrame,
  outputFrameHeadBytes,
  type ServerFrame,
  type TerminalMode,
  terminalCloseCodes,
  terminalProtocol,
} from "../../src/wire/terminal.ts";
import type { TerminalFeed, TerminalSize } from "./terminal-feed.ts";
import {
  type ConnectionState,
  connectionQuery,
  createBackoff,
  inputParts,
  type Position,
  parseServerFrame,
  reasonOfClose,
  type StopReason,
  stopOfClose,
  type TicketAnswer,
} from "./terminal-protocol.ts";

export interface TerminalConnectionOptions {
  /** The WebSocket URL of `/api/coding/coding_xterm_session`, without a query. */
  readonly url: string;
  readonly sessionId: string;
  /** Undefined: drive if allowed, else observe. */
  readonly mode: TerminalMode | undefined;
  /** Null: the viewer adopts the terminal's size. */
  readonly size: TerminalSize | null;
  readonly requestTicket: (mode: TerminalMode | undefined) => Promise<TicketAnswer>;
  readonly feed: Pick<TerminalFeed, "write" | "drop" | "repaint" | "resize" | "whenDrained">;
  readonly onState: (state: ConnectionState) => void;
  /** The first and the longest delay, in milliseconds. */
  readonly backoff?: { readonly firstMs: number; readonly longestMs: number };
  /** Gives up after this many failed attempts in a row; if unset, never. */
  readonly maxAttempts?: number | undefined;
}

/** A viewer's connection. It reconnects, continues where it left off, and sends input only while connected. */
export interface TerminalConnection {
  readonly state: () => ConnectionState;
  /** Sends input. False if there is no connection or too much is unsent; the input is then not sent later either. */
  type(data: string | Uint8Array): boolean;
  resize(size: TerminalSize): void;
  /** The size to send on the next connect. */
  preferSize(size: TerminalSize): void;
  /** Reconnects immediately, because the network is back or the page became visible. */
  retryNow(): void;
  close(): void;
}

/** How long to wait for the hello. */
const helloTimeoutMs = 15_000;
/** The gateway sends something every 20 s. After more silence the connection is half open: the machine slept or changed networks. */
const silenceMs = 45_000;
/** Minimum time between screens for a viewer that cannot keep up. */
const skipMs = 400;
/** Input is refused while more than this is unsent. */
const maxUnsentBytes = 1024 * 1024;

const defaultBackoff = { firstMs: 250, longestMs: 10_000 } as const;

interface Attempt {
  socket: WebSocket | null;
  /** The hello arrived. */
  greeted: boolean;
  exit: Extract<ServerFrame, { kind: "exit" }> | null;
  timer: ReturnType<typeof setTimeout> | null;
}

export function createTerminalConnection(options: TerminalConnectionOptions): TerminalConnection {
  const { feed, onState } = options;
  const backoff = createBackoff(options.backoff ?? defaultBackoff);
  let { mode, size } = options;
  let state: ConnectionState = { kind: "connecting", again: false };
  /** The connection that sends input. */
  let live: Attempt | null = null;
  /** The current attempt; the live one once greeted. */
  let current: Attempt | null = null;
  let position: Position | null = null;
  /** Output is dropped until the feed drains; then a screen follows. */
  let skipping = false;
  let retryTimer: ReturnType<typeof setTimeout> | null = null;
  let closed = false;

  function become(next: ConnectionState): void {
    state = next;
    onState(next);
  }

  function over(): boolean {
    return closed || state.kind === "ended" || state.kind === "stopped";
  }

  async function connect(): Promise<void> {
    const attempt: Attempt = { socket: null, greeted: false, exit: null, timer: null };
    current = attempt;
    const answer = await options.requestTicket(mode);
    if (current !== attempt || closed) return;
    if (answer.kind === "stop") return stop(answer.why, answer.reason);
    if (answer.kind === "retry") return retry(attempt, answer.reason);
    const socket = new WebSocket(
      `${options.url}?${connectionQuery({ sessionId: options.sessionId, ticket: answer.ticket, mode, size, position })}`,
      [terminalProtocol],
    );
    socket.binaryType = "arraybuffer";
    attempt.socket = socket;
    attempt.timer = setTimeout(() => socket.close(), helloTimeoutMs);
    socket.addEventListener("message", ({ data }: MessageEvent<unknown>) => {
      if (closed || (attempt !== current && attempt !== live)) return;
      if (attempt.greeted) watch(attempt);
      if (typeof data === "string") receiveFrame(attempt, data);
      else if (data instanceof ArrayBuffer && attempt === live) receiveBinary(attempt, new Uint8Array(data));
    });
    socket.addEventListener("close", ({ code, reason }) => lost(attempt, { code, reason }));
  }

  function receiveFrame(attempt: Attempt, text: string): void {
    const frame = parseServerFrame(text);
    if (frame === null) return; // of a later version
    switch (frame.kind) {
      case "hello":
        return greet(attempt, frame);
      case "size":
        if (attempt === live && !skipping) feed.resize(frame);
        return;
      case "viewers":
        if (state.kind === "live" && attempt === live) become({ ...state, viewers: frame });
        return;
      case "exit":
        attempt.exit = frame;
        return;
      case "alive":
        return; // it only shows that the connection is alive
    }
  }

  function greet(attempt: Attempt, hello: Extract<ServerFrame, { kind: "hello" }>): void {
    watch(attempt);
    const before = live;
    live = attempt;
    if (before !== attempt) before?.socket?.close(terminalCloseCodes.ended);
    attempt.greeted = true;
    skipping = false;
    const { terminalId, offset, continued } = hello;
    // Continuing at another offset would leave a gap or repeat output: request a screen.
    if (continued && (position?.terminalId !== terminalId || position.offset !== offset)) return startOver(attempt);
    position = { terminalId, offset };
    feed.resize(hello);
    backoff.succeeded();
    become({ kind: "live", mode: hello.mode, viewers: null });
  }

  function receiveBinary(attempt: Attempt, frame: Uint8Array): void {
    if (frame.byteLength < outputFrameHeadBytes || position === null || skipping) return;
    const { offset: shown } = position;
    const offset = Number(new DataView(frame.buffer, frame.byteOffset).getBigUint64(1));
    const data = frame.subarray(outputFrameHeadBytes);
    if (frame[0] === binaryFrameKinds.screen) {
      feed.repaint(data);
      position = { ...position, offset };
    } else if (frame[0] === binaryFrameKinds.output) {
      if (shown === null || offset > shown) return startOver(attempt);
      const fresh = data.subarray(shown - offset);
      if (!feed.write(fresh)) return skipAhead(attempt);
      position = { ...position, offset: shown + fresh.byteLength };
    }
  }

  function startOver(attempt: Attempt): void {
    takeScreenNext();
    attempt.socket?.close(4000, "starting over");
  }

  function takeScreenNext(): void {
    if (position !== null) position = { ...position, offset: null };
  }

  function watch(attempt: Attempt): void {
    if (attempt.timer !== null) clearTimeout(attempt.timer);
    attempt.timer = setTimeout(() => {
      const { socket } = attempt;
      attempt.socket = null;
      socket?.close();
      lost(attempt, { code: 1006, reason: "" });
    }, silenceMs);
  }

  function skipAhead(attempt: Attempt): void {
    skipping = true;
    takeScreenNext();
    feed.drop();
    const caughtUp = (): void => {
      if (skipping && !over() && live === attempt) void connect();
    };
    // Bounds the rate of connections during a flood.
    retryTimer = setTimeout(() => feed.whenDrained(caughtUp), skipMs);
  }

  function lost(attempt: Attempt, { code, reason }: { readonly code: number; readonly reason: string }): void {
    if (attempt.timer !== null) clearTimeout(attempt.timer);
    if (over() || (attempt !== current && attempt !== live)) return;
    if (attempt === live) live = null;
    if (attempt !== current) {
      // The next connection shows the skipped output. The program has ended, so it only observes.
      if (attempt.exit !== null && current?.greeted === false) lookOnceMore();
      return;
    }
    if (attempt.exit !== null || code === terminalCloseCodes.ended) {
      const exit = attempt.exit;
      if (exit !== null && skipping) return lookOnceMore();
      return become({ kind: "ended", exitCode: exit?.exitCode ?? null, signal: exit?.signal ?? null });
    }
    // Its ticket may have expired on the way, on a slow machine. A browser that is signed out does not get another ticket.
    const why = code === terminalCloseCodes.notSignedIn && !attempt.greeted ? null : stopOfClose(code);
    if (why !== null) return stop(why, reason);
    retry(attempt, reasonOfClose(code, reason), code === terminalCloseCodes.tooMany);
  }

  /** The end of the output was skipped: get the last screen as an observer, which never starts the agent. */
  function lookOnceMore(): void {
    mode = "observe";
    size = null;
    skipping = false;
    feed.whenDrained(() => {
      if (!over()) void connect();
    });
  }

  function stop(why: StopReason, reason: string): void {
    live?.socket?.close(terminalCloseCodes.ended);
    become({ kind: "stopped", why, reason });
  }

  function retry(attempt: Attempt, reason: string, patiently = false): void {
    if (attempt.socket !== null) attempt.socket.close();
    live?.socket?.close(terminalCloseCodes.ended);
    live = null;
    current = null;
    const delayMs = backoff.next(patiently);
    if (backoff.failures() > (options.maxAttempts ?? Number.POSITIVE_INFINITY))
      return stop("closed", `${reason} Stopped trying.`);
    become({ kind: "waiting", reason, retryAt: Date.now() + delayMs });
    retryTimer = setTimeout(again, delayMs);
  }

  function again(): void {
    if (retryTimer !== null) clearTimeout(retryTimer);
    retryTimer = null;
    become({ kind: "connecting", again: true });
    void connect();
  }

  function send(data: string | Uint8Array<ArrayBuffer>): boolean {
    const socket = live?.socket;
    if (socket?.readyState !== WebSocket.OPEN || socket.bufferedAmount > maxUnsentBytes) return false;
    socket.send(data);
    return true;
  }

  function sendFrame(frame: ClientFrame): boolean {
    return send(JSON.stringify(frame));
  }

  onState(state);
  void connect();

  return {
    state: () => state,
    type(data) {
      if (state.kind !== "live" || state.mode !== "drive") return false;
      if (typeof data !== "string") return send(new Uint8Array(data));
      for (const part of inputParts(data)) if (!sendFrame({ kind: "input", data: part })) return false;
      return true;
    },
    resize(next) {
      size = next;
      if (state.kind === "live" && state.mode === "drive") {
        sendFrame({ kind: "resize", cols: next.cols, rows: next.rows });
      }
    },
    preferSize(next) {
      size = next;
    },
    retryNow() {
      if (state.kind === "waiting" && !closed) again();
    },
    close() {
      if (closed) return;
      closed = true;
      if (retryTimer !== null) clearTimeout(retryTimer);
      for (const attempt of [live, current]) {
        if (attempt?.timer != null) clearTimeout(attempt.timer);
        attempt?.socket?.close(terminalCloseCodes.ended);
      }
    },
  };
}
