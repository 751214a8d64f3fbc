import xterm from "@xterm/headless";
import { onTestFinished } from "vitest";
import { WebSocket } from "ws";
import type { App } from "../../src/app/app.ts";
import { type Scope, scopes } from "../../src/wire/access.ts";
import {
  binaryFrameKinds,
  outputFrameHeadBytes,
  type ServerFrame,
  serverFrameSchema,
  terminalProtocol,
} from "../../src/wire/terminal.ts";

/** How a terminal's WebSocket is opened. */
export interface TerminalClientOptions {
  /** `http://…` of the gateway. */
  readonly url: string;
  readonly query: Readonly<Record<string, string | number>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly protocol?: "plain" | "v1";
  /** The size of the client's own terminal. */
  readonly size?: { readonly cols: number; readonly rows: number };
}

/** A client with a terminal, as a page has one. */
export interface TerminalClient {
  readonly ws: WebSocket;
  /** Control frames of the subprotocol, and the exit frame. */
  readonly frames: readonly ServerFrame[];
  /** Output as it came, without what was in screens. */
  readonly output: () => Buffer;
  /** Text frames as they came. */
  readonly texts: readonly string[];
  /** Bytes of output that it has, with the subprotocol. */
  readonly offset: () => number;
  /** The visible rows, once all that came is written. */
  screen(): Promise<readonly string[]>;
  type(text: string): void;
  resize(cols: number, rows: number): void;
  close(): void;
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
}

/** Opens a terminal's WebSocket. It is closed with the test. */
export function openTerminal(options: TerminalClientOptions): TerminalClient {
  const { protocol = "v1", size = { cols: 120, rows: 40 } } = options;
  const query = new URLSearchParams(Object.entries(options.query).map(([name, value]) => [name, String(value)]));
  const url = `${options.url.replace(/^http/, "ws")}/api/coding/coding_xterm_session?${query}`;
  const ws = new WebSocket(url, protocol === "v1" ? [terminalProtocol] : [], { headers: { ...options.headers } });
  const terminal = new xterm.Terminal({ ...size, scrollback: 1_000, allowProposedApi: true });
  const frames: ServerFrame[] = [];
  const texts: string[] = [];
  let output: Buffer[] = [];
  let offset = 0;
  ws.on("error", () => undefined); // `close` follows
  ws.on("message", (data, isBinary) => {
    if (!(data instanceof Buffer)) return;
    if (isBinary) return onBinary(data);
    const text = data.toString();
    texts.push(text);
    const frame = parseFrame(text);
    if (frame === undefined) {
      output.push(data);
      terminal.write(text);
      return;
    }
    frames.push(frame);
    if (frame.kind === "hello") offset = frame.offset;
    if (frame.kind === "size" || frame.kind === "hello") terminal.resize(frame.cols, frame.rows);
  });
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    ws.once("close", (code, reason) => resolve({ code, reason: reason.toString() }));
  });
  onTestFinished(async () => {
    ws.terminate();
    await closed;
    terminal.dispose();
  });

  function onBinary(data: Buffer): void {
    const at = Number(data.readBigUInt64BE(1));
    const payload = data.subarray(outputFrameHeadBytes);
    if (data[0] === binaryFrameKinds.screen) {
      terminal.reset();
      terminal.write(payload);
      offset = at;
      output = [];
      return;
    }
    if (at !== offset) throw new Error(`Output at ${at} where ${offset} was due.`);
    offset = at + payload.byteLength;
    output.push(payload);
    terminal.write(payload);
  }

  return {
    ws,
    frames,
    texts,
    output: () => Buffer.concat(output),
    offset: () => offset,
    async screen() {
      await new Promise<void>((written) => terminal.write("", written));
      const buffer = terminal.buffer.active;
      return Array.from({ length: terminal.rows }, (_, row) =>
        (buffer.getLine(buffer.baseY + row)?.translateToString(true) ?? "").trimEnd(),
      );
    },
    type: (text) => ws.send(JSON.stringify({ kind: "input", data: text })),
    resize: (cols, rows) => ws.send(JSON.stringify({ kind: "resize", cols, rows })),
    close: () => ws.close(),
    closed,
  };
}

function parseFrame(text: string): ServerFrame | undefined {
  try {
    return serverFrameSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined; // output
  }
}

/** The header of a new token of the owner's; every scope but `admin` when none is named. */
export async function bearer(
  app: Pick<App, "accounts">,
  ...granted: readonly Scope[]
): Promise<{ readonly authorization: string }> {
  const { accountId } = await app.accounts.owner();
  const wanted = granted.length > 0 ? granted : scopes.filter((scope) => scope !== "admin");
  const { token } = await app.accounts.tokens.create(accountId, {
    name: "terminal",
    scopes: wanted,
    folders: null,
    expiresAt: null,
  });
  return { authorization: `Bearer ${token}` };
}
