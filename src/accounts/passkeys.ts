import { timingSafeEqual } from "node:crypto";
import { z } from "zod";
import type { Clock } from "../core/clock.ts";
import { messageOf, PosternError } from "../core/errors.ts";
import type { AddPasskeyInput, Passkey, PasskeyAnswer, PasskeyCeremony } from "../wire/accounts.ts";
import type { Account } from "./account-store.ts";
import type { Audit, AuditOrigin } from "./audit.ts";
import type { BrowserSessionStore, NewBrowser } from "./browser-sessions.ts";
import { type Ceremonies, type Ceremony, ceremonyLifeMs, createCeremonies, passkeySite } from "./passkey-ceremonies.ts";
import type { PasskeyKey, PasskeyStore } from "./passkey-store.ts";

/** The origin of a page of the gateway, and the gateway's base URL. */
export interface PasskeyPage {
  readonly pageOrigin: string;
  readonly baseUrl: string;
}

/** A signed-in browser that creates a passkey. */
export interface PasskeyOwner {
  readonly account: Pick<Account, "accountId" | "name">;
  readonly browserSessionId: string;
}

/** Sign-in without a password, with a credential that a browser, phone or security key unlocks only for its user. */
export interface Passkeys {
  /** Oldest first. */
  list(accountId: string): Promise<readonly Passkey[]>;
  /** @throws PosternError `invalid_request` at an address where passkeys do not work */
  beginRegistration(owner: PasskeyOwner, page: PasskeyPage): Promise<PasskeyCeremony>;
  /** @throws PosternError `invalid_request` when the answer is not for this browser's own ceremony, or cannot be verified */
  register(owner: PasskeyOwner, answer: AddPasskeyInput): Promise<Passkey>;
  /** Browsers that signed in with it stay signed in. @throws PosternError `passkey_not_found` */
  remove(accountId: string, passkeyId: string): Promise<Passkey>;
  /** @throws PosternError `invalid_request` at an address where passkeys do not work */
  beginSignIn(page: PasskeyPage): Promise<PasskeyCeremony>;
  /**
   * Audits every attempt, successful or not.
   * @param onRefused called before a refusal is audited; when it throws, its error is thrown instead and nothing is audited
   * @throws PosternError `unauthenticated`
   */
  signIn(answer: PasskeyAnswer, from: AuditOrigin, onRefused?: () => void): Promise<NewBrowser>;
}

/** Maximum length of the reason for a refusal: an unknown caller can choose parts of it. */
const maxReasonLength = 300;

/** EdDSA, ES256 and RS256: the algorithms of common authenticators. @see https://www.iana.org/assignments/cose */
const algorithms = [-8, -7, -257];

const base64Schema = z
  .string()
  .min(1)
  .max(20_000)
  .regex(/^[\w-]+$/);
const registrationSchema = z.object({
  id: base64Schema.max(1_500),
  rawId: base64Schema.max(1_500),
  type: z.literal("public-key"),
  response: z.object({
    clientDataJSON: base64Schema,
    attestationObject: base64Schema,
    transports: z.array(z.string().max(50)).max(20).default([]),
  }),
});
const assertionSchema = z.object({
  id: base64Schema.max(1_500),
  rawId: base64Schema.max(1_500),
  type: z.literal("public-key"),
  response: z.object({
    clientDataJSON: base64Schema,
    authenticatorData: base64Schema,
    signature: base64Schema,
    userHandle: base64Schema.max(200).nullish(),
  }),
});
type Assertion = z.infer<typeof assertionSchema>;

export function createPasskeys(deps: {
  readonly clock: Clock;
  readonly store: PasskeyStore;
  readonly audit: Audit;
  readonly browsers: Pick<BrowserSessionStore, "create">;
}): Passkeys {
  const { clock, store, audit, browsers } = deps;
  const ceremonies = createCeremonies({ clock });

  return {
    list: (accountId) => store.list(accountId),
    remove: (accountId, passkeyId) => store.remove(accountId, passkeyId),

    async beginRegistration({ account, browserSessionId }, page) {
      const site = passkeySite(page);
      const { generateRegistrationOptions } = await loadLibrary();
      const options = await generateRegistrationOptions({
        rpName: "Postern",
        rpID: site.rpId,
        userID: new TextEncoder().encode(account.accountId),
        userName: account.name,
        userDisplayName: account.name,
        timeout: ceremonyLifeMs,
        supportedAlgorithmIDs: algorithms,
        authenticatorSelection: { residentKey: "required", userVerification: "required" },
        excludeCredentials: (await store.keysOf(account.accountId)).map(toDescriptor),
      });
      return begin(ceremonies, { ...site, kind: "registration", browserSessionId }, options);
    },

    async register({ account, browserSessionId }, { ceremonyId, credential, name }) {
      const ceremony = ceremonies.take(ceremonyId);
      if (ceremony?.kind !== "registration" || ceremony.browserSessionId !== browserSessionId) throw ceremonyGone();
      const { key, use } = await verifyRegistration(credential, ceremony);
      return store.add({ ...key, accountId: account.accountId }, { name, ...use });
    },

    async beginSignIn(page) {
      const site = passkeySite(page);
      const { generateAuthenticationOptions } = await loadLibrary();
      const options = await generateAuthenticationOptions({
        rpID: site.rpId,
        timeout: ceremonyLifeMs,
        userVerification: "required",
      });
      return begin(ceremonies, { ...site, kind: "sign-in", browserSessionId: null }, options);
    },

    async signIn({ ceremonyId, credential }, from, onRefused) {
      const ceremony = ceremonies.take(ceremonyId);
      const assertion = assertionSchema.safeParse(credential).data;
      // The account is known only after the signature is verified.
      let signer: string | null = null;
      try {
        if (ceremony?.kind !== "sign-in") throw refused("the request expired or was already used");
        const key = assertion === undefined ? null : await store.find(assertion.id);
        if (assertion === undefined || key === null) throw refused("it is not registered at this gateway");
        const use = await verifyAssertion(assertion, { key, ceremony });
        signer = key.accountId;
        if (!(await store.noteUse(key.passkeyId, use))) {
          throw refused("its use counter went backwards, so it may have been copied. Remove it and create a new one");
        }
        const browser = await browsers.create(signer, { userAgent: from.userAgent ?? "" });
        const details = { by: "passkey", browserSessionId: browser.browserSessionId };
        await audit.note({ action: "signed_in", accountId: signer, subject: key.passkeyId, details, from });
        return browser;
      } catch (error) {
        onRefused?.();
        const reason = messageOf(error instanceof Error && error.cause !== undefined ? error.cause : error);
        const details = { by: "passkey", reason: reason.slice(0, maxReasonLength) };
        await audit.note({
          action: "sign_in_refused",
          accountId: signer,
          subject: assertion?.id ?? null,
          details,
          from,
        });
        throw error;
      }
    },
  };
}

