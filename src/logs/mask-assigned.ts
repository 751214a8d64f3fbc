/** The last word of a name, or the end of a compound such as `pgpassword`. */
const endsSecret = /(?:password|passwd|passphrase|secret|token|apikey|accesskey|secretkey|privatekey|sshpass)$/;
const secretWords = new Set(["credential", "credentials", "pat", "dsn"]);
/** `key` alone is usually the key of a map entry; after these words it is a secret. */
const keysOf = wordSet(
  "api access secret private account master encryption signing auth shared storage stripe deploy root admin " +
    "webhook subscription license app service ssh symmetric",
);
/** An environment variable `…_KEY` holds a secret, except after these words. */
const harmlessKeys = wordSet(
  "public primary foreign cache sort partition unique idempotency host registry hot index group object row " +
    "lock storage_object map route s3 redis",
);
const passesOf = wordSet("db database user smtp mail admin root ssh ftp mysql pg redis");
/** After a secret's name these words mean something else, as in `TOKEN_COUNT`. */
const aboutSecrets = wordSet(
  "count name file path length size limit type ttl expiry id hash regex field policy rule rules required min " +
    "max usage used label env key url uri budget",
);
/** Every secret's name contains one of these. */
const anySecret = /key|token|secret|pass|pwd|credential|dsn|pat|auth|database|connection/i;
const environmentName = /^[A-Z0-9]+(?:_[A-Z0-9]+)*$/;

/** Whether a name indicates a secret, judging by its last 80 characters. */
export function isSecretName(given: string): boolean {
  const name = given.slice(-80);
  if (!anySecret.test(name)) return false;
  if (name === "_auth") return true;
  const words = wordsOfName(name);
  if (isSecret(words, name)) return true;
  // `GITHUB_TOKEN_2`, `API_KEY_PROD`
  for (const dropped of [1, 2]) {
    const behind = words.slice(-dropped);
    if (words.length <= dropped || !name.includes("_") || behind.some((word) => aboutSecrets.has(word))) return false;
    if (isSecret(words.slice(0, -dropped), name)) return true;
  }
  return false;
}

/** Whether a name looks like an environment variable of several words. */
function isEnvironmentName(name: string): boolean {
  return name.includes("_") && environmentName.test(name);
}

/** Whether a value is itself a word such as `token`: it is then a variable that holds the secret, not the secret. */
function callsItselfSecret(name: string): boolean {
  return /^(?:password|passwd|passphrase|secret|token|apikey|key|credentials?)$/.test(wordsOfName(name).at(-1) ?? "");
}

function wordSet(words: string): ReadonlySet<string> {
  return new Set(words.split(" "));
}

function isSecret(words: readonly string[], name: string): boolean {
  const last = words.at(-1) ?? "";
  const before = words.at(-2) ?? "";
  if (endsSecret.test(last) || secretWords.has(last)) return true;
  const isEnvironment = environmentName.test(name);
  if (last === "key") return isEnvironment ? before !== "" && !harmlessKeys.has(before) : keysOf.has(before);
  if (last === "accountkey" || last === "masterkey") return true;
  if (last === "pass") return isEnvironment || passesOf.has(before);
  if (last === "pwd") return before !== "" || name !== "PWD";
  if (last === "url") return before === "database";
  return last === "string" && before === "connection";
}

function wordsOfName(name: string): readonly string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "");
}

/** Only the end of a longer name is checked. */
const maxNameCharacters = 80;
const maxSpaces = 4;
const maxBackslashes = 8;
/** Enough of a value to recognize it. */
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
/** What can follow a value at the end of a statement. */
const lineEnds = /^[ \t]*(?:$|[\r\n"'`,;)}\]#|&]|\\["'nr]|\/\/|--|-[A-Za-z])/;
/** Not a word of prose. */
const random = /^(?=.*\d)(?=.*[A-Za-z]).{6,}$/;

/** A name before `=` or `:`. */
interface Name {
  readonly text: string;
  readonly isQuoted: boolean;
  readonly isSpaced: boolean;
}

/** The range of a secret's value. */
interface Place {
  readonly start: number;
  readonly end: number;
}

/**
 * Masks values whose names indicate a secret: `NAME=value`, `name: value`, `"name": "value"`, including JSON in a string, and headers. Looks at each character a bounded number of times.
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

/** The range between quotation marks, escaped or not, or to the end of the line if the closing one is missing. */
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
