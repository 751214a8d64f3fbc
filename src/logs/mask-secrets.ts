/** What stands in the place of a secret. */
export const mask = "[masked]";

/** Tokens that say what they are by how they begin. Where one fails to match, few characters were looked at. */
const knownTokens =
  /(?<![A-Za-z0-9])(?:sk|rk|pk)[-_](?:[a-z0-9]{1,20}[-_]){0,3}[A-Za-z0-9_-]{16,}|(?<![A-Za-z0-9])(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|xox[abeoprs]-[A-Za-z0-9-]{10,}|(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])|AIza[\w-]{30,}|npm_[A-Za-z0-9]{30,}|pst_[\w-]{20,}|hf_[A-Za-z0-9]{20,}|ya29\.[\w-]{20,})/g;

/** The first of its three parts is a JSON object in base64url, so it begins like this. */
const jsonWebTokens = /(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*){0,3}/g;

/** The value of the header, whatever its scheme, to the end of the line or of the quotation. */
const authorization = /(\b(?:proxy-)?authorization["']?[ \t]{0,4}[:=][ \t]{0,4}["']?)[^"'\r\n]{1,8000}/gi;
const bearers = /(\b(?:bearer|basic)[ \t]{1,4})[\w.~+/=-]{16,}/gi;

/** `user:password@` of an address. */
const addressPasswords = /(:\/\/[^\s/:@"']{1,200}:)[^\s/@"']{1,500}(?=@)/g;

const secretName =
  "api[_-]?key|apikey|access[_-]?key|secret[_-]?key|private[_-]?key|client[_-]?secret|auth[_-]?token|access[_-]?token|refresh[_-]?token|" +
  "token|secret|passwd|password|passphrase|credentials?|database_url|connection_string|dsn|pat";
/** `NAME=value`, as a shell, a file of settings or a program writes it. */
const assignments = new RegExp(
  `(?<![A-Za-z0-9])((?:[A-Za-z0-9]{1,30}[_-]){0,6}(?:${secretName})(?:_[A-Z0-9]{1,20}){0,2}["']?[ \\t]{0,4}=[ \\t]{0,4})("[^"\\n]{1,8000}"?|'[^'\\n]{1,8000}'?|[^\\s"'&;|<>]{1,8000})`,
  "gi",
);
/** `NAME: value` where the name is written as a variable's, and `"name": "value"`. */
const members = new RegExp(
  `((?<![A-Za-z0-9])(?:[A-Z0-9]{1,30}_){1,6}(?:KEY|TOKEN|SECRET|PASSWORD|PASSPHRASE|CREDENTIALS?)["']?[ \\t]{0,4}:[ \\t]{0,4}["']?|["'][\\w-]{0,60}?(?:${secretName})["'][ \\t]{0,4}:[ \\t]{0,4}["'])([^\\s"',}]{1,8000})`,
  "gi",
);

const keyBegins = "-----BEGIN ";
const keyHead = /^-----BEGIN [A-Z0-9 ]{0,60}PRIVATE KEY(?: BLOCK)?-----/;
const keyEnds = "-----END ";
const secretMember = new RegExp(`^[\\w-]{0,60}?(?:${secretName}|authorization)$`, "i");

/**
 * The text without what looks like a key, a token or a password. A guess by form: it takes no meaning, and no text longer than its
 * own length to look at.
 */
export function maskSecrets(text: string): string {
  return maskKeyBlocks(text)
    .replace(authorization, `$1${mask}`)
    .replace(knownTokens, mask)
    .replace(jsonWebTokens, mask)
    .replace(bearers, `$1${mask}`)
    .replace(addressPasswords, `$1${mask}`)
    .replace(assignments, `$1${mask}`)
    .replace(members, `$1${mask}`);
}

/** Whether a member of this name holds a secret, whatever its form. */
export function namesSecret(name: string): boolean {
  return name.length <= 200 && secretMember.test(name);
}

/** Private keys, from their first line to their last one, or to the end where that is missing. */
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
