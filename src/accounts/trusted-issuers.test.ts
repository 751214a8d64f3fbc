import { createHmac } from "node:crypto";
import { base64url, exportJWK, exportSPKI, type GenerateKeyPairResult, generateKeyPair, type JWK, SignJWT } from "jose";
import { beforeAll, describe, expect, test } from "vitest";
import { openSqliteTestStore } from "../../test/support/database.ts";
import { errorCode } from "../../test/support/error-code.ts";
import { createFakeAppTokens } from "../../test/support/fake-app-tokens.ts";
import { type Clock, systemClock } from "../core/clock.ts";
import { silentLog } from "../core/log.ts";
import { createAccounts, createTrustedIssuers, type FetchKeys } from "./index.ts";

const issuer = "https://issuer.example";
const other = "https://other.example";
const audience = "https://postern.example";
const minuteMs = 60_000;
const startAt = Date.parse("2026-01-01T00:00:00Z");

interface Signer extends GenerateKeyPairResult {
  readonly jwk: JWK;
}

async function newSigner(kid: string, alg = "ES256"): Promise<Signer> {
  const pair = await generateKeyPair(alg, { extractable: true });
  return { ...pair, jwk: { ...(await exportJWK(pair.publicKey)), kid, alg, use: "sig" } };
}

let signer: Signer;
let stranger: Signer;
let rsa: Signer;
beforeAll(async () => {
  [signer, stranger, rsa] = await Promise.all([newSigner("k1"), newSigner("k2"), newSigner("r1", "RS256")]);
});

async function setUp() {
  const { db } = await openSqliteTestStore();
  let now = startAt;
  const clock: Clock = { ...systemClock, now: () => now };
  const fetched: string[] = [];
  const published = new Map<string, readonly JWK[] | null>([
    [issuer, [signer.jwk, rsa.jwk]],
    [other, [stranger.jwk]],
  ]);
  const fetch: FetchKeys = async (url) => {
    fetched.push(url);
    const keys = published.get(url.replace(/\/jwks$/, ""));
    if (keys === null) throw new Error("It does not answer.");
    return { status: 200, body: JSON.stringify({ keys }) };
  };
  const common = { audience, algorithms: ["RS256", "ES256"], scopes: ["coding:read", "coding:drive"] as const };
  const issuers = createTrustedIssuers({
    issuers: [
      {
        issuer,
        jwksUri: `${issuer}/jwks`,
        ...common,
        accounts: { "user-1": "guest", "user-2": "nobody", "user-3": "owner" },
      },
      { issuer: other, jwksUri: `${other}/jwks`, ...common, accounts: { "user-9": "owner" } },
    ],
    fetch,
    clock,
    log: silentLog,
  });
  const apps = createFakeAppTokens(clock);
  const accounts = createAccounts({ db, clock, issuers, appTokens: apps });
  const owner = await accounts.owner();
  const guest = await accounts.directory.add({ name: "guest", scopes: ["coding:read", "coding:write"] });
  const signIn = (token: string) => accounts.authenticate({ kind: "header", authorization: `Bearer ${token}` });
  const code = (token: string) => errorCode(signIn(token));
  return { db, accounts, apps, owner, guest, signIn, code, fetched, published, turn: (ms: number) => (now += ms) };
}

interface Differs {
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly head?: Readonly<Record<string, unknown>>;
  readonly by?: Signer;
}

/** A token as created by the issuer, with the given changes; an undefined claim or header field is omitted. */
async function token({ claims = {}, head = {}, by = signer }: Differs = {}): Promise<string> {
  const now = startAt / 1_000;
  const usual = { iss: issuer, aud: audience, sub: "user-1", exp: now + 3_600, iat: now, client_id: "c", jti: "j" };
  return new SignJWT({ ...usual, scope: "coding:read coding:write coding:drive other", ...claims })
    .setProtectedHeader({ alg: "ES256", kid: "k1", typ: "at+jwt", ...head })
    .sign(by.privateKey);
}

