import { generateKeyPairSync } from "node:crypto";
import type { ProviderKeys } from "./provider.ts";
import type { SigningKeys } from "./signing-keys.ts";

/** For the library: it signs with one of them and only has to know the others. */
export async function keysOf(keys: SigningKeys): Promise<ProviderKeys> {
  const { kid, privateJwk } = await keys.signing();
  return { jwks: { keys: [{ ...privateJwk, kty: "RSA" }] }, kid, alg: "RS256" };
}

let unused: ProviderKeys | undefined;

/** The library wants a key also where tokens are opaque. Nothing is ever signed with this one, and nobody sees it. */
export function unusedKeys(): ProviderKeys {
  if (unused !== undefined) return unused;
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const jwk = { ...privateKey.export({ format: "jwk" }), kty: "EC", kid: "unused", alg: "ES256", use: "sig" } as const;
  unused = { jwks: { keys: [jwk] }, kid: "unused", alg: "ES256" };
  return unused;
}
