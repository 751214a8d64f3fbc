import { isSecretName, maskAssigned } from "./mask-assigned.ts";

/** Replaces secrets. */
export const mask = "[masked]";

/** Tokens with a telling prefix. A failed match reads few characters. */
const knownTokens =
  /(?<![A-Za-z0-9])(?:sk|rk|pk)[-_](?:[a-z0-9]{1,20}[-_]){0,3}[A-Za-z0-9_-]{16,}|(?<![A-Za-z0-9])(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|xox[abeoprs]-[A-Za-z0-9-]{10,}|(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])|AIza[\w-]{30,}|npm_[A-Za-z0-9]{30,}|pst_[\w-]{20,}|hf_[A-Za-z0-9]{20,}|ya29\.[\w-]{20,})/g;

/** Service tokens with less structure. */
const serviceTokens =
  /(?<![A-Za-z0-9])(?:xapp-[A-Za-z0-9-]{10,}|SG\.[\w-]{16,}(?:\.[\w-]{1,200})?|(?:gsk|r8|lin_api|shp(?:at|ca|pa|ss)|do[por]_v1)_[A-Za-z0-9]{16,}|xai-[A-Za-z0-9]{16,}|hv[sbr]\.[\w-]{16,}|pypi-\w{16,}[\w-]*|GOCSPX-[\w-]{16,}|whsec_[A-Za-z0-9+/=]{16,}|tskey-[\w-]{10,}|AGE-SECRET-KEY-[A-Z0-9]{16,}|ATATT[\w=-]{16,})/g;

/** The first of three parts is a JSON object in base64url, which begins with `eyJ`. */
const jsonWebTokens = /(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*){0,3}/g;

const bearers = /(\b(?:bearer|basic)[ \t]{1,4})[\w.~+/=-]{16,}/gi;

/** `user:password@` of a URL, up to the last `@` before the path. */
const addressPasswords = /(:\/\/[^\s/:@"']{0,200}:)[^\s/"']{1,500}(?=@)/g;
/** `token@` of a web URL. */
const addressTokens = /(\bhttps?:\/\/)(?!git@|\[masked\])[^\s/:@"']{1,500}(?=@)/gi;

const keyBegins = "-----BEGIN ";
const keyHead = /^-----BEGIN [A-Z0-9 ]{0,60}PRIVATE KEY(?: BLOCK)?-----/;
const keyEnds = "-----END ";

/**
 * Masks whatever looks like a key, token or password, judging by form alone, in linear time.
 */
export function maskSecrets(text: string): string {
  const withoutTokens = maskKeyBlocks(text)
    .replace(knownTokens, mask)
    .replace(serviceTokens, mask)
    .replace(jsonWebTokens, mask)
    .replace(bearers, `$1${mask}`)
    .replace(addressPasswords, `$1${mask}`)
    .replace(addressTokens, `$1${mask}`);
  return maskAssigned(maskArguments(withoutTokens), mask);
}

/** Whether a member with this name holds a secret. */
export function namesSecret(name: string): boolean {
  return name.length <= 200 && (isSecretName(name) || /^(?:(?:proxy-)?authorization|(?:set-)?cookie)$/i.test(name));
}

/** Masks private keys, up to the end of the text if the last line is missing. */
function maskKeyBlocks(text: string): string {
  let shown = "";
  let from = 0;
  for (;;) {
    const begin = text.indexOf(keyBegins, from);
    if (begin < 0) return shown + text.slice(from);
    if (!keyHead.test(text.slice(begin, begin + 100))) {
      shown += text.slice(from, begin + keyBegins.length);
      from = begin + keyBegins.length;
      continue;
    }
    const end = text.indexOf(keyEnds, begin);
    shown += text.slice(from, begin) + mask;
    if (end < 0) return shown;
    const closing = text.indexOf("-----", end + keyEnds.length);
    if (closing < 0 || closing > end + 100) return shown;
    from = closing + 5;
  }
}

/** `--token x`, except for words that continue a sentence about the option. */
const named =
  /(?<![\w-])(--(?:[a-z0-9]{1,20}-){0,4}(?:password|passwd|pass|passphrase|token|secret|api-?key|access-?key|secret-?key|private-?key)[ \t]{1,4})(?!-|(?:flags?|options?|arguments?|parameters?|values?|is|are|was|to|and|or|as|for|in|with|from|on|of|the|a|an|that|which|when|if|must|may|can|has)\b(?![\w-]))("(?:[^"\\\n]|\\.){1,2000}"?|'[^'\n]{1,2000}'?|[^\s"'`]{1,2000})/gi;

const programs = /\b(?:curl|wget|mysql\w{0,10}|mariadb\w{0,10}|sshpass|redis-cli)\b/g;
/** Each program's option for a secret, followed by the secret, quoted or bare. */
const secretsOf: ReadonlyMap<string, RegExp> = new Map([
  ["curl", /([ \t](?:-[A-Za-z]{0,6}[uU]|--user|--proxy-user)[ \t=]{0,4}["']?[^\s:"']{0,200}:)[^\s"']{1,500}/g],
  ["mysql", /([ \t]-p)("[^"\n]{1,500}"?|'[^'\n]{1,500}'?|[^\s"']{1,500})/g],
  ["sshpass", /([ \t]-p[ \t]{0,4})("[^"\n]{1,500}"?|'[^'\n]{1,500}'?|[^\s"']{1,500})/g],
  ["redis-cli", /([ \t]-a[ \t]{1,4})("[^"\n]{1,500}"?|'[^'\n]{1,500}'?|[^\s"']{1,500})/g],
]);

/** Masks secrets in command arguments. */
function maskArguments(text: string): string {
  const all = text.replace(named, `$1${mask}`);
  if (all.search(programs) < 0) return all;
  let before: readonly string[] = [];
  const lines: string[] = [];
  for (const line of all.split("\n")) {
    const found = line.match(programs) ?? [];
    // A backslash at the end of a line continues a command.
    const continued = lines.at(-1)?.endsWith("\\") === true ? before : [];
    const here = new Set(found.map(familyOf));
    before = [...new Set([...continued, ...here])];
    let masked = line;
    for (const program of continued) masked = maskedAfter(masked, 0, program);
    for (const program of here) {
      masked = maskedAfter(masked, Math.max(masked.indexOf(program), 0), program);
    }
    lines.push(masked);
  }
  return lines.join("\n");
}

function maskedAfter(line: string, from: number, program: string): string {
  const pattern = secretsOf.get(program === "mariadb" ? "mysql" : program === "wget" ? "curl" : program);
  return pattern === undefined ? line : line.slice(0, from) + line.slice(from).replace(pattern, `$1${mask}`);
}

function familyOf(program: string): string {
  return /^(?:mysql|mariadb)/.exec(program)?.[0] ?? program;
}