describe("RFC 9068: an access token of a trusted issuer", () => {
  test("authenticates its account, with the scopes that token, issuer and account all allow", async () => {
    const { signIn, guest, owner } = await setUp();
    const principal = await signIn(await token());
    expect(principal).toMatchObject({
      kind: "jwt",
      accountId: guest.accountId,
      scopes: new Set(["coding:read"]),
      app: null,
      resource: "all",
      expiresAt: startAt + 3_600_000,
    });
    const ofOwner = await signIn(await token({ claims: { sub: "user-3", scope: "admin coding:drive" } }));
    expect(ofOwner).toMatchObject({ accountId: owner.accountId, scopes: new Set(["coding:drive"]) });
    const again = await signIn(await token({ claims: { aud: ["elsewhere", audience], scope: undefined } }));
    expect(again.scopes).toEqual(new Set());
  });

  test("can have the full media type, and be signed with any listed algorithm", async () => {
    const { code } = await setUp();
    expect(await code(await token({ head: { typ: "application/at+jwt" } }))).toBe(null);
    expect(await code(await token({ head: { typ: "AT+JWT" } }))).toBe(null);
    expect(await code(await token({ head: { alg: "RS256", kid: "r1" }, by: rsa }))).toBe(null);
  });

  test.each([
    ["an issuer that is not trusted", { claims: { iss: "https://evil.example" } }],
    ["an issuer with an extra slash", { claims: { iss: `${issuer}/` } }],
    ["no issuer", { claims: { iss: undefined } }],
    ["another audience", { claims: { aud: "https://elsewhere.example" } }],
    ["no audience", { claims: { aud: undefined } }],
    ["an ID token instead", { head: { typ: "JWT" } }],
    ["no type", { head: { typ: undefined } }],
    ["a token of another type", { head: { typ: "dpop+jwt" } }],
    ["an expiry long ago", { claims: { exp: startAt / 1_000 - 6 } }],
    ["no expiry", { claims: { exp: undefined } }],
    ["an expiry that is not a date", { claims: { exp: 1e300 } }],
    ["a start in the future", { claims: { nbf: startAt / 1_000 + 6 } }],
    ["an unmapped subject", { claims: { sub: "user-4" } }],
    ["a subject that is a property of every object", { claims: { sub: "__proto__" } }],
    ["a subject whose account does not exist", { claims: { sub: "user-2" } }],
    ["no subject", { claims: { sub: undefined } }],
    ["another issuer's subject", { claims: { sub: "user-9" } }],
    ["a header field that must be understood", { head: { crit: ["exp"], exp: 1 } }],
  ] satisfies [string, Differs][])("with %s is refused", async (_what, differs) => {
    const { code } = await setUp();
    const made = token(differs).catch(() => null); // jose cannot sign all of them
    expect(await code((await made) ?? (await signedByHand(differs)))).toBe("unauthenticated");
  });

  test("is accepted a few seconds outside its validity, because clocks differ", async () => {
    const { code, turn } = await setUp();
    expect(await code(await token({ claims: { nbf: startAt / 1_000 + 4 } }))).toBe(null);
    const over = await token({ claims: { exp: startAt / 1_000 } });
    turn(4_000);
    expect(await code(over)).toBe(null);
    turn(2_000);
    expect(await code(over)).toBe("unauthenticated");
  });
});

/** For headers that no library signs. */
async function signedByHand({ claims, head }: Differs): Promise<string> {
  const key = signer.privateKey;
  const part = (value: object): string => base64url.encode(JSON.stringify(value));
  const now = startAt / 1_000;
  const usual = { iss: issuer, aud: audience, sub: "user-1", exp: now + 3_600, scope: "coding:read" };
  const text = `${part({ alg: "ES256", kid: "k1", typ: "at+jwt", ...head })}.${part({ ...usual, ...claims })}`;
  const signature = await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, key, Buffer.from(text));
  return `${text}.${base64url.encode(new Uint8Array(signature))}`;
}

