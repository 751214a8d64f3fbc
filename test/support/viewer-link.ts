import xterm from "@xterm/headless";
import { onTestFinished } from "vitest";
import type { Viewer, ViewerLink } from "../../src/terminals/viewers.ts";
import {
  binaryFrameKinds,
  outputFrameHeadBytes,
  type ServerFrame,
  serverFrameSchema,
} from "../../src/wire/terminal.ts";

interface Frame {
  readonly data: Buffer;
  readonly isBinary: boolean;
}

/** A viewer's connection in memory, with a terminal at its end. Its far end can stop reading. */
export interface MemoryLink extends ViewerLink {
  /** To be notified when the connection has sent everything. */
  viewer: Viewer | null;
  readonly frames: readonly ServerFrame[];
  /** Text frames that were no control frames. */
  readonly texts: readonly string[];
  readonly screens: () => number;
  /** Output bytes since the last screen, and the offset behind them. */
  readonly outputBytes: () => number;
  readonly offset: () => number;
  readonly output: () => Buffer;
  /** How it was closed; null while it is open. */
  readonly closed: () => { readonly code: number; readonly reason: string } | null;
  readonly mostUnsentBytes: () => number;
  stall(): void;
  /** Everything that waits arrives, and what follows. */
  flow(): void;
  /** The visible rows and the scrollback, trailing blanks cut. */
  lines(): Promise<readonly string[]>;
  size(): { readonly cols: number; readonly rows: number };
}

/** @param options `keep` keeps all output, for what is compared byte by byte */
export function createMemoryLink(
  options: { readonly cols?: number; readonly rows?: number; readonly keep?: boolean; readonly paint?: boolean } = {},
): MemoryLink {
  const { cols = 80, rows = 24, keep = true, paint = true } = options;
  const terminal = new xterm.Terminal({ cols, rows, scrollback: 1_000, allowProposedApi: true });
  onTestFinished(() => terminal.dispose());
  const waiting: Frame[] = [];
  const frames: ServerFrame[] = [];
  const texts: string[] = [];
  let output: Buffer[] = [];
  let [outputBytes, offset, unsent, most, screens] = [0, 0, 0, 0, 0];
  let stalled = false;
  let closed: { readonly code: number; readonly reason: string } | null = null;

  function send(frame: Frame): void {
    if (closed !== null) throw new Error("Sent on a closed link.");
    if (!stalled) return arrive(frame);
    waiting.push(frame);
    unsent += frame.data.byteLength;
    most = Math.max(most, unsent);
  }

  function arrive({ data, isBinary }: Frame): void {
    if (isBinary) return arriveBinary(data);
    const text = data.toString();
    const frame = controlFrame(text);
    if (frame === undefined) {
      texts.push(text);
      if (paint) terminal.write(text);
      return;
    }
    frames.push(frame);
    if (frame.kind === "hello") offset = frame.offset;
    if (frame.kind === "hello" || frame.kind === "size") terminal.resize(frame.cols, frame.rows);
  }

  function arriveBinary(data: Buffer): void {
    const at = Number(data.readBigUInt64BE(1));
    const payload = data.subarray(outputFrameHeadBytes);
    if (data[0] === binaryFrameKinds.screen) {
      screens += 1;
      terminal.reset();
      terminal.write(payload);
      [offset, outputBytes, output] = [at, 0, []];
      return;
    }
    if (at !== offset) throw new Error(`Output at ${at} where ${offset} was due.`);
    offset = at + payload.byteLength;
    outputBytes += payload.byteLength;
    if (keep) output.push(Buffer.from(payload));
    if (paint) terminal.write(payload);
  }

  const link: MemoryLink = {
    viewer: null,
    frames,
    texts,
    screens: () => screens,
    outputBytes: () => outputBytes,
    offset: () => offset,
    output: () => Buffer.concat(output),
    closed: () => closed,
    mostUnsentBytes: () => most,
    sendText: (text) => send({ data: Buffer.from(text), isBinary: false }),
    sendBinary: (data) => send({ data: Buffer.from(data), isBinary: true }),
    unsentBytes: () => unsent,
    close(code, reason) {
      closed ??= { code, reason };
      link.viewer?.leave();
    },
    stall() {
      stalled = true;
    },
    flow() {
      stalled = false;
      for (const frame of waiting.splice(0)) arrive(frame);
      unsent = 0;
      link.viewer?.drained();
    },
    async lines() {
      await new Promise<void>((written) => terminal.write("", written));
      const buffer = terminal.buffer.active;
      const all = Array.from({ length: buffer.length }, (_, row) =>
        (buffer.getLine(row)?.translateToString(true) ?? "").trimEnd(),
      );
      return all.slice(0, all.findLastIndex((line) => line !== "") + 1);
    },
    size: () => ({ cols: terminal.cols, rows: terminal.rows }),
  };
  return link;
}

function controlFrame(text: string): ServerFrame | undefined {
  try {
    return serverFrameSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined; // output
  }
}
