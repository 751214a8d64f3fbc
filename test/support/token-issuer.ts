import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, SignJWT } from "jose";

/** A foreign authorization server, which a gateway can be configured to trust. */
export interface TokenIssuer {
  /** For a gateway's configuration: this issuer's tokens act as the owner, with the scopes given at the start. */
  readonly config: Readonly<Record<string, unknown>>;
  /** An access token (RFC 9068) with these scopes. */
  token(scopes: readonly string[]): Promise<string>;
  close(): Promise<void>;
}

const audience = "https://postern.example";

/** Starts one on a free loopback port. @param scopes what the gateway accepts from its tokens */
export async function startTokenIssuer(scopes: readonly string[]): Promise<TokenIssuer> {
  const { publicKey, privateKey } = await generateKeyPair("ES256");
  const keys = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: "k1", alg: "ES256", use: "sig" }] });
  const server = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "application/json" }).end(keys);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const issuer = `http://127.0.0.1:${portOf(server.address())}`;
  const trusted = { issuer, jwksUri: `${issuer}/jwks`, audience, accounts: { somebody: "owner" }, scopes };
  return {
    config: { trustedIssuers: [trusted], allowPrivateAddresses: ["127.0.0.1"] },
    token: (granted) =>
      new SignJWT({ scope: granted.join(" "), client_id: "c", jti: crypto.randomUUID() })
        .setProtectedHeader({ alg: "ES256", kid: "k1", typ: "at+jwt" })
        .setIssuer(issuer)
        .setAudience(audience)
        .setSubject("somebody")
        .setIssuedAt()
        .setExpirationTime("10 minutes")
        .sign(privateKey),
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

function portOf(address: string | AddressInfo | null): number {
  if (address === null || typeof address === "string") throw new Error("It listens on no port.");
  return address.port;
}
