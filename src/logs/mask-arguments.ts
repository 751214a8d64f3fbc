/** `--token x`; words that a sentence about the argument goes on with are none. */
const named =
  /(?<![\w-])(--(?:[a-z0-9]{1,20}-){0,4}(?:password|passwd|pass|passphrase|token|secret|api-?key|access-?key|secret-?key|private-?key)[ \t]{1,4})(?!-|(?:flags?|options?|arguments?|parameters?|values?|is|are|was|to|and|or|as|for|in|with|from|on|of|the|a|an|that|which|when|if|must|may|can|has)\b(?![\w-]))("(?:[^"\\\n]|\\.){1,2000}"?|'[^'\n]{1,2000}'?|[^\s"'`]{1,2000})/gi;

const programs = /\b(?:curl|wget|mysql\w{0,10}|mariadb\w{0,10}|sshpass|redis-cli)\b/g;
/** What each program takes a secret by; behind it the secret, quoted or a word. */
const secretsOf: ReadonlyMap<string, RegExp> = new Map([
  ["curl", /([ \t](?:-[A-Za-z]{0,6}[uU]|--user|--proxy-user)[ \t=]{0,4}["']?[^\s:"']{0,200}:)[^\s"']{1,500}/g],
  ["mysql", /([ \t]-p)("[^"\n]{1,500}"?|'[^'\n]{1,500}'?|[^\s"']{1,500})/g],
  ["sshpass", /([ \t]-p[ \t]{0,4})("[^"\n]{1,500}"?|'[^'\n]{1,500}'?|[^\s"']{1,500})/g],
  ["redis-cli", /([ \t]-a[ \t]{1,4})("[^"\n]{1,500}"?|'[^'\n]{1,500}'?|[^\s"']{1,500})/g],
]);

/** Masks what commands take as a secret among their arguments. */
export function maskArguments(text: string, mask: string): string {
  const all = text.replace(named, `$1${mask}`);
  if (all.search(programs) < 0) return all;
  let before: readonly string[] = [];
  const lines: string[] = [];
  for (const line of all.split("\n")) {
    const found = line.match(programs) ?? [];
    // A command goes on behind a backslash at the end of a line.
    const continued = lines.at(-1)?.endsWith("\\") === true ? before : [];
    const here = new Set(found.map(familyOf));
    before = [...new Set([...continued, ...here])];
    let masked = line;
    for (const program of continued) masked = maskedBehind(masked, 0, { program, mask });
    for (const program of here) {
      masked = maskedBehind(masked, Math.max(masked.indexOf(program), 0), { program, mask });
    }
    lines.push(masked);
  }
  return lines.join("\n");
}

function maskedBehind(
  line: string,
  from: number,
  { program, mask }: { readonly program: string; readonly mask: string },
): string {
  const pattern = secretsOf.get(program === "mariadb" ? "mysql" : program === "wget" ? "curl" : program);
  return pattern === undefined ? line : line.slice(0, from) + line.slice(from).replace(pattern, `$1${mask}`);
}

function familyOf(program: string): string {
  return /^(?:mysql|mariadb)/.exec(program)?.[0] ?? program;
}
