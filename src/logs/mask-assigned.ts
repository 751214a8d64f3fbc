import { callsItselfSecret, isEnvironmentName, isSecretName } from "./secret-names.ts";

/** A longer name is looked at from its end. */
const maxNameCharacters = 80;
const maxSpaces = 4;
const maxBackslashes = 8;
/** By so much of a value it is decided whether it is one. */
const maxHeadCharacters = 200;

const separators = /[=:]/g;
const nameCharacter = /[A-Za-z0-9_.-]/;
const header = /^(?:proxy-)?authorization$/i;
const cookie = /^(?:set-)?cookie$/i;
const bareHead = /^[^\s"'`,})\]&;|<>[{(]{1,200}/;
/** Types and constants of programs. */
const programWord =
  /^(?:string|number|boolean|null|undefined|unknown|any|never|void|true|false|object|bigint|none|nil|str|int|bool|bytes|buffer|secretstr|required|optional|await|new|function|async|typeof|this|&'?\w*|\*\w*)[?!]?$/i;
/** `map.get(`, `list[`, `Option<`. */
const expression = /^[A-Za-z_$][\w$.?!]*[([<]/;
/** Behind the value nothing more is said. */
const lineEnds = /^[ \t]*(?:$|[\r\n"'`,;)}\]#|&]|\\["'nr]|\/\/|--|-[A-Za-z])/;
/** What nobody would say in a sentence. */
const random = /^(?=.*\d)(?=.*[A-Za-z]).{6,}$/;

/** Where a name ends in front of `=` or `:`. */
interface Name {
  readonly text: string;
  readonly isQuoted: boolean;
  readonly isSpaced: boolean;
}

/** Where the value of a secret begins and ends; what is there but not masked is not told. */
interface Place {
  readonly start: number;
  readonly end: number;
}

/**
 * Masks the values of what is named as a secret: `NAME=value`, `name: value`, `"name": "value"`, also within JSON in a string, and
 * headers. Looks at each character a bounded number of times.
 */
export function maskAssigned(text: string, mask: string): string {
  let shown = "";
  let from = 0;
  separators.lastIndex = 0;
  for (let found = separators.exec(text); found !== null; found = separators.exec(text)) {
    const name = nameBefore(text, found.index);
    if (name === null) continue;
    const isHeader = header.test(name.text) || cookie.test(name.text);
    if (!isHeader && !isSecretName(name.text)) continue;
    const place = valueBehind(text, found.index, name);
    if (place === null) continue;
    shown += text.slice(from, place.start) + mask;
    from = place.end;
    separators.lastIndex = from;
  }
  return from === 0 ? text : shown + text.slice(from);
}

function nameBefore(text: string, separator: number): Name | null {
  let end = separator;
  while (end > 0 && separator - end < maxSpaces && isSpace(text, end - 1)) end--;
  const isSpaced = end < separator;
  const isQuoted = isQuote(text.charAt(end - 1));
  if (isQuoted) {
    end--;
    for (let count = 0; count < maxBackslashes && text.charAt(end - 1) === "\\"; count++) end--;
  }
  let start = end;
  while (start > 0 && end - start < maxNameCharacters && nameCharacter.test(text.charAt(start - 1))) start--;
  const name = text.slice(start, end).replace(/^[.-]{1,80}/, "");
  return name === "" ? null : { text: name, isQuoted, isSpaced };
}

function valueBehind(text: string, separator: number, name: Name): Place | null {
  const first = text.charAt(separator);
  let at = separator + 1;
  const second = text.charAt(at);
  if ((first === "=" && second === ">") || (first === ":" && (second === ":" || text.startsWith("//", at))))
    return null;
  let isAssigned = first === "=";
  for (let count = 0; count < 2 && text.charAt(at) === "="; count++, at++) isAssigned = true;
  const behind = at;
  while (at - behind < maxSpaces && isSpace(text, at)) at++;
  const isSpaced = name.isSpaced || at > behind;
  const quoted = quotedAt(text, at);
  const isCookie = cookie.test(name.text);
  if (quoted !== null) {
    if (quoted.start >= quoted.end || (isCookie && !text.slice(quoted.start, quoted.start + 200).includes("=")))
      return null;
    return isAssigned && !isSpaced ? { start: quoted.start, end: shellWordEnd(text, quoted) } : quoted;
  }
  if (isCookie || header.test(name.text)) return headerValue(text, at, isCookie);
  const isStrong = isEnvironmentName(name.text) || (isAssigned && !isSpaced);
  return bareValue(text, at, { isStrong, isProsePossible: !isAssigned && !name.isQuoted });
}

/** Between quotation marks as they are written there, to the end of the line where the second one is missing. */
function quotedAt(text: string, at: number): Place | null {
  let start = at;
  while (start - at < maxBackslashes && text.charAt(start) === "\\") start++;
  const depth = start - at;
  const quote = text.charAt(start);
  if (!isQuote(quote)) return null;
  start++;
  let backslashes = 0;
  for (let end = start; end < text.length; end++) {
    const here = text.charAt(end);
    if (here === "\n") return { start, end };
    const closes = depth === 0 ? backslashes % 2 === 0 : backslashes <= depth;
    if (here === quote && closes) return { start, end: end - (depth === 0 ? 0 : backslashes) };
    backslashes = here === "\\" ? backslashes + 1 : 0;
  }
  return { start, end: text.length };
}

/** `"a"b'c'` is one word to a shell. */
function shellWordEnd(text: string, { end }: Place): number {
  let last = end;
  for (let at = end + 1; at < text.length; ) {
    const here = text.charAt(at);
    if (here === '"' || here === "'") {
      const next = quotedAt(text, at);
      if (next === null || next.end >= text.length || text.charAt(next.end) === "\n") break;
      last = next.end;
      at = next.end + 1;
    } else if (/[\w+/=$%@!^*-]/.test(here)) {
      at++;
      last = at;
    } else break;
  }
  return last;
}

function headerValue(text: string, start: number, isCookie: boolean): Place | null {
  if (isCookie && !/^[^\s"'=]{1,100}=/.test(text.slice(start, start + maxHeadCharacters))) return null;
  let end = start;
  while (end < text.length && !/["'\r\n]/.test(text.charAt(end))) end++;
  return end === start ? null : { start, end };
}

function bareValue(
  text: string,
  start: number,
  { isStrong, isProsePossible }: { readonly isStrong: boolean; readonly isProsePossible: boolean },
): Place | null {
  if (!isStrong) {
    const head = text.slice(start, start + 2 * maxHeadCharacters);
    const word = bareHead.exec(head)?.[0] ?? "";
    if (word === "" || programWord.test(word) || expression.test(head)) return null;
    if (/^[A-Za-z_$][A-Za-z_$.?!]*$/.test(word) && callsItselfSecret(word)) return null;
    const isLast = word.length >= maxHeadCharacters || lineEnds.test(head.slice(word.length));
    if (isProsePossible && !isLast && !random.test(word)) return null;
  }
  const stops = isProsePossible ? /[\s"'`,}]/ : /[\s"'`&;|<>]/;
  let end = start;
  for (; end < text.length && !stops.test(text.charAt(end)); end++) {
    if (text.charAt(end) !== "\\") continue;
    if (isQuote(text.charAt(end + 1))) break;
    if (isSpace(text, end + 1)) end++;
  }
  return end === start ? null : { start, end: Math.min(end, text.length) };
}

function isSpace(text: string, at: number): boolean {
  const here = text.charAt(at);
  return here === " " || here === "\t";
}

function isQuote(here: string): boolean {
  return here === '"' || here === "'" || here === "`";
}
