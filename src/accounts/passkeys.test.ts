import { expect, test } from "vitest";
import { createAuthenticator, type Faults } from "../../test/support/authenticator.ts";
import { describeOnBothStores, type OpenTestStore } from "../../test/support/database.ts";
import { errorCode } from "../../test/support/error-code.ts";
import { createFakeClock } from "../../test/support/fake-clock.ts";
import { type Account, createAccounts } from "./index.ts";
import { createCeremonies, passkeySite } from "./passkey-ceremonies.ts";

const origin = "http://localhost:7177";
const page = { pageOrigin: origin, baseUrl: `${origin}/` };
const from = { address: "192.0.2.1", userAgent: "Firefox" };

async function setUp(openStore: OpenTestStore) {
  const store = await openStore();
  const clock = createFakeClock();
  const accounts = createAccounts({ db: store.db, clock });
  const account: Account = await accounts.owner();
  const { passkeys } = accounts;
  const owner = { account, browserSessionId: "b1" };
  const authenticator = createAuthenticator({ origin });
  const register = async (device = authenticator, who = owner, faults: Faults = {}) => {
    const ceremony = await passkeys.beginRegistration(who, page);
    const { ceremonyId } = ceremony;
    return passkeys.register(who, { ceremonyId, credential: device.create(ceremony, faults), name: "phone" });
  };
  const signIn = async (faults: Faults = {}, device = authenticator) => {
    const ceremony = await passkeys.beginSignIn(page);
    return passkeys.signIn({ ceremonyId: ceremony.ceremonyId, credential: device.get(ceremony, faults) }, from);
  };
  const audited = async () => (await accounts.audit.page({ limit: 200 })).entries;
  return { store, clock, accounts, account, passkeys, owner, authenticator, register, signIn, audited };
}

