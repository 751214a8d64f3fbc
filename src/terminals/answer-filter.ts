import { noBytes } from "./output-chunk.ts";

const esc = 0x1b;
const bel = 0x07;
const pasteStart = "200~";
const pasteEnd = Buffer.from("\x1b[201~");
const stringEnd = Buffer.from("\x1b\\");

/** Longer than any answer but that of a clipboard; what is longer is passed on. */
const maxHeldBytes = 64 * 1024;

/** What stands at an escape character, and where it ends. `part`: an answer may have begun whose rest has not come yet. */
type Found = { readonly kind: "key" | "answer" | "paste"; readonly end: number } | { readonly kind: "part" };

/**
 * Takes out of what a viewer sends the answers that its terminal gives by itself: the host's screen model has answered already, and a
 * second answer would be taken for typing. Keys, mouse and focus reports pass, and so does everything within a bracketed paste. Where an
 * answer cannot be told from a key, it passes: the report of a cursor in the first row is Shift+F3 and its like in another window.
 * @see https://invisible-island.net/xterm/ctlseqs/ctlseqs.html
 */
export class AnswerFilter {
  /** The beginning of what may be an answer. */
  #held = noBytes;
  /** Within a paste, the last bytes that passed: its end may come in pieces. Null outside of one. */
  #pasteTail: Buffer | null = null;

  /** Whether something is held back until more comes or {@link flush} is called. */
  get holds(): boolean {
    return this.#held.byteLength > 0;
  }

  /** @returns what is for the program */
  push(data: Buffer): Buffer {
    const bytes = this.holds ? Buffer.concat([this.#held, data]) : data;
    this.#held = noBytes;
    if (this.#pasteTail === null && !bytes.includes(esc)) return bytes;
    const kept: Buffer[] = [];
    let from = 0;
    let at = this.#endOfPaste(bytes, 0);
    while (at < bytes.byteLength) {
      const start = bytes.indexOf(esc, at);
      if (start === -1) break;
      const found = readSequence(bytes, start);
      if (found.kind === "part") {
        kept.push(bytes.subarray(from, start));
        this.#held = Buffer.from(bytes.subarray(start));
        return Buffer.concat(kept);
      }
      at = found.end;
      if (found.kind === "answer") {
        kept.push(bytes.subarray(from, start));
        from = at;
      } else if (found.kind === "paste") {
        this.#pasteTail = noBytes;
        at = this.#endOfPaste(bytes, at);
      }
    }
    if (from === 0) return bytes;
    kept.push(bytes.subarray(from));
    return Buffer.concat(kept);
  }

  /** Gives up waiting: what was held back is for the program after all. */
  flush(): Buffer {
    const held = this.#held;
    this.#held = noBytes;
    return held;
  }

  /** Where the paste ends that goes on at `at`: there, when there is none. */
  #endOfPaste(bytes: Buffer, at: number): number {
    if (this.#pasteTail === null) return at;
    const before = this.#pasteTail.byteLength;
    const text = Buffer.concat([this.#pasteTail, bytes.subarray(at)]);
    const end = text.indexOf(pasteEnd);
    if (end === -1) {
      this.#pasteTail = Buffer.from(text.subarray(Math.max(0, text.byteLength - (pasteEnd.byteLength - 1))));
      return bytes.byteLength;
    }
    this.#pasteTail = null;
    return at + end + pasteEnd.byteLength - before;
  }
}

function readSequence(bytes: Buffer, start: number): Found {
  switch (bytes[start + 1]) {
    case 0x5b: // [
      return readCsi(bytes, start);
    case 0x5d: // ]
      return readString(bytes, start, { head: /^(?:\d+;|[lL])/, mayBegin: /^\d+$/ });
    case 0x50: // P
      return readString(bytes, start, { head: /^[0-?]*[ -/]*[@-~]/, mayBegin: /^(?=.)[0-?]*[ -/]*$/ });
    case 0x5f: // _
      return readString(bytes, start, { head: /^G/, mayBegin: /^$(?!)/ });
    default:
      return { kind: "key", end: start + 1 };
  }
}

// Parameters and intermediates of a control sequence; no answer has more.
const maxSequenceBytes = 256;

function readCsi(bytes: Buffer, start: number): Found {
  const text = bytes.toString("latin1", start + 2, start + maxSequenceBytes);
  const whole = /^[0-?]*[ -/]*[@-~]/.exec(text)?.[0];
  if (whole === undefined) {
    // An escape character and a bracket alone are a key; with a parameter something must follow.
    return /^[0-?]+[ -/]*$/.test(text) && text.length < maxSequenceBytes - 2
      ? { kind: "part" }
      : { kind: "key", end: start + 1 };
  }
  const end = start + 2 + whole.length;
  if (whole === pasteStart) return { kind: "paste", end };
  return { kind: isAnswer(whole) ? "answer" : "key", end };
}

/** @param sequence of a control sequence, what follows the bracket */
function isAnswer(sequence: string): boolean {
  // Attributes, modes, keyboard, colour scheme, graphics: what a terminal sends with these marks is never a key.
  if (/^[?>=]/.test(sequence)) return true;
  const [, row, column] = /^(\d+);(\d+)R$/.exec(sequence) ?? [];
  if (row !== undefined) return !(Number(row) === 1 && Number(column) >= 2 && Number(column) <= 16);
  // Status, mode, window and terminal parameters.
  return /^(?:[03]n|[\d;]+\$y|[\d;:]+t|[23];[\d;]+x)$/.test(sequence);
}

/** A string (OSC, DCS, APC), which no key is. `head` is how an answer begins, `mayBegin` what may still become one. */
function readString(
  bytes: Buffer,
  start: number,
  { head, mayBegin }: { readonly head: RegExp; readonly mayBegin: RegExp },
): Found {
  const key = { kind: "key", end: start + 1 } as const;
  const text = bytes.toString("latin1", start + 2, start + maxSequenceBytes);
  const begins = head.exec(text)?.[0];
  if (begins === undefined) return mayBegin.test(text) && text.length < maxSequenceBytes - 2 ? { kind: "part" } : key;
  // Alt and a letter: without a parameter or mark this is typed.
  if (bytes[start + 1] === 0x50 && begins.length === 1) return key;
  const string = bytes.subarray(start + 2);
  const ends = [string.indexOf(stringEnd), bytes[start + 1] === 0x5d ? string.indexOf(bel) : -1].filter(
    (end) => end >= 0,
  );
  if (ends.length === 0) return string.byteLength < maxHeldBytes ? { kind: "part" } : key;
  const end = Math.min(...ends);
  return { kind: "answer", end: start + 2 + end + (string[end] === bel ? 1 : stringEnd.byteLength) };
}
