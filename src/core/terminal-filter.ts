import { passedCommand, passedControlSequence, passedEscape } from "./terminal-sequences.ts";

/**
 * Takes out of a program's output what must not reach the terminal of somebody else: see {@link passedControlSequence}. What comes out is
 * whole: sequences are held until they are complete and written in one form, so that no two terminals can read them differently.
 */
export interface TerminalFilter {
  /** The next output, cut anywhere, in sequences and in characters. @returns what may be shown of it, valid Unicode */
  write(output: Uint8Array | string): string;
  /** Output goes on from elsewhere: what was held is forgotten. */
  reset(): void;
}

type State = "ground" | "escape" | "sequence" | "ignored-sequence" | "command" | "string";

/** Longer than what anybody sends; a longer one stays out. */
const maxSequenceLength = 512;
/** Titles and links are far shorter. */
const maxCommandLength = 8_192;
/** A terminal reads a string to its end, an image of some megabytes perhaps. One that does not end must not take all that follows. */
const defaultMaxStringLength = 16 * 1024 * 1024;

const notText = /[\x00-\x1f\x7f-\x9f]/g;
/** Bell, backspace, tab, line and page feeds, return, character sets. Not ENQ, which a terminal answers. */
const passedControls = /[\x07-\x0f]/;

/** A filter for one stream of output, which begins in the ground state. It holds a few kilobytes at most. */
export function createTerminalFilter(options: { readonly maxStringLength?: number } = {}): TerminalFilter {
  const { maxStringLength = defaultMaxStringLength } = options;
  let decoder = newDecoder();
  let state: State = "ground";
  /** Parts of the sequence that is being read. */
  let prefix = "";
  let params = "";
  let intermediates = "";
  /** Of a command, until it is too long to be one that passes. */
  let content = "";
  let stringLength = 0;

  function begin(next: State): void {
    state = next;
    prefix = params = intermediates = content = "";
    stringLength = 0;
  }

  /** Ends a command that was not broken off. */
  function finished(): string {
    const passed = state === "command" && content.length <= maxCommandLength ? passedCommand(content) : "";
    begin("ground");
    return passed;
  }

  /** What ends or begins a sequence wherever it comes; undefined for all else. As the VT500 and xterm do. */
  function anywhere(code: number): string | undefined {
    if (code === 0x1b || code === 0x9c) {
      const passed = finished();
      if (code === 0x1b) begin("escape");
      return passed;
    }
    if (code !== 0x18 && code !== 0x1a && (code < 0x80 || code > 0x9f)) return undefined;
    begin(stateAfterC1(code));
    if (code === 0x84) return "\x1bD";
    if (code === 0x85) return "\x1bE";
    return code === 0x88 ? "\x1bH" : "";
  }

  function inEscape(code: number, character: string): string {
    if (code < 0x30) {
      intermediates += character;
      if (intermediates.length > 2) begin("ground");
      return "";
    }
    const held = intermediates;
    begin(held === "" ? stateAfterEscape(character) : "ground");
    return state === "ground" ? passedEscape(held, character) : "";
  }

  function inSequence(code: number, character: string): string {
    if (code >= 0x40) {
      const passed =
        state === "sequence" ? passedControlSequence({ prefix, params, intermediates, final: character }) : "";
      begin("ground");
      return passed;
    }
    if (code < 0x30) intermediates += character;
    else if (intermediates !== "") state = "ignored-sequence";
    else if (code < 0x3c) params += character;
    else if (params === "" && prefix === "") prefix = character;
    else state = "ignored-sequence";
    if (params.length > maxSequenceLength || intermediates.length > 2) {
      begin("ignored-sequence");
    }
    return "";
  }

  /** One character that is no plain text, or stands inside a sequence. */
  function take(code: number, character: string): string {
    const passed = anywhere(code);
    if (passed !== undefined) return passed;
    const inString = state === "command" || state === "string";
    if (code === 0x07 && state === "command") return finished();
    if (code < 0x20) return !inString && passedControls.test(character) ? character : "";
    if (inString || code === 0x7f) return "";
    if (code > 0x9f) {
      // No terminal takes it for part of a sequence.
      if (state !== "ignored-sequence") begin("ground");
      return "";
    }
    return state === "escape" ? inEscape(code, character) : inSequence(code, character);
  }

  function takeString(text: string): void {
    stringLength += text.length;
    if (state === "command" && content.length <= maxCommandLength) content += text;
    if (stringLength > maxStringLength) begin("ground");
  }

  return {
    write(output) {
      const text = typeof output === "string" ? output : decoder.decode(output, { stream: true });
      let shown = "";
      for (let at = 0; at < text.length; ) {
        if (state !== "escape" && state !== "sequence" && state !== "ignored-sequence") {
          notText.lastIndex = at;
          const end = notText.exec(text)?.index ?? text.length;
          if (end > at) {
            const plain = text.slice(at, end);
            if (state === "ground") shown += plain;
            else takeString(plain);
            at = end;
            continue;
          }
        }
        const code = text.codePointAt(at) ?? 0;
        const character = String.fromCodePoint(code);
        shown += take(code, character);
        at += character.length;
      }
      return shown;
    },
    reset() {
      decoder = newDecoder();
      begin("ground");
    },
  };
}

function newDecoder(): TextDecoder {
  return new TextDecoder("utf-8", { ignoreBOM: true }); // a byte order mark is a character like another here
}

function stateAfterC1(code: number): State {
  if (code === 0x9b) return "sequence";
  if (code === 0x9d) return "command";
  return code === 0x90 || code === 0x98 || code === 0x9e || code === 0x9f ? "string" : "ground";
}

function stateAfterEscape(character: string): State {
  if (character === "[") return "sequence";
  if (character === "]") return "command";
  return "PX^_".includes(character) ? "string" : "ground";
}
