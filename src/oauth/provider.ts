import type { JWKS, KoaContextWithOIDC, errors as LibraryErrors, default as Provider } from "oidc-provider";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import { newSecret } from "../core/ids.ts";
import type { Log } from "../core/log.ts";
import { appScopes } from "../wire/access.ts";
import { oauthPaths } from "../wire/oauth.ts";
import { applyClientRules, authMethods, type ClientDocuments } from "./client-metadata.ts";
import type { ClientStore } from "./client-store.ts";
import { inSeconds, lifetimes } from "./lifetimes.ts";
import type { AuditNote, ScopesOfAccount } from "./ports.ts";
import type { RecordStore } from "./record-store.ts";
import { currentWork } from "./request-work.ts";
import {
  audienceOf,
  type GatewayPlace,
  nameResources,
  readScopes,
  resourceNames,
  resourceOfName,
} from "./resources.ts";
import { createSqlAdapter } from "./sql-adapter.ts";
import { appClaim } from "./tokens.ts";

export interface ProviderDeps {
  readonly records: RecordStore;
  readonly clients: ClientStore;
  readonly documents: ClientDocuments;
  readonly clock: Clock;
  readonly afterFind?: () => Promise<void>;
  readonly log: Log;
  readonly place: () => GatewayPlace;
  readonly scopesOf: ScopesOfAccount;
  readonly config: {
    readonly accessTokens: "opaque" | "jwt";
    readonly registration: "on" | "off";
  };
  /** Called once a decision's request is valid: returns the grant's id, or an error of the library. */
  readonly decide: (ctx: KoaContextWithOIDC, errors: typeof LibraryErrors) => Promise<string>;
}

/** The keys of a provider: JWKs with their private parts, and the id of the one that signs. */
export interface ProviderKeys {
  readonly jwks: JWKS;
  readonly kid: string;
  readonly alg: "RS256" | "ES256";
}

/** Loads the library, configured with only the features that we support. */
export async function createProvider(deps: ProviderDeps, keys: ProviderKeys): Promise<Provider> {
  const { default: LoadedProvider, errors } = await import("oidc-provider");
  const provider = new LoadedProvider(deps.place().baseUrl, {
    ...storage(deps, { errors, keys }),
    ...protocol(deps, errors),
    fetch: fetchNothing,
    features: features(deps, { errors, keys }),
    async loadExistingGrant(ctx) {
      const { Grant } = ctx.oidc.provider;
      const { client } = ctx.oidc;
      const appId = await deps.decide(ctx, errors);
      const grant = new Grant({ accountId: ctx.oidc.session?.accountId, clientId: client?.clientId });
      grant.jti = appId;
      for (const name of Object.keys(ctx.oidc.resourceServers ?? {})) {
        grant.addResourceScope(name, [...ctx.oidc.requestParamScopes]);
      }
      return grant;
    },
  });
  const basePath = new URL(provider.issuer).pathname.replace(/\/+$/, "");
  provider.use(async (ctx, next) => {
    // URLs in answers use the issuer's host, regardless of the request's host name.
    Object.assign(ctx, { mountPath: basePath });
    ctx.request.originalUrl = `${new URL(provider.issuer).origin}${ctx.url}`;
    await next();
  });
  noteEvents(provider);
  provider.on("authorization.error", (_ctx, error) => noteError(error.error));
  provider.on("server_error", () => noteError("server_error"));
  provider.on("server_error", (_ctx, error) => deps.log.error({ reason: messageOf(error) }, "authorization server"));
  return provider;
}

/** Only the guarded fetch may use URLs that anyone can choose. */
async function fetchNothing(): Promise<never> {
  throw new Error("The authorization server's library must not fetch anything.");
}

/** Audits issued and revoked tokens, together with the request's other writes. */
function noteEvents(provider: Provider): void {
  provider.on("grant.success", ({ oidc }) => {
    // A refresh is not audited, because it does not change what the app can do.
    if (oidc.params?.["grant_type"] === "refresh_token") return;
    const { AccessToken: token, Client: client } = oidc.entities;
    note("app_token_issued", { name: client?.clientName, scopes: token?.scope?.split(" ") });
  });
  provider.on("grant.revoked", ({ oidc }) => {
    const reused = oidc.route === "token";
    note(reused ? "app_token_reused" : "app_disconnected", { name: oidc.client?.clientName });
  });
  provider.on("registration_create.success", (_ctx, client) => {
    note("client_registered", { name: client.clientName, redirectUris: client.redirectUris }, client.clientId);
  });
}

function note(action: AuditNote["action"], details: AuditNote["details"], subject?: string): void {
  const work = currentWork();
  if (work === undefined) return;
  const { owner, from } = work;
  const whose = { accountId: owner?.accountId ?? null, subject: subject ?? owner?.appId ?? null };
  work.writes.push({ kind: "note", note: { action, ...whose, details, from } });
}

/** The decision being replayed, if any. */
function noteError(code: string): void {
  const decision = currentWork()?.decision ?? null;
  if (decision !== null) decision.error = code;
}

type Setup = NonNullable<ConstructorParameters<typeof Provider>[1]>;