/** 25 MB and a quarter of a second, so it is loaded on first use. */
async function loadLibrary() {
  return import("@simplewebauthn/server");
}

function begin(
  ceremonies: Ceremonies,
  ceremony: Omit<Ceremony, "challenge">,
  options: { readonly challenge: string },
): PasskeyCeremony {
  const ceremonyId = ceremonies.begin({ ...ceremony, challenge: options.challenge });
  return { ceremonyId, options: { ...options } };
}

/** @see https://www.w3.org/TR/webauthn-3/#sctn-registering-a-new-credential */
async function verifyRegistration(given: Readonly<Record<string, unknown>>, ceremony: Ceremony) {
  const credential = registrationSchema.safeParse(given).data;
  const { verifyRegistrationResponse } = await loadLibrary();
  try {
    if (credential === undefined) throw new Error("Malformed credential.");
    const { registrationInfo } = await verifyRegistrationResponse({
      response: { ...credential, clientExtensionResults: {} },
      expectedChallenge: ceremony.challenge,
      expectedOrigin: ceremony.origin,
      expectedRPID: ceremony.rpId,
      requireUserVerification: true,
      supportedAlgorithmIDs: algorithms,
    });
    if (registrationInfo === undefined) throw new Error("Invalid attestation.");
    const { credential: made, credentialBackedUp } = registrationInfo;
    return {
      key: { passkeyId: made.id, publicKey: made.publicKey, transports: credential.response.transports },
      use: { signCount: made.counter, backedUp: credentialBackedUp },
    };
  } catch (error) {
    throw new PosternError("invalid_request", "This passkey could not be verified. Try again.", { cause: error });
  }
}

/**
 * The new counter of a passkey whose signature is valid. The store checks that the counter increased.
 * @see https://www.w3.org/TR/webauthn-3/#sctn-verifying-assertion
 */
async function verifyAssertion(
  assertion: Assertion,
  { key, ceremony }: { readonly key: PasskeyKey; readonly ceremony: Ceremony },
) {
  const { verifyAuthenticationResponse } = await loadLibrary();
  const { userHandle, ...response } = assertion.response;
  try {
    if (!isHandleOf(userHandle, key.accountId)) throw new Error("It belongs to another account.");
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: { ...assertion, response, clientExtensionResults: {} },
      expectedChallenge: ceremony.challenge,
      expectedOrigin: ceremony.origin,
      expectedRPID: ceremony.rpId,
      requireUserVerification: true,
      // The library compares counters before it verifies the signature, so anyone could make a passkey look copied.
      credential: { id: key.passkeyId, publicKey: key.publicKey, counter: 0 },
    });
    if (!verified) throw new Error("Invalid signature.");
    return { signCount: authenticationInfo.newCounter, backedUp: authenticationInfo.credentialBackedUp };
  } catch (error) {
    throw refused("it could not be verified", error);
  }
}

/** The request names no account, so the passkey's user handle has to match. */
function isHandleOf(userHandle: string | null | undefined, accountId: string): boolean {
  const shown = Buffer.from(userHandle ?? "", "base64url");
  const expected = Buffer.from(accountId);
  return shown.length === expected.length && timingSafeEqual(shown, expected);
}

function toDescriptor({ passkeyId, transports }: PasskeyKey): { readonly id: string; readonly transports: string[] } {
  return { id: passkeyId, transports: [...transports] };
}

function ceremonyGone(): PosternError {
  return new PosternError("invalid_request", "This request expired or was already used. Start again.");
}

function refused(why: string, cause?: unknown): PosternError {
  return new PosternError("unauthenticated", `This passkey was refused: ${why}.`, { cause });
}
