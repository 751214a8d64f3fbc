import type { Scope } from "../wire/access.ts";
import type { AppIdentity, Resource } from "./principal.ts";

/** An app's access token that is in force. */
export interface AppToken {
  /** An id to look the token up again. It is not the token, and does not help to guess it. */
  readonly tokenId: string;
  readonly accountId: string;
  readonly app: AppIdentity;
  readonly scopes: ReadonlySet<Scope>;
  readonly resource: Resource;
  readonly expiresAt: number;
}

/** Looks up access tokens of the authorization server, opaque and JWT. */
export interface AppTokens {
  /** @returns null when the token is unknown, expired, revoked, or its app disconnected */
  find(token: string): Promise<AppToken | null>;
  /** Looks up the same token again by its `tokenId`. */
  findAgain(tokenId: string): Promise<AppToken | null>;
}

/** Fetches the keys of a trusted issuer. The owner chose the address, but internal addresses are still blocked against mistakes. */
export type FetchKeys = (
  url: string,
  request: { readonly method: "GET"; readonly headers: Readonly<Record<string, string>> },
) => Promise<{ readonly status: number; readonly body: string }>;
