import { createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { z } from "zod";
import type { PasskeyCeremony } from "../../src/wire/accounts.ts";

/** What one answer of an authenticator differs in; the rest is as it should be. */
export interface Faults {
  /** Where the browser says that its page is. */
  readonly origin?: string;
  /** What the authenticator thinks that it signs for. */
  readonly rpId?: string;
  readonly challenge?: string;
  readonly type?: string;
  /** False: not touched. */
  readonly present?: boolean;
  /** False: a finger or PIN was not asked for. */
  readonly verified?: boolean;
  readonly counter?: number;
  readonly userHandle?: string;
  readonly credentialId?: string;
  /** Signed with another key. */
  readonly forged?: boolean;
}

/** An authenticator made of software, for one passkey: an ES256 key, and every byte of its answers built here. */
export interface Authenticator {
  /** `navigator.credentials.create`, as its `toJSON` gives it. */
  create(ceremony: PasskeyCeremony, faults?: Faults): Record<string, unknown>;
  /** `navigator.credentials.get`. Each counts on from the one before. */
  get(ceremony: PasskeyCeremony, faults?: Faults): Record<string, unknown>;
  readonly credentialId: string;
}

const creationSchema = z.object({
  challenge: z.string(),
  rp: z.object({ id: z.string() }),
  user: z.object({ id: z.string() }),
});
const requestSchema = z.object({ challenge: z.string(), rpId: z.string() });

const presentFlag = 0x01;
const verifiedFlag = 0x04;
const attestedFlag = 0x40;

/** @param options `origin` of the page; `counts: false` as what is kept on several devices, whose count stays 0 */
export function createAuthenticator({
  origin,
  counts = true,
}: {
  readonly origin: string;
  readonly counts?: boolean;
}): Authenticator {
  const key = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const other = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const id = randomBytes(32);
  let userHandle = "";
  let count = 0;

  function clientData(type: string, challenge: string, faults: Faults): Buffer {
    const data = {
      type: faults.type ?? type,
      challenge: faults.challenge ?? challenge,
      origin: faults.origin ?? origin,
      crossOrigin: false,
    };
    return Buffer.from(JSON.stringify(data));
  }

  /** @see https://www.w3.org/TR/webauthn-3/#sctn-authenticator-data */
  function authenticatorData(rpId: string, faults: Faults, attested: Buffer | null): Buffer {
    count += counts ? 1 : 0;
    const flags =
      (faults.present === false ? 0 : presentFlag) |
      (faults.verified === false ? 0 : verifiedFlag) |
      (attested === null ? 0 : attestedFlag);
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(faults.counter ?? count);
    return Buffer.concat([sha256(faults.rpId ?? rpId), Buffer.of(flags), counter, attested ?? Buffer.alloc(0)]);
  }

  return {
    credentialId: id.toString("base64url"),

    create({ options }, faults = {}) {
      const { challenge, rp, user } = creationSchema.parse(options);
      userHandle = user.id;
      const length = Buffer.alloc(2);
      length.writeUInt16BE(id.length);
      const attested = Buffer.concat([Buffer.alloc(16), length, id, coseKey(key.publicKey.export({ format: "jwk" }))]);
      const attestationObject = cborMap([
        [cborText("fmt"), cborText("none")],
        [cborText("attStmt"), cborMap([])],
        [cborText("authData"), cborBytes(authenticatorData(rp.id, faults, attested))],
      ]);
      return {
        id: id.toString("base64url"),
        rawId: id.toString("base64url"),
        type: "public-key",
        authenticatorAttachment: "platform",
        clientExtensionResults: { credProps: { rk: true } },
        response: {
          clientDataJSON: clientData("webauthn.create", challenge, faults).toString("base64url"),
          attestationObject: attestationObject.toString("base64url"),
          transports: ["internal"],
        },
      };
    },

    get({ options }, faults = {}) {
      const { challenge, rpId } = requestSchema.parse(options);
      const data = authenticatorData(rpId, faults, null);
      const client = clientData("webauthn.get", challenge, faults);
      const signed = Buffer.concat([data, createHash("sha256").update(client).digest()]);
      const shownId = faults.credentialId ?? id.toString("base64url");
      return {
        id: shownId,
        rawId: shownId,
        type: "public-key",
        clientExtensionResults: {},
        response: {
          clientDataJSON: client.toString("base64url"),
          authenticatorData: data.toString("base64url"),
          signature: sign("sha256", signed, (faults.forged === true ? other : key).privateKey).toString("base64url"),
          userHandle: faults.userHandle ?? userHandle,
        },
      };
    },
  };
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

/** @see RFC 9053 section 7.1.1: kty EC2, alg ES256, crv P-256 */
function coseKey({ x = "", y = "" }: { readonly x?: string; readonly y?: string }): Buffer {
  return cborMap([
    [Buffer.of(0x01), Buffer.of(0x02)],
    [Buffer.of(0x03), Buffer.of(0x26)],
    [Buffer.of(0x20), Buffer.of(0x01)],
    [Buffer.of(0x21), cborBytes(Buffer.from(x, "base64url"))],
    [Buffer.of(0x22), cborBytes(Buffer.from(y, "base64url"))],
  ]);
}

function cborMap(entries: readonly (readonly [Buffer, Buffer])[]): Buffer {
  return Buffer.concat([Buffer.of(0xa0 + entries.length), ...entries.flat()]);
}

function cborText(text: string): Buffer {
  return Buffer.concat([Buffer.of(0x60 + text.length), Buffer.from(text)]);
}

/** In the shortest form: what reads a key measures it by writing it again. */
function cborBytes(bytes: Buffer): Buffer {
  const head = bytes.length < 256 ? [0x58, bytes.length] : [0x59, bytes.length >> 8, bytes.length & 255];
  return Buffer.concat([Buffer.from(head), bytes]);
}