describeOnBothStores("a passkey", (openStore) => {
  test("is created by a signed-in browser and signs in another one, like a link", async () => {
    const { accounts, account, clock, passkeys, authenticator, register, signIn, audited } = await setUp(openStore);
    const made = await register();
    expect(made).toEqual({
      passkeyId: authenticator.credentialId,
      name: "phone",
      createdAt: new Date(clock.now()).toISOString(),
      lastUsedAt: null,
      backedUp: false,
    });
    await clock.advance(1_000);
    const { cookie, key, browserSessionId } = await signIn();
    const principal = await accounts.authenticate({ kind: "browser", cookies: [cookie], key });
    expect(principal).toMatchObject({ kind: "browser", accountId: account.accountId, browserSessionId });
    expect(await accounts.browsers.list(account.accountId)).toMatchObject([{ userAgent: "Firefox" }]);
    expect(await passkeys.list(account.accountId)).toEqual([
      { ...made, lastUsedAt: new Date(clock.now()).toISOString() },
    ]);
    expect(await audited()).toMatchObject([
      {
        action: "signed_in",
        account: { accountId: account.accountId },
        subject: made.passkeyId,
        details: { by: "passkey", browserSessionId },
        ...from,
      },
    ]);
  });

  test("is requested without an account name, with user verification, for the host of the base URL", async () => {
    const { passkeys, owner, register } = await setUp(openStore);
    const made = await register();
    expect((await passkeys.beginRegistration(owner, page)).options).toMatchObject({
      rp: { id: "localhost" },
      authenticatorSelection: { residentKey: "required", userVerification: "required" },
      attestation: "none",
      excludeCredentials: [{ id: made.passkeyId, transports: ["internal"] }],
    });
    const { options } = await passkeys.beginSignIn(page);
    expect(options).toMatchObject({ rpId: "localhost", userVerification: "required" });
    expect(options["allowCredentials"]).toBe(undefined);
  });

  const faults = [
    ["another origin", { origin: "http://localhost:8080" }],
    ["another relying party", { rpId: "evil.example" }],
    ["another challenge", { challenge: "AAAA" }],
    ["another ceremony's type", { type: "webauthn.other" }],
    ["no user present", { present: false }],
    ["no user verified", { verified: false }],
  ] as const satisfies readonly (readonly [string, Faults])[];

  test("is not created when anything in the answer is wrong", async () => {
    const { passkeys, account, register } = await setUp(openStore);
    for (const [title, fault] of faults) {
      await expect(register(undefined, undefined, fault), title).rejects.toMatchObject({ code: "invalid_request" });
    }
    expect(await passkeys.list(account.accountId)).toEqual([]);
    await register();
  });

  test("does not sign in when anything in the answer is wrong, and each attempt is audited without an account", async () => {
    const { accounts, account, register, signIn, audited } = await setUp(openStore);
    await register();
    const all = [
      ...faults,
      ["another's signature", { forged: true }],
      ["another account's handle", { userHandle: "bm9ib2R5" }],
      ["no handle", { userHandle: "" }],
      ["an unknown credential", { credentialId: "AAAA" }],
      ["what is no credential", { credentialId: "' or 1=1" }],
    ] as const satisfies readonly (readonly [string, Faults])[];
    for (const [title, fault] of all) {
      await expect(signIn(fault), title).rejects.toMatchObject({ code: "unauthenticated" });
      expect((await audited())[0], title).toMatchObject({
        action: "sign_in_refused",
        account: null,
        details: { by: "passkey" },
      });
    }
    expect(await audited()).toHaveLength(all.length);
    expect(await accounts.browsers.list(account.accountId)).toEqual([]);
    await signIn();
  });

  test("is refused and audited when its counter goes back; a passkey whose counter increases still signs in", async () => {
    const { account, authenticator, register, signIn, audited } = await setUp(openStore);
    await register();
    await signIn({ counter: 10 });
    for (const counter of [9, 10, 0]) {
      await expect(signIn({ counter })).rejects.toMatchObject({ code: "unauthenticated", message: /copy/ });
    }
    expect((await audited())[0]).toMatchObject({
      action: "sign_in_refused",
      account: { accountId: account.accountId },
      subject: authenticator.credentialId,
      details: { reason: expect.stringContaining("copied") },
    });
    // Anyone can send a lower counter, so it counts only with a valid signature.
    await expect(signIn({ counter: 3, forged: true })).rejects.toMatchObject({ code: "unauthenticated" });
    expect((await audited())[0]).toMatchObject({ account: null });
    await signIn({ counter: 11 });
  });

  test("that is synced between devices never counts, and can sign in repeatedly", async () => {
    const { register, signIn } = await setUp(openStore);
    const synced = createAuthenticator({ origin, counts: false });
    await register(synced);
    for (let at = 0; at < 3; at += 1) await signIn({}, synced);
  });

  test("answers each ceremony once, in the same browser, within five minutes", async () => {
    const { clock, accounts, account, passkeys, owner, authenticator, register } = await setUp(openStore);
    const registration = await passkeys.beginRegistration(owner, page);
    const answer = () => ({
      ceremonyId: registration.ceremonyId,
      credential: authenticator.create(registration),
      name: "x",
    });
    const elsewhere = passkeys.register({ ...owner, browserSessionId: "b2" }, answer());
    expect(await errorCode(elsewhere)).toBe("invalid_request");
    expect(await errorCode(passkeys.register(owner, answer()))).toBe("invalid_request"); // consumed
    await register();
    await expect(register()).rejects.toMatchObject({ message: expect.stringContaining("already registered") });

    const ceremony = await passkeys.beginSignIn(page);
    const credential = authenticator.get(ceremony);
    const attempt = () => errorCode(passkeys.signIn({ ceremonyId: ceremony.ceremonyId, credential }, from));
    const outcomes = await Promise.all([attempt(), attempt(), attempt()]);
    expect(outcomes).toEqual([null, "unauthenticated", "unauthenticated"]);
    expect(await accounts.browsers.list(account.accountId)).toHaveLength(1);

    const late = await passkeys.beginSignIn(page);
    await clock.advance(5 * 60_000);
    const tooLate = passkeys.signIn({ ceremonyId: late.ceremonyId, credential: authenticator.get(late) }, from);
    expect(await errorCode(tooLate)).toBe("unauthenticated");
    const mixed = await passkeys.beginSignIn(page);
    const asRegistration = { ceremonyId: mixed.ceremonyId, credential: authenticator.create(registration), name: "x" };
    expect(await errorCode(passkeys.register(owner, asRegistration))).toBe("invalid_request");
  });

  test("is removed by its own account, and together with it", async () => {
    const { accounts, account, passkeys, authenticator, register, signIn } = await setUp(openStore);
    const guest = await accounts.directory.add({ name: "guest", scopes: ["coding:read"] });
    const device = createAuthenticator({ origin });
    await register();
    const guests = await register(device, { account: guest, browserSessionId: "b9" });
    expect(await errorCode(passkeys.remove(account.accountId, guests.passkeyId))).toBe("passkey_not_found");
    await signIn({}, device);
    await accounts.directory.remove(guest.accountId);
    await expect(signIn({}, device)).rejects.toMatchObject({ code: "unauthenticated" });
    expect(await passkeys.remove(account.accountId, authenticator.credentialId)).toMatchObject({ name: "phone" });
    expect(await errorCode(passkeys.remove(account.accountId, authenticator.credentialId))).toBe("passkey_not_found");
    await expect(signIn()).rejects.toMatchObject({ code: "unauthenticated" });
  });
});

test("passkeys work only at the host of the base URL; elsewhere the error gives the address to use", () => {
  expect(passkeySite(page)).toEqual({ origin, rpId: "localhost" });
  const https = { pageOrigin: "https://agents.example.org", baseUrl: "https://agents.example.org/" };
  expect(passkeySite(https)).toEqual({ origin: https.pageOrigin, rpId: "agents.example.org" });
  for (const [pageOrigin, baseUrl, words] of [
    ["http://127.0.0.1:7177", origin, /do not work at 127\.0\.0\.1. Open the gateway at http:\/\/localhost:7177 /],
    ["http://[::1]:7177", origin, /Open the gateway at http:\/\/localhost:7177 /],
    ["http://localhost:7177", "https://agents.example.org", /Open the gateway at https:\/\/agents\.example\.org /],
    ["http://192.0.2.1:7177", "http://192.0.2.1:7177", /--base-url/],
    ["http://[2001:db8::1]", "http://[2001:db8::1]", /--base-url/],
  ] as const) {
    expect(() => passkeySite({ pageOrigin, baseUrl }), pageOrigin).toThrow(words);
  }
});

test("ceremonies are limited: the oldest is dropped", () => {
  const ceremonies = createCeremonies({ clock: createFakeClock(), max: 3 });
  const ceremony = { kind: "sign-in", challenge: "c", origin, rpId: "localhost", browserSessionId: null } as const;
  const ids = [1, 2, 3, 4].map(() => ceremonies.begin(ceremony));
  expect(ids.map((id) => ceremonies.take(id) !== null)).toEqual([false, true, true, true]);
});
