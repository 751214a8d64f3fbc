import { describe, expect, test } from "vitest";
import { maskSecrets } from "./mask-secrets.ts";
import { assertionsOfText } from "./rules-text.ts";

const x = "Zq7Rk2Vw9Xb4Nm6Tc1Lp8Hs3";
const quoted = String.raw;

describe("secrets in usual forms", () => {
  test.each([
    ...["PGPASSWORD", "SSHPASS", "DB_PASS", "MYSQL_PWD", "STRIPE_KEY", "ENCRYPTION_KEY", "RAILS_MASTER_KEY"].flatMap(
      (name) => [
        [`${name}=${x} psql`, `${name}=[masked] psql`],
        [`export ${name}="${x} and more"; ls`, `export ${name}="[masked]"; ls`],
        [`${name}: hunter`, `${name}: [masked]`],
      ],
    ),
    [`APP_KEY=base64:${x}=`, "APP_KEY=[masked]"],
    [`AccountName=me;AccountKey=${x}==;End=x`, "AccountName=me;AccountKey=[masked];End=x"],
    [`GITHUB_TOKEN_2=${x}`, "GITHUB_TOKEN_2=[masked]"],
    [`https://h/p?token=${x}&page=2`, "https://h/p?token=[masked]&page=2"],
    [`//registry.npmjs.org/:_authToken=${x}`, "//registry.npmjs.org/:_authToken=[masked]"],
    [`password := "${x}"`, 'password := "[masked]"'],
    [quoted`{\"password\": \"${x} y\", \"a\": 1}`, quoted`{\"password\": \"[masked]\", \"a\": 1}`],
    [quoted`{\"Authorization\": \"ApiKey ${x}\"}`, quoted`{\"Authorization\": \"[masked]\"}`],
    [quoted`{\\\"password\\\": \\\"${x} y\\\", 1}`, quoted`{\\\"password\\\": \\\"[masked]\\\", 1}`],
    ["password: x", "password: [masked]"],
    ["  password: x,\n  user: me", "  password: [masked],\n  user: me"],
    ["The password: hunter2", "The password: [masked]"],
    [`password: ${x} was it`, "password: [masked] was it"],
    ["apiKey: 'x'", "apiKey: '[masked]'"],
    ['clientSecret: "x"', 'clientSecret: "[masked]"'],
    ["token: `x`", "token: `[masked]`"],
    ["X-Api-Key: x", "X-Api-Key: [masked]"],
    [`curl -H "X-Api-Key: x" https://h`, `curl -H "X-Api-Key: [masked]" https://h`],
    [`Cookie: session=${x}; theme=dark`, "Cookie: [masked]"],
    [`-H 'Set-Cookie: s=${x}; Path=/'`, "-H 'Set-Cookie: [masked]'"],
    [`{"cookie": "s=${x}; t=1"}`, '{"cookie": "[masked]"}'],
    ["login --password x --user me", "login --password [masked] --user me"],
    ["deploy --token x", "deploy --token [masked]"],
    [`deploy --api-key "two words" now`, "deploy --api-key [masked] now"],
    ["curl -sS -u a:b https://h", "curl -sS -u a:[masked] https://h"],
    ["curl \\\n  --user a:b \\\n  https://h", "curl \\\n  --user a:[masked] \\\n  https://h"],
    ["mysql -h db -pX shop", "mysql -h db -p[masked] shop"],
    ["docker exec x mysqldump -uroot -p'two words' db", "docker exec x mysqldump -uroot -p[masked] db"],
    ["sshpass -p hunter ssh h", "sshpass -p [masked] ssh h"],
    ["redis-cli -h r -a hunter ping", "redis-cli -h r -a [masked] ping"],
    ["redis://:pw@h/0", "redis://:[masked]@h/0"],
    ["postgres://u:p@ss@h/d", "postgres://u:[masked]@h/d"],
    [`git clone https://${x}@github.com/o/r`, "git clone https://[masked]@github.com/o/r"],
    ['{"password": "two words"}', '{"password": "[masked]"}'],
    [quoted`password="a\"b rest" next`, `password="[masked]" next`],
    [quoted`password="a\\" next`, `password="[masked]" next`],
    [`PASSWORD="a b"'c d'e next`, `PASSWORD="[masked] next`],
    [quoted`PASSWORD=two\ words next`, "PASSWORD=[masked] next"],
    ...["xapp-1-", "SG.", "gsk_", "xai-", "hvs.", "pypi-", "GOCSPX-", "dop_v1_", "shpat_", "whsec_", "tskey-auth-"].map(
      (prefix) => [`it is ${prefix}${x}, or so`, "it is [masked], or so"],
    ),
    [`SG.${x}.${x}`, "[masked]"],
    ["AGE-SECRET-KEY-1QQPQZRZR7ZV2PRLXQ", "[masked]"],
    ...["r8_", "lin_api_", "ATATT3xFf"].map((prefix) => [`${prefix}${x}`, "[masked]"]),
  ])("are masked whole: %j", (text = "", masked) => expect(maskSecrets(text)).toBe(masked));

  test.each([
    "the password is checked in login.ts",
    "The password: it is checked in login.ts, and the token: never.ts is read",
    "token: string",
    "token: string;",
    "readonly token?: string | null;",
    "interface A { token: string; apiKey: string | undefined; secret: Buffer }",
    "fn new(token: &str, secret: Option<String>) -> Token::new",
    "const key = map.get(id)",
    "const token = await read(file)",
    "const token = parse(text), secret = null;",
    "login({ token: user.token, password: password, apiKey: config.apiKey })",
    "password: z.string().min(8)",
    "if (token === undefined) return token => 1",
    "tokens: 1234, max_tokens: 5, tokens_used=7",
    "token_count=5 SECRET_NAME=app TOKEN_TTL=60",
    '{"key": "a", "cacheKey": "b", "primary_key": "id", "compat": "yes", "path": "/x"}',
    "PWD=/code/app PATH=/bin CACHE_KEY=v1 PRIMARY_KEY=id",
    "use --token to pass it, or the --password flag",
    "docker run -u 1000:1000 image; mkdir -p a/b",
    "git clone ssh://git@github.com/o/r and https://git@host/r",
    "the cookie: we set it once; cookie = document.cookie",
    "passed: 12, bypass: true, keys: a, monkey: banana, tokenizer: fast",
    "see https://example.com:8080/a:b@c and ask-someone",
    "SG. is Singapore; hvs. and r8_ are beginnings; pypi-publish-action",
    "Decision (password): at least twelve characters",
  ])("are not seen in: %s", (text) => expect(maskSecrets(text)).toBe(text));
});

