import type { WebSocket } from "ws";
import {
  binaryFrameKinds,
  outputFrameHeadBytes,
  type ServerFrame,
  serverFrameSchema,
} from "../../src/wire/terminal.ts";

/** What both sides said, a line for each frame; output that came in several frames on one line, because that is never the same twice. */
export interface TerminalExchange {
  lines(): readonly string[];
  /** Sends a frame, and writes it down. */
  send(frame: Readonly<Record<string, unknown>>): void;
  /** A frame of this kind that has come. */
  last(kind: ServerFrame["kind"]): ServerFrame | undefined;
}

/** Writes down what comes over `ws`, which has just been opened. */
export function noteExchange(ws: WebSocket): TerminalExchange {
  const lines: string[] = [];
  const frames: ServerFrame[] = [];
  let output: { readonly head: string; text: string } | null = null;
  const say = (line: string): void => {
    if (output !== null) lines.push(`< ${output.head}  ${JSON.stringify(output.text)}`);
    output = null;
    lines.push(line);
  };
  ws.on("message", (data, isBinary) => {
    if (!(data instanceof Buffer)) return;
    if (isBinary) {
      const text = data.subarray(outputFrameHeadBytes).toString();
      const head = data
        .subarray(0, outputFrameHeadBytes)
        .toString("hex")
        .replaceAll(/(..)(?=.)/g, "$1 ");
      if (data[0] === binaryFrameKinds.screen) say(`< ${head}  ${JSON.stringify(text)}`);
      else if (output === null) output = { head, text };
      else output.text += text;
      return;
    }
    const frame = serverFrameSchema.parse(JSON.parse(data.toString()));
    if (frame.kind === "alive") return;
    frames.push(frame);
    say(`< ${data.toString()}`);
  });
  ws.on("close", (code) => say(`< closed with ${code}`));
  return {
    lines: () => lines,
    send(frame) {
      say(`> ${JSON.stringify(frame)}`);
      ws.send(JSON.stringify(frame));
    },
    last: (kind) => frames.findLast((frame) => frame.kind === kind),
  };
}
