/** Inspects a line of JSON without parsing it: enough to find its kind, reading only the bytes up to the answer. */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
/** For longer strings `indexOf` is faster; the call costs about as much as this many bytes. */
const SHORT_STRING_BYTES = 48;

/** A visitor's decision about the next member. */
export type Verdict = "go_on" | "stop";

/** Inspects lines for a fixed set of names. Other keys and strings read as "", without an allocation. */
interface Peek {
  /**
   * Visits the members of the object at `at`, in order.
   * @param visit receives the key and the position of its value
   * @returns false if the visited bytes are not a JSON object
   */
  members(line: Buffer, at: number, visit: (key: string, valueAt: number) => Verdict): boolean;
  /** The string at `at`; null for another value. */
  string(line: Buffer, at: number): string | null;
  /** The string under `key` of the object at `at`, or null. */
  field(line: Buffer, at: number, key: string): string | null;
}

/** A {@link Peek} for these names, which must be ASCII without escapes. */
export function createPeek(names: readonly string[]): Peek {
  const nameAt = createLookUp(names);

  function members(line: Buffer, at: number, visit: (key: string, valueAt: number) => Verdict): boolean {
    let i = skipSpace(line, at);
    if (line[i] !== OPEN_OBJECT) return false;
    i = skipSpace(line, i + 1);
    if (line[i] === CLOSE_OBJECT) return true;
    for (;;) {
      if (line[i] !== QUOTE) return false;
      const keyEnd = skipString(line, i);
      if (keyEnd < 0) return false;
      const key = nameAt(line, i + 1, keyEnd - 1);
      i = skipSpace(line, keyEnd);
      if (line[i] !== COLON) return false;
      i = skipSpace(line, i + 1);
      if (visit(key, i) === "stop") return true;
      i = skipValue(line, i);
      if (i < 0) return false;
      i = skipSpace(line, i);
      if (line[i] === CLOSE_OBJECT) return true;
      if (line[i] !== COMMA) return false;
      i = skipSpace(line, i + 1);
    }
  }

  function string(line: Buffer, at: number): string | null {
    if (line[at] !== QUOTE) return null;
    const end = skipString(line, at);
    return end < 0 ? null : nameAt(line, at + 1, end - 1);
  }

  return {
    members,
    string,
    field(line, at, key) {
      let found: string | null = null;
      members(line, at, (name, valueAt) => {
        if (name !== key) return "go_on";
        found = string(line, valueAt);
        return "stop";
      });
      return found;
    },
  };
}

/** Finds the name between `start` and `end`, or "". */
function createLookUp(names: readonly string[]): (line: Buffer, start: number, end: number) => string {
  const byLength: { readonly name: string; readonly bytes: Buffer }[][] = [];
  for (const name of names) {
    const sameLength = byLength[name.length] ?? [];
    sameLength.push({ name, bytes: Buffer.from(name, "latin1") });
    byLength[name.length] = sameLength;
  }
  return (line, start, end) => {
    for (const { name, bytes } of byLength[end - start] ?? []) if (startsAt(line, start, bytes)) return name;
    return "";
  };
}

function startsAt(line: Buffer, start: number, bytes: Buffer): boolean {
  for (let i = 0; i < bytes.length; i++) if (line[start + i] !== bytes[i]) return false;
  return true;
}

/** The position of the first element if an array starts at `at`, else -1. */
export function peekFirstElement(line: Buffer, at: number): number {
  return line[at] === OPEN_ARRAY ? skipSpace(line, at + 1) : -1;
}

export function peekTrue(line: Buffer, at: number): boolean {
  return line[at] === 0x74;
}

export function peekNull(line: Buffer, at: number): boolean {
  return line[at] === 0x6e;
}

/** Whether the line starts and ends like a JSON object, ignoring white space. */
export function looksLikeObject(line: Buffer): boolean {
  let end = line.length - 1;
  while (end > 0 && isSpace(line[end])) end--;
  return line[end] === CLOSE_OBJECT && line[skipSpace(line, 0)] === OPEN_OBJECT;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0d || byte === 0x09 || byte === 0x0a;
}

function skipSpace(line: Buffer, at: number): number {
  let i = at;
  while (isSpace(line[i])) i++;
  return i;
}

/** From an opening quote to the position after the closing one, or -1. */
function skipString(line: Buffer, at: number): number {
  const near = Math.min(line.length, at + 1 + SHORT_STRING_BYTES);
  let i = at + 1;
  while (i < near) {
    const byte = line[i];
    if (byte === QUOTE) return i + 1;
    i += byte === BACKSLASH ? 2 : 1;
  }
  for (;;) {
    const quote = line.indexOf(QUOTE, i);
    if (quote < 0) return -1;
    let slashes = 0;
    while (line[quote - 1 - slashes] === BACKSLASH && quote - 1 - slashes >= i) slashes++;
    if (slashes % 2 === 0) return quote + 1;
    i = quote + 1;
  }
}

/** From the start of a value to the position after it, or -1. */
function skipValue(line: Buffer, at: number): number {
  const first = line[at];
  if (first === QUOTE) return skipString(line, at);
  if (first !== OPEN_OBJECT && first !== OPEN_ARRAY) return skipLiteral(line, at);
  let depth = 0;
  let i = at;
  while (i < line.length) {
    const byte = line[i];
    if (byte === QUOTE) {
      i = skipString(line, i);
      if (i < 0) return -1;
      continue;
    }
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) depth++;
    else if ((byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) && --depth === 0) return i + 1;
    i++;
  }
  return -1;
}

function skipLiteral(line: Buffer, at: number): number {
  let i = at;
  while (i < line.length && line[i] !== COMMA && line[i] !== CLOSE_OBJECT && line[i] !== CLOSE_ARRAY) i++;
  return i === at || i >= line.length ? -1 : i;
}
