import * as oauth from "oauth4webapi";
import { z } from "zod";

/** `oauth4webapi` refuses http without this option; the tested server is on loopback. */
const loopback = { [oauth.allowInsecureRequests]: true } as const;

/** Tokens and their scopes. */
export interface GivenTokens {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly scope: string;
}

/** What an app says about itself when it registers. */
export type AppMetadata = Parameters<typeof oauth.dynamicClientRegistrationRequest>[1];

/** An authorization in a browser: the page to open, and what to do with the address that the browser is redirected to. */
export interface Errand {
  readonly url: URL;
  /** @throws when state, issuer, code or verifier do not match */
  finish(arrived: URL): Promise<GivenTokens>;
}

/** An app that uses `oauth4webapi` as its documentation says, and knows only the address of the resource. */
export interface Journey {
  readonly server: oauth.AuthorizationServer;
  readonly resource: string;
  /** RFC 7591. */
  register(metadata: AppMetadata): Promise<oauth.Client>;
  begin(client: oauth.Client, wanted: { readonly redirectUri: string; readonly scope?: string }): Promise<Errand>;
  refresh(client: oauth.Client, refreshToken: string): Promise<GivenTokens>;
  revoke(client: oauth.Client, token: string): Promise<void>;
  /** RFC 8628: the code for the owner, and the look whether it was allowed. */
  beginOnDevice(client: oauth.Client): Promise<{
    readonly userCode: string;
    readonly page: string;
    /** @throws oauth.ResponseBodyError `authorization_pending` until it is decided */
    look(): Promise<GivenTokens>;
  }>;
}

/** From the 401 of a protected resource (RFC 9728 section 5.1) to its authorization server's metadata (RFC 8414). */
export async function beginJourney(resourceUrl: string): Promise<Journey> {
  const refused = await fetch(resourceUrl, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
  });
  await refused.body?.cancel();
  const challenge = refused.headers.get("www-authenticate") ?? "";
  const metadataUrl = /resource_metadata="([^"]+)"/.exec(challenge)?.[1];
  if (refused.status !== 401 || metadataUrl === undefined) {
    throw new Error(`No way to sign in from an answer of ${refused.status}: ${challenge}`);
  }
  const wanted = new URL(resourceUrl);
  const described = await oauth.processResourceDiscoveryResponse(wanted, await fetch(metadataUrl));
  const [issuerText = ""] = described.authorization_servers ?? [];
  const issuer = new URL(issuerText);
  const found = await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...loopback });
  const server = await oauth.processDiscoveryResponse(issuer, found);
  return journeyTo(server, described.resource);
}

function journeyTo(server: oauth.AuthorizationServer, resource: string): Journey {
  const additional = { additionalParameters: { resource }, ...loopback };
  const none = oauth.None();
  return {
    server,
    resource,
    async register(metadata) {
      const answer = await oauth.dynamicClientRegistrationRequest(server, metadata, loopback);
      return oauth.processDynamicClientRegistrationResponse(answer);
    },
    async begin(client, { redirectUri, scope }) {
      const verifier = oauth.generateRandomCodeVerifier();
      const state = oauth.generateRandomState();
      const url = new URL(server.authorization_endpoint ?? "");
      const parameters = {
        client_id: client.client_id,
        redirect_uri: redirectUri,
        response_type: "code",
        code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
        code_challenge_method: "S256",
        state,
        resource,
        ...(scope !== undefined && { scope }),
      };
      for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
      return {
        url,
        async finish(arrived) {
          const callback = oauth.validateAuthResponse(server, client, arrived, state);
          const answer = await oauth.authorizationCodeGrantRequest(
            server,
            client,
            none,
            callback,
            redirectUri,
            verifier,
            additional,
          );
          return toTokens(await oauth.processAuthorizationCodeResponse(server, client, answer));
        },
      };
    },
    async refresh(client, refreshToken) {
      const answer = await oauth.refreshTokenGrantRequest(server, client, none, refreshToken, loopback);
      return toTokens(await oauth.processRefreshTokenResponse(server, client, answer));
    },
    async revoke(client, token) {
      await oauth.processRevocationResponse(await oauth.revocationRequest(server, client, none, token, loopback));
    },
    async beginOnDevice(client) {
      const wanted = { scope: "coding:read", resource };
      const asked = await oauth.deviceAuthorizationRequest(server, client, none, wanted, loopback);
      const device = await oauth.processDeviceAuthorizationResponse(server, client, asked);
      return {
        userCode: device.user_code,
        page: device.verification_uri_complete ?? device.verification_uri,
        async look() {
          const answer = await oauth.deviceCodeGrantRequest(server, client, none, device.device_code, additional);
          return toTokens(await oauth.processDeviceCodeResponse(server, client, answer));
        },
      };
    },
  };
}

const tokensSchema = z.object({ access_token: z.string(), refresh_token: z.string(), scope: z.string() });

function toTokens(answer: unknown): GivenTokens {
  const { access_token, refresh_token, scope } = tokensSchema.parse(answer);
  return { accessToken: access_token, refreshToken: refresh_token, scope };
}
