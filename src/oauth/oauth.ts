import type { IncomingMessage, ServerResponse } from "node:http";
import type { Scope } from "../wire/access.ts";
import type { AddClientInput, AddedClient, ConnectedApp, OAuthClient } from "../wire/oauth.ts";

/** Codes that the authorization server throws. The errors of its protocol (RFC 6749) are separate. */
export type OAuthErrorCode = "invalid_request" | "app_not_found" | "client_not_found" | "insufficient_scope";

/** The account that decides, the scopes it holds, and where the request came from. */
export interface Decider {
  readonly accountId: string;
  /** An account can grant only scopes that it holds. */
  readonly scopes: ReadonlySet<Scope>;
  readonly from: { readonly address: string | null; readonly userAgent: string | null };
}

/** The client and the requested scopes, as shown on a consent page. */
export interface AuthorizationRequest {
  readonly client: Pick<OAuthClient, "clientId" | "name" | "origin">;
  /** The destination of the answer: the redirect's host, or its scheme for an app on the machine; null for a device. */
  readonly destination: string | null;
  /** The requested scopes that can be allowed, and whether to preselect each. */
  readonly scopes: readonly { readonly scope: Scope; readonly ticked: boolean }[];
}

/** An access token that is in force. */
export interface IssuedToken {
  /** An id to look the token up again; not the token itself. */
  readonly tokenId: string;
  readonly accountId: string;
  readonly app: { readonly clientId: string; readonly appId: string };
  readonly scopes: ReadonlySet<Scope>;
  /** `mcp` when the client requested a token for `/mcp` only (RFC 8707). */
  readonly resource: "all" | "mcp";
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** The authorization server: grants apps access as the owner decides. */
export interface OAuth {
  readonly tokens: {
    /** @returns null when the token is unknown, expired, revoked, or its app disconnected */
    find(token: string): Promise<IssuedToken | null>;
    findAgain(tokenId: string): Promise<IssuedToken | null>;
  };
  readonly apps: {
    /** Apps that the account authorized, most recently used first. */
    list(accountId: string): Promise<readonly ConnectedApp[]>;
    /** Whether the account authorized this app, in one lookup. */
    isConnected(accountId: string, appId: string): Promise<boolean>;
    /** Revokes everything the app was issued, at once. @throws PosternError `app_not_found` */
    disconnect(appId: string, decider: Decider): Promise<void>;
  };
  readonly clients: {
    list(): Promise<readonly OAuthClient[]>;
    /** @throws PosternError `invalid_request` for an invalid redirect */
    add(wanted: AddClientInput): Promise<AddedClient>;
    /** Removes the client and everything it was issued. @throws PosternError `client_not_found` */
    remove(clientId: string): Promise<void>;
  };
  /** Answers a protocol request: token, revocation, introspection, registration or device authorization. Its body must be unread. */
  handle(request: IncomingMessage, response: ServerResponse, from: Decider["from"]): Promise<void>;
  /** The public keys that verify access tokens (RFC 7517); none while tokens are opaque. */
  keySet(): Promise<Record<string, unknown>>;
  /** RFC 8414. */
  metadata(): Promise<Record<string, unknown>>;
  /** RFC 9728. @param resource the resource's address as its client wrote it */
  protectedResource(resource: string): Promise<Record<string, unknown>>;
  /**
   * The contents of a consent page for a request.
   * @param parameters of the query; unknown ones are ignored
   * @returns a redirect that reports an error to the client, when the request is invalid but the redirect is known
   * @throws PosternError `invalid_request` when client or redirect are unknown, so that no redirect is possible
   */
  describe(
    parameters: URLSearchParams,
    decider: Decider,
  ): Promise<{ readonly request: AuthorizationRequest } | { readonly location: string }>;
  /**
   * The specification's decision, `POST /oauth/authorize`.
   * @returns where to redirect the browser, with a code or an error
   * @throws PosternError `invalid_request` when no redirect is possible
   */
  decide(form: URLSearchParams, decider: Decider): Promise<{ readonly location: string }>;
  /** The contents of a device's approval page. @throws PosternError `invalid_request` for a code that is unknown, used or expired */
  describeDevice(userCode: string, decider: Decider): Promise<AuthorizationRequest>;
  /** @throws PosternError `invalid_request` | `insufficient_scope` */
  decideDevice(
    decision: { readonly userCode: string; readonly action: "allow" | "deny"; readonly scopes: readonly Scope[] },
    decider: Decider,
  ): Promise<void>;
  /** Starts removing expired records and rotating keys, in a running gateway. */
  start(): void;
  /** Stops sweeping and rotating. Idempotent. */
  close(): Promise<void>;
}
