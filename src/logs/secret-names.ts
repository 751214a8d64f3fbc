/** The last word of a name, or how it ends where it is written in one: `pgpassword`. */
const endsSecret = /(?:password|passwd|passphrase|secret|token|apikey|accesskey|secretkey|privatekey|sshpass)$/;
const secretWords = new Set(["credential", "credentials", "pat", "dsn"]);
/** `key` alone is a member of a map; behind these it opens something. */
const keysOf = new Set([
  ...["api", "access", "secret", "private", "account", "master", "encryption", "signing", "auth", "shared", "storage"],
  ...["stripe", "deploy", "root", "admin", "webhook", "subscription", "license", "app", "service", "ssh", "symmetric"],
]);
/** `…_KEY` of an environment opens something, but for these. */
const harmlessKeys = new Set([
  ...["public", "primary", "foreign", "cache", "sort", "partition", "unique", "idempotency", "host", "registry", "hot"],
  ...["index", "group", "object", "row", "lock", "storage_object", "map", "route", "s3", "redis"],
]);
const passesOf = new Set([
  "db",
  "database",
  "user",
  "smtp",
  "mail",
  "admin",
  "root",
  "ssh",
  "ftp",
  "mysql",
  "pg",
  "redis",
]);
/** Behind a secret's name these make it another thing: `TOKEN_COUNT`. */
const aboutSecrets = new Set([
  ...[
    "count",
    "name",
    "file",
    "path",
    "length",
    "size",
    "limit",
    "type",
    "ttl",
    "expiry",
    "id",
    "hash",
    "regex",
    "field",
  ],
  ...[
    "policy",
    "rule",
    "rules",
    "required",
    "min",
    "max",
    "usage",
    "used",
    "label",
    "env",
    "key",
    "url",
    "uri",
    "budget",
  ],
]);
/** What every secret's name has in it. */
const anySecret = /key|token|secret|pass|pwd|credential|dsn|pat|auth|database|connection/i;
const environmentName = /^[A-Z0-9]+(?:_[A-Z0-9]+)*$/;

/** Whether what stands under this name is a secret, by the name alone. Looks at its last 80 characters. */
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

/** Whether a name is written as those of an environment's variables, in several words. */
export function isEnvironmentName(name: string): boolean {
  return name.includes("_") && environmentName.test(name);
}

/** Whether a name's last word says that it is a secret: a variable that holds one, not one itself. */
export function callsItselfSecret(name: string): boolean {
  return /^(?:password|passwd|passphrase|secret|token|apikey|key|credentials?)$/.test(wordsOfName(name).at(-1) ?? "");
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
