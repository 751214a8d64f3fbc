import type { TerminalExit, TerminalSize, TerminalSnapshot } from "../terminal-host/terminal-info.ts";
import type { ExitFrame, ServerFrame, TerminalMode } from "../wire/terminal.ts";
import { frameOf, noBytes, type OutputChunk, toTextFrames } from "./output-chunk.ts";
import type { ViewerLink } from "./viewers.ts";

/** Where a viewer begins. */
export interface HelloFrame {
  readonly terminalId: string;
  readonly mode: TerminalMode;
  readonly size: TerminalSize;
  readonly offset: number;
  readonly continued: boolean;
}

/** Who else looks on, for one viewer. */
export interface ViewersSeen {
  readonly drivers: number;
  readonly observers: number;
  readonly sizer: boolean;
}

/** Says what happens in a terminal in the form that its viewer understands. */
export interface FrameWriter {
  hello(frame: HelloFrame): void;
  /** The whole screen anew; what was there before goes. */
  screen(snapshot: Pick<TerminalSnapshot, "ansi" | "offset">): void;
  output(chunk: OutputChunk): void;
  size(size: TerminalSize): void;
  viewers(seen: ViewersSeen): void;
  exit(exit: Pick<TerminalExit, "exitCode" | "signal">): void;
}

/** Ends whatever sequence the old output was in, then empties screen, scrollback and modes. */
export const resetSequence = "\x18\x1bc\x1b[3J";

/** @param protocol `plain` is the seed's, which has frames for output and exit alone */
export function createFrameWriter(link: ViewerLink, protocol: "plain" | "v1"): FrameWriter {
  return protocol === "plain" ? plainWriter(link) : v1Writer(link);
}

function plainWriter(link: ViewerLink): FrameWriter {
  let carry = noBytes;
  const send = (frames: readonly Buffer[]): void => {
    for (const frame of frames) link.sendText(frame);
  };
  return {
    hello: () => undefined,
    screen({ ansi }) {
      carry = noBytes;
      send(toTextFrames(Buffer.from(`${resetSequence}${ansi}`)));
    },
    output(chunk) {
      const output = chunk.textFrames(carry);
      carry = output.carry;
      send(output.frames);
    },
    size: () => undefined,
    viewers: () => undefined,
    exit(exit) {
      send(toTextFrames(carry)); // the program ended inside a character
      carry = noBytes;
      link.sendText(JSON.stringify(exitFrame(exit)));
    },
  };
}

function v1Writer(link: ViewerLink): FrameWriter {
  const say = (frame: ServerFrame): void => link.sendText(JSON.stringify(frame));
  return {
    hello: ({ terminalId, mode, size: { cols, rows }, offset, continued }) =>
      say({ kind: "hello", terminalId, mode, cols, rows, offset, continued }),
    screen: ({ ansi, offset }) => link.sendBinary(frameOf("screen", offset, Buffer.from(ansi))),
    output: (chunk) => link.sendBinary(chunk.binaryFrame()),
    size: ({ cols, rows }) => say({ kind: "size", cols, rows }),
    viewers: (seen) => say({ kind: "viewers", ...seen }),
    exit: (exit) => say(exitFrame(exit)),
  };
}

function exitFrame({ exitCode, signal }: Pick<TerminalExit, "exitCode" | "signal">): ExitFrame {
  return { kind: "exit", exitCode, signal };
}