describe("RFC 8725: a forged token", () => {
  const body = (claims: object = {}): string =>
    base64url.encode(
      JSON.stringify({
        iss: issuer,
        aud: audience,
        sub: "user-1",
        exp: startAt / 1_000 + 3_600,
        scope: "coding:read",
        ...claims,
      }),
    );
  const headOf = (head: object): string => base64url.encode(JSON.stringify({ typ: "at+jwt", kid: "k1", ...head }));

  test("with the algorithm none is refused, in every spelling", async () => {
    const { code } = await setUp();
    for (const alg of ["none", "None", "NONE", "", undefined, null, ["ES256"]]) {
      expect(await code(`${headOf({ alg })}.${body()}.`), String(alg)).toBe("unauthenticated");
      expect(await code(`${headOf({ alg })}.${body()}.AAAA`), String(alg)).toBe("unauthenticated");
    }
  });

  test("with the public key as an HMAC secret is refused", async () => {
    const { code } = await setUp();
    for (const secret of [await exportSPKI(rsa.publicKey), JSON.stringify(rsa.jwk), rsa.jwk.n ?? ""]) {
      const text = `${headOf({ alg: "HS256", kid: "r1" })}.${body()}`;
      const signature = createHmac("sha256", secret).update(text).digest("base64url");
      expect(await code(`${text}.${signature}`)).toBe("unauthenticated");
    }
  });

  test("with its own key, or a key's address, in its header is refused, and nothing is fetched", async () => {
    const { code, fetched } = await setUp();
    for (const head of [
      { jwk: stranger.jwk },
      { jku: `${other}/jwks` },
      { x5u: `${other}/cert` },
      { jwk: stranger.jwk, kid: undefined },
      { jku: `${other}/jwks`, kid: "k2" },
    ]) {
      expect(await code(await token({ head, by: stranger })), Object.keys(head).join()).toBe("unauthenticated");
    }
    expect(new Set(fetched)).toEqual(new Set([`${issuer}/jwks`]));
  });

  test("with the key of another trusted issuer is refused", async () => {
    const { code } = await setUp();
    expect(await code(await token({ claims: { iss: other, sub: "user-9" }, head: { kid: "k2" }, by: stranger }))).toBe(
      null,
    );
    expect(await code(await token({ head: { kid: "k2" }, by: stranger }))).toBe("unauthenticated");
    expect(await code(await token({ head: { kid: "k1" }, by: stranger }))).toBe("unauthenticated");
    expect(await code(await token({ head: { kid: undefined }, by: stranger }))).toBe("unauthenticated");
  });

  test("with an unlisted algorithm is refused, even with the right key", async () => {
    const { code, published } = await setUp();
    const ps = await newSigner("p1", "PS256");
    published.set(issuer, [ps.jwk]);
    expect(await code(await token({ head: { alg: "PS256", kid: "p1" }, by: ps }))).toBe("unauthenticated");
  });

  test("that was changed after signing is refused", async () => {
    const { code } = await setUp();
    const [head = "", , signature = ""] = (await token()).split(".");
    expect(await code(`${head}.${body({ sub: "user-3" })}.${signature}`)).toBe("unauthenticated");
    expect(await code(`${head}.${body()}.${signature}.`)).toBe("unauthenticated");
    expect(await code(`${head}.${body()}`)).toBe("unauthenticated");
    expect(await code(`${head}..${signature}`)).toBe("unauthenticated");
  });

  test("that is huge is refused without being parsed", async () => {
    const { code, fetched } = await setUp();
    expect(await code(await token({ claims: { padding: "x".repeat(8_000) } }))).toBe("unauthenticated");
    expect(await code(await token({ claims: { padding: "x".repeat(3_000_000) } }))).toBe("unauthenticated");
    expect(fetched).toEqual([]);
    expect(await code(await token({ claims: { padding: "x".repeat(4_000) } }))).toBe(null);
  });
});