/** The fastest of several runs, to exclude other load on the machine. */
function timeOf(run: () => void): number {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 2; round++) {
    const began = performance.now();
    run();
    best = Math.min(best, performance.now() - began);
  }
  return best;
}

const hostilePieces = [
  ...[
    "secret_",
    "token=",
    "token:",
    "token =",
    "a=:",
    '"token":"',
    "token:a",
    'token="',
    '\\"',
    '\\\\"token\\":\\"',
    "=",
    ":",
  ],
  ...[
    "password: ",
    "key.",
    "--token ",
    "--a-",
    "--",
    "curl ",
    "curl -u ",
    " -u a:",
    "mysql -p",
    "\\\n",
    "curl \\\n",
    "cookie:",
  ],
  ...[
    "cookie=a",
    "authorization:",
    "://",
    "://a",
    "://:",
    "https://a",
    "://:@",
    "SG.",
    "SG.a",
    "pypi-",
    "eyJaaaaaaaa.",
    "Bearer a",
  ],
  ...["Decision: *", "*", "* ", "Decision: a ", "Remember:*", "\u2028", "#", "a/", ".", "<skill ", " hook ", "`", "'"],
] as const;

test.each(hostilePieces)("four times as much of %j takes at most a few times as long", (piece) => {
  const text = (characters: number) => `Decision: ${piece.repeat(characters / piece.length)}x`;
  const look = (characters: number) => {
    const hostile = text(characters);
    return timeOf(() => {
      maskSecrets(hostile);
      assertionsOfText(hostile, { session: { type: "Session", key: "s" }, at: 1 });
    });
  };
  // Quadratic time would be 16 times as long; a few milliseconds are noise.
  expect(look(60_000)).toBeLessThan(10 * look(15_000) + 400);
});

test("rows of stars in the middle of decisions are read in a moment", () => {
  const text = Array.from({ length: 25 }, () => `Decision: ${"*".repeat(7900)}x`).join("\n");
  const began = performance.now();
  expect(assertionsOfText(text, { session: { type: "Session", key: "s" }, at: 1 })).not.toEqual([]);
  expect(performance.now() - began).toBeLessThan(2_000);
});
