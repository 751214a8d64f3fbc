import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { suiteSeed } from "../../test/support/suite-seed.ts";
import { maskSecrets, namesSecret } from "./mask-secrets.ts";

const secret = "Zq7Rk2Vw9Xb4Nm6Tc1Lp8Hs3";
const jwt = `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ${secret}.c2lnbmF0dXJl`;

describe("secrets", () => {
  test.each([
    `sk-${secret}`,
    `sk-proj-${secret}-${secret}`,
    `sk-ant-api03-${secret}`,
    `ghp_${secret}`,
    `github_pat_${secret}`,
    "AKIAIOSFODNN7EXAMPLE",
    `AWS_SECRET_ACCESS_KEY=${secret}`,
    `export OPENAI_API_KEY="${secret}"`,
    `GITHUB_TOKEN: ${secret}`,
    `{"apiKey": "${secret}"}`,
    `{"client_secret":"${secret}"}`,
    `password = '${secret}'`,
    `--token=${secret}`,
    `url: GH_TOKEN=${secret}`,
    jwt,
    `Authorization: Bearer ${secret}`,
    `authorization: Basic ${secret}==`,
    `curl -H 'Authorization: token ${secret}' https://x`,
    `-H "Authorization: ${secret}"`,
    `Bearer ${secret}`,
    `https://me:${secret}@host/path`,
    `postgres://u:${secret}@h/d`,
    `-----BEGIN RSA PRIVATE KEY-----\n${secret}\n-----END RSA PRIVATE KEY-----`,
    `-----BEGIN OPENSSH PRIVATE KEY-----\n${secret}\n(cut)`,
    `-----BEGIN PGP PRIVATE KEY BLOCK-----\n${secret}\n-----END PGP PRIVATE KEY BLOCK-----`,
  ])("are masked: %s", (text) => {
    const masked = maskSecrets(`before\n${text}\nafter`);
    expect(masked).toContain("[masked]");
    expect(masked).toMatch(/^before\n/);
    for (const part of [secret, jwt, "IOSFODNN7", "eyJzdWIi"]) expect(masked).not.toContain(part);
  });

  test("leave what is around them", () => {
    expect(maskSecrets(`run GH_TOKEN=${secret} npm test, then stop`)).toBe("run GH_TOKEN=[masked] npm test, then stop");
    expect(maskSecrets(`a\n-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----\nb`)).toBe("a\n[masked]\nb");
  });

  test.each([
    "The token is read from a file, and the password never shown.",
    "const key = map.keys(); // path=src/a.ts",
    "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----",
    "see https://example.com/a:b@c and ask-someone-about-it",
    "eyJ is how they begin",
    "npm run test:unit -- --pattern=token",
  ])("are not seen in: %s", (text) => expect(maskSecrets(text)).toBe(text));

  test("are known by the name of a member", () => {
    for (const name of ["apiKey", "OPENAI_API_KEY", "password", "githubToken", "Authorization"]) {
      expect(namesSecret(name), name).toBe(true);
    }
    for (const name of ["path", "command", "tokens_used", "old_string"]) expect(namesSecret(name), name).toBe(false);
  });

  test("are masked whatever stands around them", () => {
    const piece = fc.oneof(
      fc.constantFrom(
        ` sk-${secret}`,
        "TOKEN=",
        "Authorization: ",
        "password",
        jwt,
        "-----BEGIN PRIVATE KEY-----",
        '"',
        "=",
        ":",
        " ",
        "\n",
      ),
      fc.string({ maxLength: 8 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        expect(maskSecrets(pieces.join(""))).not.toContain(`sk-${secret}`);
      }),
      { seed: suiteSeed, numRuns: 500 },
    );
  });
});

test.each([
  ...[
    "a",
    "A_",
    "sk-",
    "-",
    "eyJ",
    "eyJa.",
    "_TOKEN",
    "API_KEY",
    "token=",
    "token =",
    '"token',
    '"token":"',
    "://a:",
    "Bearer ",
  ],
  ...["-----BEGIN ", "-----BEGIN PRIVATE KEY-----", "authorization:", "a_a-", "1", '"', "\n", "AKIA", "TOKEN_A_"],
])("a megabyte of %j is looked at in a moment", (piece) => {
  const began = performance.now();
  // Quadratic time would be minutes.
  maskSecrets(piece.repeat(1_000_000 / piece.length));
  expect(performance.now() - began).toBeLessThan(15_000);
});
