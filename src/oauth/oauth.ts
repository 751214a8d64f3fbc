import type { IncomingMessage, ServerResponse } from "node:http";
import type { Scope } from "../wire/access.ts";
import type { AddClientInput, AddedClient, ConnectedApp, OAuthClient } from "../wire/oauth.ts";

/** Codes that the authorization server throws; what its protocol answers (RFC 6749) are no errors of ours. */
export type OAuthErrorCode = "invalid_request" | "app_not_found" | "client_not_found" | "insufficient_scope";

/** Who decides, what they hold themselves, and from where. */
export interface Decider {
  readonly accountId: string;
  /** Nobody grants a scope that they lack. */
  readonly scopes: ReadonlySet<Scope>;
  readonly from: { readonly address: string | null; readonly userAgent: string | null };
}

/** Who asks, for what, as a consent page shows it. */
export interface AuthorizationRequest {
  readonly client: Pick<OAuthClient, "clientId" | "name" | "origin">;
  /** Where the answer goes: the host of the redirect, or its scheme when it is an app of the machine; null for a device. */
  readonly destination: string | null;
  /** What is asked for and can be allowed, and whether to tick it before the owner looks. */
  readonly scopes: readonly { readonly scope: Scope; readonly ticked: boolean }[];
}

/** An access token in force. */
export interface IssuedToken {
  /** Looks it up again; not the token. */
  readonly tokenId: string;
  readonly accountId: string;
  readonly app: { readonly clientId: string; readonly appId: string };
  readonly scopes: ReadonlySet<Scope>;
  /** `mcp` when the client asked for it to be good at `/mcp` only (RFC 8707). */
  readonly resource: "all" | "mcp";
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** The authorization server: lets others in as the owner decides. */
export interface OAuth {
  readonly tokens: {
    /** @returns null when the token is unknown, expired, revoked, or its app disconnected */
    find(token: string): Promise<IssuedToken | null>;
    findAgain(tokenId: string): Promise<IssuedToken | null>;
  };
  readonly apps: {
    /** Those that the account let in, the one last used first. */
    list(accountId: string): Promise<readonly ConnectedApp[]>;
    /** Whether it is one of these, by one look-up. */
    isConnected(accountId: string, appId: string): Promise<boolean>;
    /** Ends all that it was given, at once. @throws PosternError `app_not_found` */
    disconnect(appId: string, decider: Decider): Promise<void>;
  };
  readonly clients: {
    list(): Promise<readonly OAuthClient[]>;
    /** @throws PosternError `invalid_request` for a redirect that cannot be one */
    add(wanted: AddClientInput): Promise<AddedClient>;
    /** With all that it was given. @throws PosternError `client_not_found` */
    remove(clientId: string): Promise<void>;
  };
  /**
   * Answers a request of the protocol: token, revocation, introspection, registration, device authorization. Its body is unread.
   */
  handle(request: IncomingMessage, response: ServerResponse, from: Decider["from"]): Promise<void>;
  /** The public halves of the keys that sign access tokens (RFC 7517); none while tokens are opaque. */
  keySet(): Promise<Record<string, unknown>>;
  /** RFC 8414. */
  metadata(): Promise<Record<string, unknown>>;
  /** RFC 9728. @param resource the resource's address as its client wrote it */
  protectedResource(resource: string): Promise<Record<string, unknown>>;
  /**
   * What a consent page shows of a request.
   * @param parameters of the query; what is not known is ignored
   * @returns an address where the client is told of its mistake, when it can be told
   * @throws PosternError `invalid_request` when nobody may be sent anywhere: client or redirect are not known
   */
  describe(
    parameters: URLSearchParams,
    decider: Decider,
  ): Promise<{ readonly request: AuthorizationRequest } | { readonly location: string }>;
  /**
   * The seed's decision, `POST /oauth/authorize`.
   * @returns where to send the browser, with a code or an error
   * @throws PosternError `invalid_request` when nobody may be sent anywhere
   */
  decide(form: URLSearchParams, decider: Decider): Promise<{ readonly location: string }>;
  /** What the page of a device's code shows. @throws PosternError `invalid_request` for a code that is unknown, used or expired */
  describeDevice(userCode: string, decider: Decider): Promise<AuthorizationRequest>;
  /** @throws PosternError `invalid_request` | `insufficient_scope` */
  decideDevice(
    decision: { readonly userCode: string; readonly action: "allow" | "deny"; readonly scopes: readonly Scope[] },
    decider: Decider,
  ): Promise<void>;
  /** Begins to sweep what is over, and to rotate keys: for a running gateway. */
  start(): void;
  /** Stops sweeping and rotating. Idempotent. */
  close(): Promise<void>;
}