interface Parts {
  readonly errors: typeof LibraryErrors;
  readonly keys: ProviderKeys;
}

function storage(deps: ProviderDeps, { errors, keys }: Parts): Setup {
  return {
    adapter: (name: string) => createSqlAdapter(name, deps),
    jwks: keys.jwks,
    formats: {
      customizers: {
        jwt(_ctx, token, { payload }) {
          // The grant is looked up on every use, so a disconnected app loses access at once.
          payload[appClaim] = "grantId" in token ? token.grantId : undefined;
          const aheadMs = Date.now() - deps.clock.now();
          for (const name of ["iat", "exp"]) {
            const at = payload[name];
            if (typeof at === "number") payload[name] = at - inSeconds(aheadMs);
          }
        },
      },
    },
    // These lifetimes use the library's clock; stored times use ours.
    ttl: {
      AccessToken: inSeconds(lifetimes.accessTokenMs),
      AuthorizationCode: inSeconds(lifetimes.codeMs),
      DeviceCode: inSeconds(lifetimes.deviceCodeMs),
      Grant: inSeconds(lifetimes.grantMs),
      RefreshToken: inSeconds(lifetimes.grantMs),
      Session: 60,
    },
    clientDefaults: {
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      application_type: "native",
      id_token_signed_response_alg: keys.alg,
    },
    extraClientMetadata: {
      // The validator runs for every client, with all of its metadata, before the library's own checks.
      properties: ["postern"],
      validator(...[, , , metadata]) {
        const fault = applyClientRules(metadata);
        if (fault !== null) throw new errors.InvalidClientMetadata(fault);
      },
    },
  };
}

function protocol(deps: ProviderDeps, errors: typeof LibraryErrors): Setup {
  return {
    routes: {
      authorization: oauthPaths.authorize,
      token: oauthPaths.token,
      revocation: oauthPaths.revocation,
      introspection: oauthPaths.introspection,
      registration: oauthPaths.registration,
      jwks: oauthPaths.jwks,
      device_authorization: oauthPaths.deviceAuthorization,
      code_verification: oauthPaths.device,
    },
    scopes: appScopes,
    claims: {},
    responseTypes: ["code"],
    clientAuthMethods: authMethods,
    interactions: { policy: [] },
    pkce: { required: (_ctx, client) => client.tokenEndpointAuthMethod === "none" },
    // A grant does not end with the owner's session; the owner revokes it.
    expiresWithSession: () => false,
    issueRefreshToken: (_ctx, client) => client.grantTypeAllowed("refresh_token"),
    rotateRefreshToken: true,
    revokeGrantPolicy: () => true,
    clientBasedCORS: () => true,
    extraParams: {
      // The only check of scopes, for codes and devices alike, because the library silently drops unknown ones.
      scope(ctx, value, client) {
        const scopes = readScopes(value, client.scope);
        if (scopes === null) throw new errors.InvalidScope(`The scopes are ${appScopes.join(", ")}.`, value ?? "");
        if (ctx.oidc.params !== undefined) ctx.oidc.params["scope"] = scopes.join(" ");
      },
    },
    async findAccount(ctx, accountId) {
      if ((await deps.scopesOf(accountId)) === null) return undefined;
      // At the token endpoint, this is our only hook before the library compares the request's resource with the code's.
      const { params } = ctx.oidc;
      if (params?.["resource"] !== undefined) {
        params["resource"] = nameResources(textsOf(params["resource"]), deps.place());
      }
      return { accountId, claims: async () => ({ sub: accountId }) };
    },
    renderError(ctx, out) {
      const decision = currentWork()?.decision ?? null;
      if (decision !== null) decision.refusal = out.error_description ?? out.error;
      ctx.body = out;
    },
  };
}

function features({ place, config }: ProviderDeps, { errors, keys }: Parts): NonNullable<Setup["features"]> {
  const off = { enabled: false };
  return {
    devInteractions: off,
    dPoP: off,
    pushedAuthorizationRequests: off,
    rpInitiatedLogout: off,
    userinfo: off,
    revocation: { enabled: true, allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId },
    introspection: { enabled: true, allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId },
    deviceFlow: { enabled: true, charset: "base-20", mask: "****-****", deviceInfo: () => ({}) },
    registration:
      config.registration === "on"
        ? { enabled: true, issueRegistrationAccessToken: false, secretFactory: () => newSecret() }
        : off,
    resourceIndicators: {
      enabled: true,
      defaultResource: () => resourceNames.all,
      useGrantedResource: () => true,
      getResourceServerInfo(_ctx, indicator) {
        const resource = resourceOfName(nameResources([indicator], place()) ?? "");
        if (resource === null) throw new errors.InvalidTarget("This gateway does not serve the requested resource.");
        return {
          scope: appScopes.join(" "),
          audience: audienceOf(resource, place()),
          accessTokenTTL: inSeconds(lifetimes.accessTokenMs),
          accessTokenFormat: config.accessTokens,
          jwt: { sign: { alg: keys.alg, kid: keys.kid } },
        };
      },
    },
  };
}

function textsOf(value: unknown): readonly string[] {
  return [value].flat().filter((item) => typeof item === "string");
}