describe("the keys of a trusted issuer", () => {
  test("are fetched once for many simultaneous tokens, and cached", async () => {
    const { code, fetched } = await setUp();
    const one = await token();
    expect(await Promise.all(Array.from({ length: 20 }, () => code(one)))).toEqual(Array(20).fill(null));
    expect(fetched).toHaveLength(1);
  });

  test("are fetched again for an unknown key, at most once a minute, even for forged tokens", async () => {
    const { code, fetched, published, turn } = await setUp();
    expect(await code(await token())).toBe(null);
    turn(minuteMs);
    const next = await newSigner("k3");
    published.set(issuer, [signer.jwk, next.jwk]);
    const rotated = await token({ head: { kid: "k3" }, by: next });
    expect(await code(rotated)).toBe(null);
    expect(fetched).toHaveLength(2);
    for (let count = 0; count < 50; count += 1) {
      expect(await code(await token({ head: { kid: `made-up-${count}` }, by: stranger }))).toBe("unauthenticated");
    }
    expect(fetched).toHaveLength(2);
    turn(minuteMs);
    expect(await code(await token({ head: { kid: "made-up" }, by: stranger }))).toBe("unauthenticated");
    expect(fetched).toHaveLength(3);
    expect(await code(rotated)).toBe(null);
  });

  test("are valid for at most ten minutes after the issuer removes them", async () => {
    const { code, published, turn } = await setUp();
    const one = await token();
    expect(await code(one)).toBe(null);
    published.set(issuer, [rsa.jwk]);
    turn(9 * minuteMs);
    expect(await code(one)).toBe(null);
    turn(2 * minuteMs);
    expect(await code(one)).toBe("unauthenticated");
  });

  test("are used for one more hour while the issuer is unreachable, and not longer", async () => {
    const { code, published, turn, fetched } = await setUp();
    const long = await token({ claims: { exp: startAt / 1_000 + 86_400 } });
    expect(await code(long)).toBe(null);
    published.set(issuer, null);
    turn(50 * minuteMs);
    expect(await code(long)).toBe(null);
    turn(11 * minuteMs);
    expect(await code(long)).toBe("unauthenticated");
    expect(fetched.length).toBeLessThanOrEqual(3);
    published.set(issuer, [signer.jwk]);
    expect(await code(long)).toBe("unauthenticated"); // the keys were fetched a moment ago, so they are not fetched again yet
    turn(minuteMs);
    expect(await code(long)).toBe(null);
  });
});

test("a token without a trusted issuer is looked up in the authorization server, whatever its format", async () => {
  const { apps, signIn, owner } = await setUp();
  const { token: opaque } = apps.issue({ accountId: owner.accountId, scopes: ["coding:write", "admin"] });
  expect(await signIn(opaque)).toMatchObject({ kind: "app", scopes: new Set(["coding:write"]), resource: "all" });
});

test("a refreshed caller reflects the token's expiry, and the account's current scopes and removal", async () => {
  const { db, accounts, signIn, guest, turn } = await setUp();
  const principal = await signIn(await token({ claims: { exp: startAt / 1_000 + 60 } }));
  expect(await accounts.refresh(principal)).toEqual(principal);
  await db
    .updateTable("accounts")
    .set({ scopes: '["coding:write"]' })
    .where("account_id", "=", guest.accountId)
    .execute();
  expect((await accounts.refresh(principal)).scopes).toEqual(new Set());
  turn(66_000);
  expect(await errorCode(accounts.refresh(principal))).toBe("unauthenticated");
  const another = await signIn(await token());
  await accounts.directory.remove(guest.accountId);
  expect(await errorCode(accounts.refresh(another))).toBe("unauthenticated");
});
