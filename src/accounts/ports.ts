import type { Scope } from "../wire/access.ts";
import type { AppIdentity, Resource } from "./principal.ts";

/** An access token of an app, in force. */
export interface AppToken {
  /** What it can be looked up by again; not the token, and no help in guessing it. */
  readonly tokenId: string;
  readonly accountId: string;
  readonly app: AppIdentity;
  readonly scopes: ReadonlySet<Scope>;
  readonly resource: Resource;
  readonly expiresAt: number;
}

/** Access tokens as the authorization server knows them, opaque and JWT. */
export interface AppTokens {
  /** @returns null when the token is unknown, expired, revoked, or its app disconnected */
  find(token: string): Promise<AppToken | null>;
  /** The same token looked up again, by its `tokenId`. */
  findAgain(tokenId: string): Promise<AppToken | null>;
}

/** Fetches the keys of a trusted issuer. The address is the owner's own choice; all the same nothing inside is reached by accident. */
export type FetchKeys = (
  url: string,
  request: { readonly method: "GET"; readonly headers: Readonly<Record<string, string>> },
) => Promise<{ readonly status: number; readonly body: string }>;
