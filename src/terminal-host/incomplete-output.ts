import { incompleteCharacterBytes } from "../core/utf8.ts";

/** Where output that ends in the middle of something began it: a character, or an escape sequence that had no effect yet. */
export interface IncompleteOutput {
  /** Takes the next bytes. */
  push(data: Uint8Array): void;
  /** How many of the last bytes belong to a character or sequence that is not complete; 0 mostly. */
  bytes(): number;
}

type State = "ground" | "escape" | "escape_intermediate" | "csi" | "osc" | "string";

const ESC = 0x1b;
const BEL = 0x07;
const CAN = 0x18;
const SUB = 0x1a;
const STRING_STARTS = new Set(["P", "X", "^", "_"].map((char) => char.charCodeAt(0)));

/**
 * Follows output without parsing it: an escape character always begins anew, so only what stands behind the last one counts.
 * @see https://vt100.net/emu/dec_ansi_parser
 */
export function watchIncompleteOutput(): IncompleteOutput {
  let state: State = "ground";
  /** Since the escape character of an incomplete sequence. */
  let sequenceBytes = 0;
  let characterBytes = 0;
  let last: Uint8Array = new Uint8Array(0);

  return {
    push(data) {
      if (data.byteLength === 0) return;
      const escapeAt = data.lastIndexOf(ESC);
      if (escapeAt >= 0) {
        state = "escape";
        sequenceBytes = 0;
      }
      if (state !== "ground") {
        let at = escapeAt + 1;
        while (at < data.byteLength && state !== "ground") state = nextState(state, data[at++] ?? 0);
        sequenceBytes = state === "ground" ? 0 : sequenceBytes + data.byteLength - Math.max(0, escapeAt);
      }
      last = last.byteLength === 0 || data.byteLength >= 4 ? data.slice(-4) : joinTail(last, data);
      characterBytes = incompleteCharacterBytes(last);
    },
    bytes: () => (state === "ground" ? characterBytes : sequenceBytes),
  };
}

function nextState(state: State, byte: number): State {
  if (byte === CAN || byte === SUB) return "ground";
  switch (state) {
    case "escape":
      if (byte === 0x5b) return "csi";
      if (byte === 0x5d) return "osc";
      if (STRING_STARTS.has(byte)) return "string";
      if (byte >= 0x20 && byte <= 0x2f) return "escape_intermediate";
      return byte < 0x20 ? "escape" : "ground";
    case "escape_intermediate":
      return byte >= 0x30 ? "ground" : state;
    case "csi":
      return byte >= 0x40 ? "ground" : state;
    case "osc":
      return byte === BEL ? "ground" : state;
    case "string":
    case "ground":
      return state;
  }
}

function joinTail(before: Uint8Array, data: Uint8Array): Uint8Array {
  return Uint8Array.from([...before, ...data]).slice(-4);
}
