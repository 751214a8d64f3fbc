import { noBytes } from "./output-chunk.ts";

const esc = 0x1b;
const bel = 0x07;
const pasteStart = "200~";
const pasteEnd = Buffer.from("\x1b[201~");
const stringEnd = Buffer.from("\x1b\\");

/** Longer than any answer except one with the clipboard's content. Anything longer passes. */
const maxHeldBytes = 64 * 1024;

/** What an escape character starts: its kind and where it ends. `part`: it may be an incomplete answer. */
type Found = { readonly kind: "key" | "answer" | "paste"; readonly end: number } | { readonly kind: "part" };

/**
 * Removes the answers of a viewer's terminal from its input: the host's screen model has answered already, and the program would treat a
 * second answer as typing. Keys, mouse and focus reports pass, and so does everything in a bracketed paste. Where an answer cannot be
 * distinguished from a key, it passes: the cursor report of the first row equals Shift+F3 and similar keys.
 * @see https://invisible-island.net/xterm/ctlseqs/ctlseqs.html
 */
export class AnswerFilter {
  /** The start of a possible answer. */
  #held = noBytes;
  /** In a paste, the last bytes that passed, because the marker of its end may come in pieces; otherwise null. */
  #pasteTail: Buffer | null = null;

  /** Whether input is held back until more comes or {@link flush} is called. */
  get holds(): boolean {
    return this.#held.byteLength > 0;
  }

  /** @returns the program's input */
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

  /** @returns the bytes that were held back, which turned out to be input */
  flush(): Buffer {
    const held = this.#held;
    this.#held = noBytes;
    return held;
  }

  /** Where the paste that continues at `at` ends; outside of a paste, `at` itself. */
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

// Maximum length of the parameters and intermediates of a control sequence; no answer has more.
const maxSequenceBytes = 256;

function readCsi(bytes: Buffer, start: number): Found {
  const text = bytes.toString("latin1", start + 2, start + maxSequenceBytes);
  const whole = /^[0-?]*[ -/]*[@-~]/.exec(text)?.[0];
  if (whole === undefined) {
    // Without a parameter, an escape character and a bracket are a key.
    return /^[0-?]+[ -/]*$/.test(text) && text.length < maxSequenceBytes - 2
      ? { kind: "part" }
      : { kind: "key", end: start + 1 };
  }
  const end = start + 2 + whole.length;
  if (whole === pasteStart) return { kind: "paste", end };
  return { kind: isAnswer(whole) ? "answer" : "key", end };
}

/** @param sequence what follows the bracket of a control sequence */
function isAnswer(sequence: string): boolean {
  // Attributes, modes, keyboard, color scheme, graphics: no key begins like this.
  if (/^[?>=]/.test(sequence)) return true;
  const [, row, column] = /^(\d+);(\d+)R$/.exec(sequence) ?? [];
  if (row !== undefined) return !(Number(row) === 1 && Number(column) >= 2 && Number(column) <= 16);
  // Status, mode, window and terminal parameters.
  return /^(?:[03]n|[\d;]+\$y|[\d;:]+t|[23];[\d;]+x)$/.test(sequence);
}

/** A string (OSC, DCS, APC). `head` matches the beginning of an answer, `mayBegin` bytes that can still become one. */
function readString(
  bytes: Buffer,
  start: number,
  { head, mayBegin }: { readonly head: RegExp; readonly mayBegin: RegExp },
): Found {
  const key = { kind: "key", end: start + 1 } as const;
  const text = bytes.toString("latin1", start + 2, start + maxSequenceBytes);
  const begins = head.exec(text)?.[0];
  if (begins === undefined) return mayBegin.test(text) && text.length < maxSequenceBytes - 2 ? { kind: "part" } : key;
  // Without a parameter, it is Alt with a letter.
  if (bytes[start + 1] === 0x50 && begins.length === 1) return key;
  const string = bytes.subarray(start + 2);
  const ends = [string.indexOf(stringEnd), bytes[start + 1] === 0x5d ? string.indexOf(bel) : -1].filter(
    (end) => end >= 0,
  );
  if (ends.length === 0) return string.byteLength < maxHeldBytes ? { kind: "part" } : key;
  const end = Math.min(...ends);
  return { kind: "answer", end: start + 2 + end + (string[end] === bel ? 1 : stringEnd.byteLength) };
}
